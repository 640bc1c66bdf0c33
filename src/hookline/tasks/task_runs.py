"""The runs that work on tasks: sessions, submissions and merges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.sessions import FLOW as SESSION
from hookline.domain.submissions import MERGE, SUBMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.domain.events import Event
    from hookline.domain.runs import Run
    from hookline.ports.store import View


def runs_on(view: View, task_id: str, *flows: str) -> Iterator[Run]:
    """A task's runs of some flows; of all three if none is named."""
    for flow in flows or (SESSION, SUBMIT, MERGE):
        yield from (r for r in view.runs.of_flow(flow) if r.input.get("taskId") == task_id)


def live_sessions(view: View) -> list[Run]:
    """The sessions that are running or can be resumed."""
    return [view.runs.find(run_id) for run_id in view.sessions.live()]


def beginning(view: View, run_id: str) -> Event:
    """The event with which a run began."""
    return view.log.events(node_id=run_id, types=("run_started",))[0]
