"""How a session ended, for the person or the program that waited for it."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

from hookline.domain.sessions import model as sessions
from hookline.domain.tasks import DEPENDS_ON
from hookline.domain.text.terminal import plural
from hookline.queries.sessions import (
    CANCELLED,
    accept_command,
    last_ending,
    parked_help,
    resume_command,
    session_end,
)
from hookline.surfaces.cli.output import answer, next_step, note, paint, say, spoken, untrusted

if TYPE_CHECKING:
    from argparse import Namespace

    from hookline.app import App
    from hookline.ports.store import View
    from hookline.queries.sessions import SessionFacts

STYLES = {sessions.COMPLETED: "green", sessions.LIMIT: "yellow", sessions.STOPPED: "yellow"}


def tell(args: Namespace, app: App, known: SessionFacts) -> int:
    """Tell what a session planned, and how it ended; the exit code."""
    with app.read() as view:
        tell_plan(args, view, known)
        return tell_end(args, known, last_ending(view, known.run_id), parked_help(view, known))


def tell_end(
    args: Namespace, known: SessionFacts, ended: dict[str, Any] | None, help: str | None = None
) -> int:
    """Tell how a session ended, or that it only rests, with help for that; the exit code."""
    end = session_end(known, ended)
    with spoken(sys.stdout, sys.stderr):
        if end.data is None:
            _tell_rest(args, known, help)
        elif answer(args, {"type": "session_ended", "data": end.data}):
            _tell(known, end.data)
    return end.exit_code


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
    word = sessions.outcome_word(outcome, ended["reason"])
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
        if (command := accept_command(known)) is not None:
            note(f"or, if you looked and the work is right: `{command}`")
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
