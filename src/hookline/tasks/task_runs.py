"""The runs that work on tasks: sessions, submissions and merges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.timestamps import seconds
from hookline.domain.work.submissions import MERGE, SUBMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.domain.events import Event
    from hookline.domain.runs.model import Run
    from hookline.ports.store import View


def runs_on(view: View, task_id: str, *flows: str) -> Iterator[Run]:
    """A task's runs of some flows; of all three if none is named."""
    for flow in flows or (SESSION, SUBMIT, MERGE):
        yield from (r for r in view.runs.of_flow(flow) if r.input.get("taskId") == task_id)


def live_sessions(view: View) -> list[Run]:
    """The sessions that are running or can be resumed."""
    return [view.runs.find(run_id) for run_id in view.sessions.live()]


def beside(view: View, run: Run, now: str) -> Run | None:
    """A session that has worked in the same folder since a session began, if there is one."""
    types = ("session_iteration", "session_iteration_ended")
    events = view.log.events(types=types, after=beginning(view, run.run_id).seq)
    worked = {event.node_id for event in events}
    at_work = {r.run_id for r in live_sessions(view) if is_leased(view, r.run_id, now)}
    others = (view.runs.find(run_id) for run_id in sorted((worked | at_work) - {run.run_id}))
    folder = run.input.get("worktree")
    return next((each for each in others if each.input.get("worktree") == folder), None)


def is_leased(view: View, run_id: str, now: str) -> bool:
    """Whether a process has a lease on a run, alive or not."""
    holder, _, until = view.runs.leases.holder(run_id)
    return holder is not None and until >= seconds(now)


def beginning(view: View, run_id: str) -> Event:
    """The event with which a run began."""
    return view.log.events(node_id=run_id, types=("run_started",))[0]
