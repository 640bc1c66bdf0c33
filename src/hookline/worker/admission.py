"""What a worker of one host may take, where several hosts share a store."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookline.domain.hosts import why_drained
from hookline.queries.hosts import living, missing_labels
from hookline.wiring.project.stores import is_here
from hookline.wiring.running.presence import facts, lease_of, own_host

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.domain.tasks import Task
    from hookline.ports.store import View


class Admission:
    """Which tasks and runs this host takes; all of them, if the store is in a file.

    `is_ours` says of a run whether this process deals with it: a host that takes nothing new
    finishes that. Work whose files are on another living host is left to that one, but no longer
    than a lease lasts: it may be busy, or unable to continue for a reason that only it knows.
    """

    def __init__(self, app: App, is_ours: Callable[[Run], bool] = lambda run: False) -> None:
        self._app, self._is_ours = app, is_ours
        self._is_alone = is_here(app.store)
        self._types = app.sections.task_types
        # When each task was first left to the host that has its files.
        self._left: dict[str, float] = {}

    def why_nothing(self, view: View) -> str | None:
        """Why this host takes nothing new; None if it takes work."""
        if self._is_alone:
            return None
        is_drained = view.hosts.is_drained(own_host(self._app))
        return why_drained(facts(self._app), view.hosts.wishes(), is_drained=is_drained)

    def takes_type(self, task_type: str | None) -> bool:
        """Whether this host has all that tasks of a type need."""
        kind = None if self._is_alone or task_type is None else self._types.get(task_type)
        return kind is None or {*kind.needs} <= {*facts(self._app).labels}

    def can_anyone(self, view: View, task_type: str | None) -> bool:
        """Whether this host or another one has all that tasks of a type need."""
        return self.takes_type(task_type) or not missing_labels(self._app, view, task_type)

    def admits(self, view: View, run_ids: list[str]) -> list[str]:
        """Those of some runs that are due that this host may advance now."""
        return [each for each in self.could(view, run_ids) if not self._is_left(view, each)]

    def could(self, view: View, run_ids: list[str]) -> list[str]:
        """Those of some runs that are due that this host may advance, now or if no other does."""
        if self._is_alone or not run_ids:
            return run_ids
        is_closed = self.why_nothing(view) is not None
        return [each for each in run_ids if self._may_advance(view, each, is_closed=is_closed)]

    def _may_advance(self, view: View, run_id: str, *, is_closed: bool) -> bool:
        run = view.runs.find(run_id)
        if is_closed and not self._is_ours(run):
            return False
        task = _task_of(view, run)
        return task is None or self.takes_type(task.type)

    def _is_left(self, view: View, run_id: str) -> bool:
        if self._is_alone:
            return False
        run = view.runs.find(run_id)
        task, agent = _task_of(view, run), run.input.get("agent")
        return task is not None and self.leaves(view, task, [agent] if agent else ())

    def leaves(self, view: View, task: Task, agents: Sequence[str]) -> bool:
        """Whether a task is left, for now, to the host that has its files and one of its agents."""
        if self._is_alone:
            return False
        place = view.work_places.find(task.id)
        host = None if place is None else place.host
        if host in (None, own_host(self._app)) or not self._takes(view, host, task, agents):
            self._left.pop(task.id, None)
            return False
        since = self._left.setdefault(task.id, time.monotonic())
        return time.monotonic() < since + lease_of(self._app)

    def _takes(self, view: View, host: str | None, task: Task, agents: Sequence[str]) -> bool:
        """Whether a host lives, and takes this task, and offers one of the agents."""
        kind = self._types.get(task.type or "")
        needs = {*kind.needs} if kind is not None else set()
        if host is None or view.hosts.is_drained(host):
            return False
        wishes = view.hosts.wishes()
        return any(
            each.host == host
            and each.facts.takes_tasks
            and needs <= {*each.facts.labels}
            and (not agents or not {*agents}.isdisjoint(each.facts.agents))
            and why_drained(each.facts, wishes, is_drained=False) is None
            for each in living(view, view.time())
        )


def _task_of(view: View, run: Run) -> Task | None:
    task_id = run.input.get("taskId")
    return view.graph.find(task_id) if isinstance(task_id, str) else None
