"""What keeps a task from continuing without help, why, and what to type.

For `why`, `task show` and the end of `work`; `attention` lists it with everything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.tasks import (
    ACTIVE,
    BLOCKED,
    NEEDS_CONTINUATION,
    READY,
    SUBMITTED,
    Task,
    shown_state,
)
from hookline.errors import BadInput
from hookline.flows.outcomes import is_stuck, last_parked
from hookline.pipeline.gate_verbs import open_runs
from hookline.queries import sessions
from hookline.queries.hosts import missing_labels
from hookline.queries.waiting.gates import asked_help, last_flow, left_help, open_question, waiting
from hookline.sessions.ending import is_passed_over
from hookline.tasks.task_runs import live_sessions
from hookline.wiring.running.hosts import advancing
from hookline.wiring.working.profiles import chosen_agent

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.ports.store import View

# Where a task is: at its gates, in a stuck session, with a person, with an agent, or not taken.
AT_GATES, STUCK, SENT_BACK, AT_WORK = "waiting", "parked", "sentBack", "atWork"
NOT_TAKEN = "notTaken"
STATES = (ACTIVE, BLOCKED, SUBMITTED, NEEDS_CONTINUATION)
UNTAKEN = "no process takes it through its gates"


class TaskBlocker(msgspec.Struct, frozen=True):
    """Where a task is, why it stays there, and the command that helps."""

    kind: str
    reason: str
    command: str


def blocker(app: App, view: View, task: Task) -> TaskBlocker | None:
    """Where one task is; None for one that only waits for its turn, or is done."""
    return _Blockers(app, view).of(task)


def all_blockers(app: App, view: View) -> dict[str, TaskBlocker]:
    """Where each task is that neither waits for its turn nor is done."""
    blockers = _Blockers(app, view)
    tasks = {task.id: task for task in view.graph.tasks(states=STATES)}
    submitted = (view.graph.find(task_id) for task_id in blockers.runs)
    tasks |= {task.id: task for task in submitted if task is not None}
    found = ((task_id, blockers.of(task)) for task_id, task in tasks.items())
    return {task_id: each for task_id, each in found if each is not None}


def untaken(app: App, view: View, task_id: str, task_type: str | None) -> TaskBlocker | None:
    """Why no agent can take a task of a type; None if one can."""
    if unknown := app.types.unknown(task_type):
        return TaskBlocker(NOT_TAKEN, unknown, f"hookline task update {task_id} --type TYPE")
    if labels := missing_labels(app, view, task_type):
        reason = f"no running host has what tasks of type {task_type} need: {', '.join(labels)}"
        return TaskBlocker(NOT_TAKEN, reason, "hookline hosts")
    problems = []
    for name in implementers(app, task_type):
        try:
            chosen_agent(app, name)
        except BadInput as problem:
            problems.append(problem.message)
        else:
            return None
    reason = f"no agent here may take it: {'; '.join(problems)}"
    return TaskBlocker(NOT_TAKEN, reason, "hookline doctor") if problems else None


def implementers(app: App, task_type: str | None) -> list[str]:
    """The only agents that may take tasks of a type; none if all may."""
    types = app.sections.task_types
    return list(types[task_type].agents.implementer) if task_type in types else []


class _Blockers:
    """What is under way for tasks: the run that takes each through its gates, and its sessions."""

    def __init__(self, app: App, view: View) -> None:
        self._app, self._view = app, view
        self.runs: dict[str, Run] = {run.input["taskId"]: run for run in open_runs(view)}
        self._sessions: dict[str, list[Run]] = {}
        for run in reversed(live_sessions(view)):
            self._sessions.setdefault(run.input["taskId"], []).append(run)

    def of(self, task: Task) -> TaskBlocker | None:
        """Where a task is."""
        run = self.runs.get(task.id)
        if run is not None:
            return self._at_gates(run)
        if task.state == SUBMITTED:
            command = f"hookline {last_flow(self._view, task)} {task.id}"
            return TaskBlocker(AT_GATES, UNTAKEN, command)
        session = self._session(task)
        if task.state == READY and (plan := sessions.unstarted_plan(self._view, task)) is not None:
            why = f"the plan of {plan.task_id} waits to be started"
            return TaskBlocker(NOT_TAKEN, why, sessions.resume_command(plan))
        if task.state == READY:
            return (
                untaken(self._app, self._view, task.id, task.type) if task.claim is None else None
            )
        if task.state == ACTIVE:
            return _with_session(session) if session is not None else None
        if task.state not in (BLOCKED, NEEDS_CONTINUATION):
            return None
        kind = BLOCKED if task.state == BLOCKED else SENT_BACK
        reason = task.block_reason or shown_state(task.state)
        if session is not None:
            return TaskBlocker(kind, session.reason or reason, sessions.resume_command(session))
        hint, command = left_help(self._app, self._view, task)
        return TaskBlocker(kind, f"{reason}; {hint}" if hint else reason, command)

    def _at_gates(self, run: Run) -> TaskBlocker:
        view, again = self._view, f"hookline {run.flow} {run.input['taskId']}"
        if (asked := open_question(view, run)) is not None:
            hint, command = asked_help(run, asked)
            return TaskBlocker(AT_GATES, f"it waits for you: {hint}", command)
        if is_stuck(view, run):
            help = last_parked(view, run).data.get("help")
            reason = f"its {run.flow} is parked: {run.reason}" + (f"; {help}" if help else "")
            return TaskBlocker(STUCK, reason, again)
        if (found := waiting(view, run.run_id)) is not None and found.reason:
            return TaskBlocker(AT_GATES, f"it {found.reason}", again)
        reason = "its gates are running" if advancing(view, run.run_id) else UNTAKEN
        return TaskBlocker(AT_GATES, reason, again)

    def _session(self, task: Task) -> sessions.SessionFacts | None:
        """The newest resumable session on a task, unless the task continued without it."""
        for run in self._sessions.get(task.id, ()):
            if not is_passed_over(self._view, run):
                return sessions.facts(self._view, run)
        return None


def _with_session(known: sessions.SessionFacts) -> TaskBlocker:
    why = f": {known.reason}" if known.reason else ""
    kind = STUCK if known.status in (sessions.PARKED, sessions.KILLED) else AT_WORK
    reason = f"its session {known.name} is {known.status}{why}"
    return TaskBlocker(kind, reason, sessions.next_command(known))
