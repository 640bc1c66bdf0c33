"""What a worker of one host may take, where several hosts share a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.hosts import why_drained
from hookline.queries.hosts import missing_labels
from hookline.wiring.project.stores import is_here
from hookline.wiring.running.presence import facts, own_host

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.ports.store import View


class Admission:
    """Which tasks and runs this host takes; all of them, if the store is in a file.

    `is_ours` says of a run whether this process deals with it: a host that takes nothing new
    finishes that.
    """

    def __init__(self, app: App, is_ours: Callable[[Run], bool] = lambda run: False) -> None:
        self._app, self._is_ours = app, is_ours
        self._is_alone = is_here(app.store)
        self._types = app.sections.task_types

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
        """Those of some runs that are due that this host may advance."""
        if self._is_alone or not run_ids:
            return run_ids
        is_closed = self.why_nothing(view) is not None
        return [each for each in run_ids if self._may_advance(view, each, is_closed=is_closed)]

    def _may_advance(self, view: View, run_id: str, *, is_closed: bool) -> bool:
        run = view.runs.find(run_id)
        if is_closed and not self._is_ours(run):
            return False
        task_id = run.input.get("taskId")
        task = view.graph.find(task_id) if isinstance(task_id, str) else None
        return task is None or self.takes_type(task.type)
