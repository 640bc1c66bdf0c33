"""Work that is judged: agents do it, sessions and gates say what it is worth.

Whoever does the work must not write its verdict. So what agents and hooks may do to a run of
these flows, or to a task that one of them works on, is less than what people may do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain import sessions
from hookline.domain.runs import UnknownRun
from hookline.domain.sessions import LIVE, PAUSED, STANDING
from hookline.domain.submissions import MERGE, SUBMIT
from hookline.domain.tasks import SUBMITTED
from hookline.errors import PeopleOnly
from hookline.flows import gate_verbs

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hookline.domain.tasks import Task
    from hookline.ports.store import View

JUDGING_FLOWS = frozenset({sessions.FLOW, SUBMIT, MERGE})
# What may be said about work that is judged without any weight in the judgement.
HARMLESS = frozenset({"note"})


def refuse_verdict(view: View, task: Task, verb: str, changes: Collection[str] = ()) -> None:
    """Refuse what would decide about work in place of the session or the gates that judge it."""
    if changes and HARMLESS.issuperset(changes):
        return
    judge = judge_of(view, task)
    if judge is not None:
        raise PeopleOnly(
            f"{task.id} is judged by {judge}: only a person can {verb} it",
            help="say in your last message, or in a note, what you want to be done",
        )


def refuse_others(view: View, task: Task, own_run: str | None, verb: str) -> None:
    """Refuse to meddle with a task that the session of somebody else works on."""
    others = [name for run_id, name in _sessions(view, task) if run_id != own_run]
    if others:
        raise PeopleOnly(
            f"session '{others[0]}' works on {task.id}: to {verb} it is not for you",
            help="leave it a note: note_add, or `hookline note add`",
        )


def judge_of(view: View, task: Task) -> str | None:
    """Who decides about a task's work at the moment, in words; None while nobody does."""
    for _, name in _sessions(view, task):
        return f"session '{name}'"
    run = gate_verbs.run_of(view, task.id)
    if run is not None:
        return f"its gates ({run.run_id})"
    return "its gates" if task.state == SUBMITTED else None


def is_part(view: View, task: Task, whole: str) -> bool:
    """Whether a task came up in a session on another: its work is judged with that one's."""
    made = view.log.events(node_id=task.id, types=("task_created",))[0].metadata
    if "session" not in made or "run" not in made:
        return False
    try:
        return bool(view.runs.find(made["run"]).input.get("taskId") == whole)
    except UnknownRun:  # an environment can name any
        return False


def _sessions(view: View, task: Task) -> Sequence[tuple[str, str]]:
    """The sessions that work on a task: run and name."""
    inputs = {run_id: view.runs.find(run_id).input for run_id in view.sessions.live()}
    return [
        (run_id, given["name"])
        for run_id, given in inputs.items()
        if given["taskId"] == task.id and view.runs.value(run_id, STANDING) in (LIVE, PAUSED)
    ]
