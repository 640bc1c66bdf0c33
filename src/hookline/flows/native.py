"""The built-in steering hooks: run whatever can run, go on until the run is over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain.runs import WAITING
from hookline.flows.outcomes import what_waits

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.domain.runs import JournalEffect


class Tick(NamedTuple):
    """What the native hooks look at."""

    pending: list[JournalEffect]
    running: frozenset[str]
    status: str


def native_orchestrator(payload: dict[str, Any], tick: Tick) -> dict[str, Any]:
    """Carry out everything that can run now, or what is left of it by hooks that passed it on."""
    now = time.time()
    able = [
        effect.effect_id
        for effect in tick.pending
        if effect.kind not in WAITING
        and not effect.task
        and effect.effect_id not in tick.running
        and (effect.next_try or 0) <= now
    ]
    if "tasks" in payload:
        able = [task for task in payload["tasks"] if task in able]
    if able:
        return {"action": "executed-tasks", "count": len(able), "tasks": able}
    if tick.pending:
        kinds = ", ".join(sorted({effect.kind for effect in tick.pending}))
        return {"action": "waiting", "reason": what_waits(tick.pending) or kinds}
    return {"action": "none", "reason": "nothing is pending"}


def native_finalization(payload: dict[str, Any], tick: Tick) -> dict[str, Any]:
    """Go on until the run is over."""
    return {
        "iteration": payload["iteration"],
        "finalStatus": tick.status,
        "pendingEffects": len(tick.pending),
        "needsMoreIterations": tick.status == "waiting",
    }


NATIVE: dict[str, Callable[[dict[str, Any], Tick], dict[str, Any]]] = {
    "native-orchestrator": native_orchestrator,
    "native-finalization": native_finalization,
}
