"""Tasks that runs wait for: their end is the effect's result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.runs import ERROR, OK, TERMINAL, Resolution
from hookline.domain.tasks import task_number
from hookline.flows import journal

if TYPE_CHECKING:
    from hookline.domain.events import Event
    from hookline.ports import Transaction


class _NoBlobs:
    """A task's result always fits into the log."""

    def put(self, data: bytes) -> str:
        raise AssertionError("a task's result is never this large")

    def get(self, name: str) -> bytes:
        raise AssertionError(name)


def resolve_task(tx: Transaction, event: Event) -> None:
    """Hand the end of a task to every run that waits for it."""
    for run_id, chapter, effect_id in tx.runs.waiting_for_task(task_number(event.node_id)):
        run = tx.runs.find(run_id)
        if run.status in TERMINAL or run.chapter != chapter:
            continue
        journal.resolve(tx, run, effect_id, _resolution(event), _NoBlobs())


def _resolution(event: Event) -> Resolution:
    if event.type == "task_completed":
        value = {"taskId": event.node_id, "result": event.data.get("result")}
        return Resolution(OK, {**value, "artifacts": event.data.get("artifacts", [])})
    how = event.type.removeprefix("task_")
    why = event.data.get("error") or event.data.get("reason")
    return Resolution(ERROR, error=f"{event.node_id} was {how}" + (f": {why}" if why else ""))
