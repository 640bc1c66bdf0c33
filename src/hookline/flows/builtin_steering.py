"""The built-in steering hooks, and the folder of a run, where hooks find its data."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.domain.hooks.records import OK, Outcome
from hookline.files import own_folder, publish, read_regular
from hookline.flows.outcomes import what_waits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.domain.runs.model import JournalEffect, Run
    from hookline.hooks.registry import Hook


class RunIteration(NamedTuple):
    """What the built-in hooks look at."""

    pending: list[JournalEffect]
    running: frozenset[str]
    status: str
    now: float


def native_orchestrator(payload: Mapping[str, Any], iteration: RunIteration) -> dict[str, Any]:
    """Carry out everything that can run now, or what earlier hooks left of it."""
    able = [
        effect.effect_id
        for effect in iteration.pending
        if not effect.waits
        and effect.effect_id not in iteration.running
        and (effect.next_try or 0) <= iteration.now
    ]
    if "tasks" in payload:
        able = [task for task in payload["tasks"] if task in able]
    if able:
        return {"action": "executed-tasks", "count": len(able), "tasks": able}
    if iteration.pending:
        kinds = ", ".join(sorted({effect.kind for effect in iteration.pending}))
        return {"action": "waiting", "reason": what_waits(iteration.pending) or kinds}
    return {"action": "none", "reason": "nothing is pending"}


def native_finalization(payload: Mapping[str, Any], iteration: RunIteration) -> dict[str, Any]:
    """Continue until the run is over."""
    return {
        "iteration": payload["iteration"],
        "finalStatus": iteration.status,
        "pendingEffects": len(iteration.pending),
        "needsMoreIterations": iteration.status == "waiting",
    }


NATIVE: dict[str, Callable[[Mapping[str, Any], RunIteration], dict[str, Any]]] = {
    "native-orchestrator": native_orchestrator,
    "native-finalization": native_finalization,
}


def native_outcome(
    hook: Hook, payload: Mapping[str, Any], iteration: RunIteration
) -> Outcome | None:
    """What one of these hooks says; None for any other."""
    native = NATIVE.get(hook.target) if hook.kind == "built-in" else None
    return Outcome(hook.name, OK, native(payload, iteration)) if native is not None else None


def steering_values(run: Run, runs: str | None) -> dict[str, str]:
    """The variables that hooks of an iteration find besides the payload."""
    folder = {"run_dir": run_folder(runs, run)} if runs is not None else {}
    return {"flow": run.flow, **folder}


RUN_FILE = "run.json"


def run_folder(runs: str, run: Run) -> str:
    """The folder of a run among those of all runs, created if it is missing."""
    # Only what stays the same during the run, because hooks may read it at any time.
    facts = {
        "runId": run.run_id,
        "flow": run.flow,
        "input": run.input,
        "metadata": run.metadata,
        "createdAt": run.created_at,
    }
    path = os.path.join(runs, run.run_id)
    with own_folder(*os.path.split(runs), run.run_id) as folder:
        _publish(folder, os.path.join(path, RUN_FILE), msgspec.json.encode(facts))
    return path


def _publish(folder: int, path: str, data: bytes) -> None:
    """Write a file atomically, unless it exists."""
    with suppress(OSError):
        if read_regular(path, len(data) + 1) == data:
            return
    publish(folder, RUN_FILE, data)
