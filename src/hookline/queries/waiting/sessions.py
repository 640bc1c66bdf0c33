"""Sessions and runs of flows that wait for a person."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from hookline.domain.runs import model as runs
from hookline.domain.sessions import model as sessions
from hookline.domain.tasks import CREATED, READY
from hookline.flows.called_runs import callers, first_caller
from hookline.flows.outcomes import answered, as_answered, is_stuck, last_parked, what_waits
from hookline.queries.sessions import KILLED, PARKED, accept_command, resume_command
from hookline.queries.waiting.item import Item, sentence
from hookline.queries.waiting.merges import GATED, command_to_continue
from hookline.wiring.running.hosts import is_served

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from hookline.app import App
    from hookline.domain.runs.model import JournalEffect, Run
    from hookline.ports.store import View
    from hookline.queries.sessions import SessionFacts

UNABLE = "its agent cannot work"
WHY = {
    sessions.ESCALATED: "it needs a person",
    sessions.LIMIT: "it reached a limit",
    sessions.FAILED: "its agent fails",
    KILLED: "its process is gone",
    PARKED: "it cannot continue",
}


def resting_sessions(view: View, found: Iterable[SessionFacts]) -> Iterator[Item]:
    """Sessions that do not continue by themselves."""
    for known in found:
        if known.status in WHY or known.planned:
            word = WHY.get(sessions.outcome_word(known.status, known.limit))
            why = [UNABLE if known.problem is not None else word, known.reason]
            # Who held it last is another one each time that a process is gone.
            when = known.since or f"{known.status} {view.runs.leases.holder(known.run_id)[1]}"
            yield Item(
                "session",
                known.name,
                known.since,
                sentence(": ".join(each for each in why if each)),
                resume_command(known),
                session_key(known.run_id, when),
                node=known.run_id,
                goal=known.goal,
                outcome=known.status,
                reason=known.reason,
                accept=accept_command(known),
            )


def session_key(run_id: str, when: str) -> str:
    """What names a session that does not continue, since a moment."""
    return f"session {run_id} {when}"


def failed_sessions(view: View, found: Iterable[SessionFacts]) -> Iterator[Item]:
    """Sessions that failed, if their task is open and was not started again."""
    told = {known.task_id for known in found}
    for run in view.runs.runs(status=runs.FAILED, limit=runs.EVERY):
        task_id = run.input["taskId"] if run.flow == sessions.FLOW else None
        task = view.graph.find(task_id) if task_id and task_id not in told else None
        if task is not None and task.state in (CREATED, READY):
            told.add(task.id)
            yield Item(
                "session",
                run.input["name"],
                run.updated_at,
                sentence(f"it failed: {run.error}"),
                f"hookline run --task {task.id}",
                session_key(run.run_id, runs.FAILED),
                node=run.run_id,
                goal=task.goal,
                outcome=runs.FAILED,
                reason=run.error,
            )


def waiting_runs(view: View, of_sessions: Collection[str]) -> Iterator[Item]:
    """Runs that ask something, or cannot continue."""
    for status in (runs.PARKED, runs.RUNNING):
        for run in reversed(view.runs.runs(status=status, limit=runs.EVERY)):
            if run.run_id in of_sessions:
                continue
            if is_stuck(view, run):
                yield _stuck(view, run)
            pending = view.runs.pending(run)
            known = [f"called by {each.run_id}" for each in callers(view, run.run_id)[:1]]
            if run.reason not in (None, what_waits(pending)):
                known.insert(0, str(run.reason))
            why = f" ({'; '.join(known)})" if known else ""
            yield from (_question(run, e, why) for e in pending if e.kind == "breakpoint")


def answered_runs(app: App, view: View) -> Iterator[Item]:
    """Runs whose question is answered, and that no process continues."""
    for run in reversed(view.runs.runs(status=runs.PARKED, limit=runs.EVERY)):
        first = first_caller(view, run)
        if answered(view, run) and not is_served(app.project.folder, first.run_id):
            message = sentence(f"the flow {run.flow}: {as_answered(view, run).reason}")
            event = last_parked(view, run)
            yield Item(
                "run",
                run.run_id,
                event.timestamp,
                message,
                f"hookline orchestrate {first.run_id}",
                f"answered {run.run_id} {event.seq}",
                node=run.run_id,
            )


def _stuck(view: View, run: Run) -> Item:
    event = last_parked(view, run)
    remedy = f"; {event.data['help']}" if event.data.get("help") else ""
    message = sentence(f"the flow {run.flow} cannot continue: {run.reason or 'parked'}{remedy}")
    resume = f"hookline flow resume {first_caller(view, run).run_id}"
    command = command_to_continue(run) if run.flow in GATED else resume
    key = f"run {run.run_id} {event.seq}"
    return Item("run", run.run_id, event.timestamp, message, command, key, node=run.run_id)


def _question(run: Run, effect: JournalEffect, why: str) -> Item:
    name = shlex.quote(effect.effect_id)
    return Item(
        "breakpoint",
        f"{run.run_id} {effect.effect_id}",
        effect.requested_at,
        f"The flow {run.flow} asks: {effect.args['question']}{why}",
        f"hookline answer {run.run_id} {name} yes (or: no)",
        f"breakpoint {run.run_id} {effect.requested_seq}",
        node=run.run_id,
    )
