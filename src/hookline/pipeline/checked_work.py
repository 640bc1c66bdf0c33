"""Work that sessions and gates check: agents must not decide about it themselves.

The author of the work must not write its verdict. So agents and hooks may do less than people to
a run of these flows, or to a task that one of them works on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.runs.model import UnknownRun
from hookline.domain.sessions import model as sessions
from hookline.domain.tasks import SUBMITTED, Task
from hookline.domain.work.submissions import MERGE, SUBMIT
from hookline.errors import PeopleOnly
from hookline.pipeline import gate_verbs
from hookline.sessions.starting import is_busy
from hookline.tasks.task_runs import live_sessions

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hookline.ports.store import View

CHECKING_FLOWS = frozenset({sessions.FLOW, SUBMIT, MERGE})
# Signals that do not affect the verdict on the work.
HARMLESS = frozenset({"note"})


def refuse_verdict(view: View, task: Task, verb: str, changes: Collection[str] = ()) -> None:
    """Refuse a decision about work that a session or gates are checking."""
    if changes and HARMLESS.issuperset(changes):
        return
    checker = checker_of(view, task)
    if checker is not None:
        help = "say in your last message, or in a note, what you want done"
        raise PeopleOnly(
            f"{task.id} is checked by {checker}: only a person can {verb} it", help=help
        )


def refuse_others(view: View, task: Task, own_run: str | None, verb: str) -> None:
    """Refuse to change a task that another session works on."""
    others = [name for run_id, name in _sessions(view, task) if run_id != own_run]
    if others:
        why = f"session '{others[0]}' works on {task.id}: you cannot {verb} it"
        raise PeopleOnly(why, help="leave it a note: note_add, or `hookline note add`")


def checker_of(view: View, task: Task) -> str | None:
    """What decides about a task's work now, as a message names it; None if nothing does."""
    for _, name in _sessions(view, task):
        return f"session '{name}'"
    run = gate_verbs.run_of(view, task.id)
    if run is not None:
        return f"its gates ({run.run_id})"
    return "its gates" if task.state == SUBMITTED else None


def is_part(view: View, task: Task, whole: str) -> bool:
    """Whether a task was added in a session on another task: its work is checked with that."""
    made = view.log.events(node_id=task.id, types=("task_created",))[0].metadata
    if "session" not in made or "run" not in made:
        return False
    try:
        return bool(view.runs.find(made["run"]).input.get("taskId") == whole)
    except UnknownRun:  # an environment can name any run
        return False


def _sessions(view: View, task: Task) -> Sequence[tuple[str, str]]:
    """The sessions that work on a task: run and name."""
    found = [run for run in live_sessions(view) if run.input["taskId"] == task.id]
    return [(run.run_id, run.input["name"]) for run in found if is_busy(view, run)]
