"""Which work is over, and was before a moment: nothing needs its details to continue.

A task is over when it is completed, failed, cancelled or deleted. A run is over when it has ended
and the task that it worked on is over; a session with its task, even if it could be resumed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.events import TASK_ENDS
from hookline.domain.runs.model import TERMINAL
from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.tasks import OPEN, is_task_id
from hookline.domain.work.submissions import MERGE, SUBMIT
from hookline.wiring.running.hosts import is_held

if TYPE_CHECKING:
    from hookline.domain.runs.model import RunOutline
    from hookline.ports.store import View


class FinishedWork:
    """Tells work that was finished before a moment from all other."""

    def __init__(self, view: View, before: str) -> None:
        self._view, self.before = view, before
        self._tasks: dict[str, bool] = {}
        every = list(view.details.runs())
        # Merged work may still be on its way through the hooks after that.
        self._moving = {r.task_id for r in every if r.flow in (SUBMIT, MERGE) and _is_open(r)}
        self.runs = {run.run_id: run for run in every if self._is_over(run)}
        self.left = [run for run in every if run.run_id not in self.runs]

    def has(self, node_id: str) -> bool:
        """Whether what an event is about was finished before the moment."""
        if is_task_id(node_id):
            return self._has_task(node_id)
        return node_id in self.runs if node_id.startswith("R-") else True

    def _is_over(self, run: RunOutline) -> bool:
        if run.updated_at >= self.before or is_held(self._view, run.owner, run.lease_until):
            return False
        if _is_open(run) and run.flow != SESSION:
            return False
        works_on = run.task_id if run.flow in (SESSION, SUBMIT, MERGE) else None
        return works_on is None or self._has_task(works_on)

    def _has_task(self, task_id: str) -> bool:
        if task_id not in self._tasks:
            self._tasks[task_id] = task_id not in self._moving and self._has_ended(task_id)
        return self._tasks[task_id]

    def _has_ended(self, task_id: str) -> bool:
        task = self._view.graph.find(task_id)
        if task is not None and task.state in OPEN:
            return False
        event = self._view.log.latest(task_id, sorted(TASK_ENDS))
        return event is not None and event.timestamp < self.before


def _is_open(run: RunOutline) -> bool:
    return run.status not in TERMINAL
