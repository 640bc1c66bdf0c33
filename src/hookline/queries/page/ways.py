"""What a person can do now about a task, a session or a run: the same verbs as the commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain import tasks as t
from hookline.domain.runs import model as runs
from hookline.domain.sessions import model as sessions
from hookline.pipeline.gate_verbs import run_of
from hookline.queries.page.shown import Way
from hookline.queries.sessions import RUNNING, WAITING
from hookline.queries.waiting import gates
from hookline.sessions.starting import session_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.runs.model import Run
    from hookline.domain.tasks import Task
    from hookline.ports.store import View
    from hookline.queries.sessions import SessionFacts

_LABELS = {
    "approve": "Approve",
    "reject": "Reject",
    "answer": "Answer",
    "resume": "Resume",
    "message": "Message",
    "pause": "Pause",
    "stop": "Stop",
    "cancel": "Cancel",
    "submit": "Submit again",
    "merge": "Merge",
    "unblock": "Unblock",
    "start": "Start a session",
}
_CHANGES = ("unblock",)


def _ways(place: str, verbs: Sequence[str]) -> list[Way]:
    return [Way(verb=verb, label=_LABELS[verb], path=_path(place, verb)) for verb in verbs]


def _path(place: str, verb: str) -> str:
    if verb == "start":
        return "/api/sessions"
    return place if verb in _CHANGES else f"{place}/{verb}"


def session_ways(known: SessionFacts) -> list[Way]:
    """What can be done about a session."""
    place = f"/api/sessions/{known.run_id}"
    if known.is_over:
        return _ways(place, () if known.status == sessions.COMPLETED else ("start",))
    if known.status in (RUNNING, WAITING):
        return _ways(place, ("message", "pause", "stop"))
    return _ways(place, ("resume", "message"))


def run_ways(run: Run) -> list[Way]:
    """What can be done about a run of a flow."""
    place = f"/api/runs/{run.run_id}"
    if run.status in runs.TERMINAL:
        return []
    if run.status == runs.RUNNING:
        return _ways(place, ("pause", "stop", "cancel"))
    return _ways(place, ("resume", "cancel"))


def answer_ways(run_id: str) -> list[Way]:
    """How a breakpoint is answered."""
    return _ways(f"/api/runs/{run_id}", ("answer",))


def task_ways(view: View, task_id: str) -> list[Way]:
    """What can be done about a task."""
    task, place = view.graph.find(task_id), f"/api/tasks/{task_id}"
    if task is None:
        return []
    run = run_of(view, task_id)
    if run is None and gates.left_by_merge(view, task) is not None:
        return _ways(place, ("approve",))
    if run is not None:
        asked = gates.open_question(view, run)
        elsewhere = asked is None or asked.hook in gates.ELSEWHERE
        return _ways(place, (run.flow,) if elsewhere else ("approve", "reject"))
    return _ways(place, _verbs(view, task))


def _verbs(view: View, task: Task) -> tuple[str, ...]:
    if task.state == t.BLOCKED:
        return ("unblock",)
    if task.state == t.SUBMITTED:
        return (gates.last_flow(view, task),)
    if session_on(view, task.id) is not None:
        return ()
    if task.state == t.NEEDS_CONTINUATION:
        return ("start", "submit")
    return ("start",) if task.state == t.READY else ()
