"""How a session ended, for the person or the program that waited for it."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

from hookline.domain import sessions
from hookline.domain.tasks import DEPENDS_ON
from hookline.domain.text.terminal import plural
from hookline.errors import FAILED, INTERRUPTED, LIMIT, NEEDS_PERSON, OK
from hookline.queries.sessions import CANCELLED, PARKED, resume_command
from hookline.surfaces.cli.output import answer, next_step, note, paint, say, spoken, untrusted

if TYPE_CHECKING:
    from argparse import Namespace

    from hookline.ports.store import View
    from hookline.queries.sessions import SessionFacts

EXITS = {
    sessions.COMPLETED: OK,
    sessions.FAILED: FAILED,
    CANCELLED: FAILED,
    sessions.ESCALATED: NEEDS_PERSON,
    sessions.LIMIT: LIMIT,
    sessions.STOPPED: INTERRUPTED,
}
STYLES = {sessions.COMPLETED: "green", sessions.LIMIT: "yellow", sessions.STOPPED: "yellow"}


def tell_end(
    args: Namespace, known: SessionFacts, ended: dict[str, Any] | None, help: str | None = None
) -> int:
    """Tell how a session ended, or that it only rests, with help for that; the exit code."""
    if not known.is_over and known.status not in EXITS:
        with spoken(sys.stdout, sys.stderr):
            _tell_rest(args, known, help)
        return NEEDS_PERSON if known.status == PARKED else OK
    outcome = known.status if known.status in EXITS else sessions.FAILED
    if ended is None or ended["outcome"] != outcome:  # it broke: no ending was written
        reason = known.reason or ("by a person" if outcome == CANCELLED else "its run failed")
        ended = {"outcome": outcome, "reason": reason, "iterations": known.iteration}
    with spoken(sys.stdout, sys.stderr):
        if answer(args, {"type": "session_ended", "data": ended}):
            _tell(known, ended)
    if outcome == sessions.COMPLETED and (ended.get("taskHeld") or ended.get("taskError")):
        return NEEDS_PERSON  # what was done is not taken for it
    return OK if ended.get("waitsFor") else EXITS[outcome]


def tell_plan(args: Namespace, view: View, known: SessionFacts) -> None:
    """Show the tasks that a session has planned, and how they are changed; else nothing."""
    if not known.planned:
        return
    import shutil  # only a plan needs these

    from hookline.domain.pages import drawing
    from hookline.tasks.planned import tasks_below

    tasks = tasks_below(view, known.task_id)
    kept = {task.id for task in tasks}
    all_edges = (edge for task in tasks for edge in view.graph.edges_from(task.id, DEPENDS_ON))
    edges = [edge for edge in all_edges if edge.to_id in kept]
    told = {"session": known.name, "taskId": known.task_id, "tasks": tasks, "edges": edges}
    plan = {"type": "session_planned", "data": {**told, "next": resume_command(known)}}
    width = shutil.get_terminal_size((100, 24)).columns
    graph = drawing.terminal(tasks, edges, width=width, style=paint)
    if answer(args, plan, f"{paint('planned', 'green')}: {plural(len(tasks), 'task')}", *graph):
        note(
            f"change the plan with `hookline task add GOAL --parent {known.task_id}`,"
            " `task update`, `task cancel`, `dep add` and `dep remove`"
        )


def parked_help(view: View, known: SessionFacts) -> str | None:
    """What has to be done before a session that is parked can go on."""
    events = view.log.events(node_id=known.run_id, types=("run_parked",))
    return events[-1].data.get("help") if events and known.status == PARKED else None


def _tell_rest(args: Namespace, known: SessionFacts, help: str | None) -> None:
    """The process ends, the session does not."""
    if not args.json:
        why = f": {untrusted(known.reason)}" if known.reason else ""
        note(f"{untrusted(known.name)} is {known.status}{why}")
        first = f"{untrusted(help)}; then " if help else ""
        note(f"{first}resume it with `{resume_command(known)}`")


def _tell(known: SessionFacts, ended: dict[str, Any]) -> None:
    if ended.get("waitsFor"):
        say(f"{paint('planned', 'green')}: {untrusted(ended['reason'])}")
        note(f"`hookline work` does these, then the rest of {known.task_id}")
        return
    outcome = ended["outcome"]
    count = plural(ended["iterations"], "iteration")
    why = untrusted(str(ended.get("message") or ended["reason"]), 500)
    word = sessions.told_as(outcome, ended["reason"])
    say(f"{paint(word, STYLES.get(word, 'red'))} after {count}: {why}")
    if held := ended.get("taskHeld"):
        _tell_held(known, held)
    elif outcome == sessions.COMPLETED and known.branch is not None:
        note(f"its gates come next: hookline submit {known.task_id}")
    elif outcome == sessions.LIMIT or (
        outcome == sessions.STOPPED and not ended.get("taskSettled")
    ):
        first = "fix the agent, then " if word == sessions.FAILED else ""
        note(f"{first}resume it with `{resume_command(known)}`")
    elif outcome in (sessions.FAILED, CANCELLED) and not ended.get("taskSettled"):
        note(f"it cannot be resumed; start again: hookline run --task {known.task_id}")
    elif known.problem is not None:
        note(f"repair that, then resume it: `{resume_command(known)}`")
    elif outcome == sessions.ESCALATED:
        note(f"{known.task_id} is blocked; resolve that, then `{resume_command(known)}`")
    if error := ended.get("taskError"):
        note(f"{known.task_id} is unchanged: {untrusted(error)}")
    if unheard := ended.get("unheard"):
        note(f"{plural(unheard, 'message')} {'was' if unheard == 1 else 'were'} not delivered")
    name = untrusted(shlex.quote(known.name))
    next_step(f"hookline session report {name}", "everything on one page")


def _tell_held(known: SessionFacts, why: str) -> None:
    """The agent is done, but its task is not: a person looks first."""
    state, verb = ("blocked", "task unblock") if known.branch is None else ("sent back", "submit")
    note(f"{known.task_id} is {state}: {untrusted(why)}")
    note(f"look at it, then `hookline {verb} {known.task_id}`")
