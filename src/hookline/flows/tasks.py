"""Tasks that runs wait for: their end is the effect's result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.runs import ERROR, OK, TERMINAL, Resolution
from hookline.domain.tasks import task_number
from hookline.flows import journal

if TYPE_CHECKING:
    from hookline.domain.events import Event
    from hookline.ports.store import Transaction


LONGEST = 256 * 1024


def resolve_task(tx: Transaction, event: Event) -> None:
    """Hand the end of a task to every run that waits for it."""
    for run_id, chapter, effect_id in tx.runs.waiting_for_task(task_number(event.node_id)):
        run = tx.runs.find(run_id)
        if run.status in TERMINAL or run.chapter != chapter:
            continue
        journal.resolve(tx, run, effect_id, _resolution(event), None)


def _resolution(event: Event) -> Resolution:
    if event.type == "task_completed":
        result, artifacts = event.data.get("result"), event.data.get("artifacts", [])
        value: dict[str, Any] = {"taskId": event.node_id, "result": result, "artifacts": artifacts}
        if len(msgspec.json.encode(value)) > LONGEST:  # the task itself keeps the whole
            value |= {"result": (result or "")[: LONGEST // 8], "artifacts": [], "truncated": True}
        return Resolution(OK, value)
    how = event.type.removeprefix("task_")
    why = event.data.get("error") or event.data.get("reason")
    return Resolution(ERROR, error=f"{event.node_id} was {how}" + (f": {why}" if why else ""))
