"""What agents cost, counted from the journal as it grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.flows import journal

if TYPE_CHECKING:
    from collections.abc import Collection

    from hookline.ports.store import Blobs, Store, View

RESOLVED = "effect_resolved"


class Spending:
    """The money that turns of agents cost on some tasks, after a place in the log.

    Gatekeepers are hooks, whose turns tell no price.
    """

    def __init__(self, store: Store, blobs: Blobs, tasks: Collection[str], after: int) -> None:
        self._store = store
        self._blobs = blobs
        self._tasks = tasks
        self._task_of: dict[str, str | None] = {}
        self._usd = 0.0
        self._place = after

    def usd(self) -> float:
        """All that was spent until now."""
        with self._store.read() as view:
            for event in view.log.events(types=(RESOLVED,), after=self._place):
                self._place = event.seq
                if self._task(view, event.node_id) in self._tasks:
                    self._usd += _price(journal.inside(event.data.get("value"), self._blobs))
        return self._usd

    def _task(self, view: View, run_id: str) -> str | None:
        if run_id not in self._task_of:
            self._task_of[run_id] = view.runs.find(run_id).input.get("taskId")
        return self._task_of[run_id]


def _price(value: Any) -> float:
    usage = value.get("usage") if isinstance(value, dict) else None
    usd = usage.get("usd") if isinstance(usage, dict) else None
    return max(float(usd), 0.0) if isinstance(usd, int | float) else 0.0
