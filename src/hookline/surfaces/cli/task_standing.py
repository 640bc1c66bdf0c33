"""What keeps a task from going on by itself, why, and what to type.

For `why`, `task show` and the end of `work`; `attention` lists it together with all else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.submissions import MERGE, SUBMIT
from hookline.domain.tasks import ACTIVE, BLOCKED, NEEDS_CONTINUATION, READY, SUBMITTED
from hookline.errors import BadInput
from hookline.flows.gate_verbs import open_runs
from hookline.flows.outcomes import is_passed_over, is_stuck, last_parked
from hookline.surfaces.cli.attention_gates import (
    asked_help,
    last_flow,
    left_help,
    open_question,
)
from hookline.surfaces.cli.session_agent import chosen_agent
from hookline.surfaces.cli.session_facts import (
    KILLED,
    PARKED,
    facts,
    is_held,
    next_command,
    resume_command,
)
from hookline.surfaces.cli.work_waits import waiting

if TYPE_CHECKING:
    from hookline.adapters.store.sqlite import View
    from hookline.app import App
    from hookline.domain.runs import Run
    from hookline.domain.tasks import Task
    from hookline.surfaces.cli.session_facts import Facts

# Where a task stands: at its gates, at what cannot go on, with a person, with an agent, with none.
AT_GATES, STUCK, SENT_BACK, AT_WORK = "waiting", "parked", "sentBack", "atWork"
NOT_TAKEN = "notTaken"
STATES = (ACTIVE, BLOCKED, SUBMITTED, NEEDS_CONTINUATION)
UNTAKEN = "nothing takes it through its gates"


class Standing(msgspec.Struct, frozen=True):
    """Where a task stands, why it stays there, and the command that helps."""

    kind: str
    reason: str
    command: str


def standing(app: App, view: View, task: Task) -> Standing | None:
    """Where one task stands; None for one that only waits for its turn, or is done."""
    return _Stand(app, view).of(task)


def all_standing(app: App, view: View) -> dict[str, Standing]:
    """Where every task stands that is neither waiting for its turn nor done."""
    stand = _Stand(app, view)
    tasks = {task.id: task for task in view.graph.tasks(states=STATES)}
    submitted = (view.graph.find(task_id) for task_id in stand.runs)
    tasks |= {task.id: task for task in submitted if task is not None}
    found = ((task_id, stand.of(task)) for task_id, task in tasks.items())
    return {task_id: each for task_id, each in found if each is not None}


def untaken(app: App, task_type: str | None) -> Standing | None:
    """Why no agent can take tasks of a type on this machine; None if one can."""
    problems = []
    for name in implementers(app, task_type):
        try:
            chosen_agent(app, name)
        except BadInput as problem:
            problems.append(problem.message)
        else:
            return None
    reason = f"no agent here may take it: {'; '.join(problems)}"
    return Standing(NOT_TAKEN, reason, "hookline doctor") if problems else None


def implementers(app: App, task_type: str | None) -> list[str]:
    """The agents that alone may take tasks of a type; none where anybody may."""
    types = app.settings.task_types if app.settings is not None else {}
    return list(types[task_type].agents.implementer) if task_type in types else []


class _Stand:
    """What is under way for tasks: the run that takes each through its gates, and its sessions."""

    def __init__(self, app: App, view: View) -> None:
        self._app, self._view = app, view
        under_way = (run for flow in (SUBMIT, MERGE) for run in open_runs(view, flow))
        self.runs: dict[str, Run] = {run.input["taskId"]: run for run in under_way}
        self._sessions: dict[str, list[Run]] = {}
        for run in map(view.runs.find, reversed(view.sessions.live())):
            self._sessions.setdefault(run.input["taskId"], []).append(run)

    def of(self, task: Task) -> Standing | None:
        """Where a task stands."""
        run = self.runs.get(task.id)
        if run is not None:
            return self._at_gates(run)
        if task.state == SUBMITTED:
            command = f"hookline {last_flow(self._view, task)} {task.id}"
            return Standing(AT_GATES, UNTAKEN, command)
        session = self._session(task)
        if task.state == READY:
            return untaken(self._app, task.type) if task.claim is None else None
        if task.state == ACTIVE:
            return _with_session(session) if session is not None else None
        if task.state not in (BLOCKED, NEEDS_CONTINUATION):
            return None
        kind = BLOCKED if task.state == BLOCKED else SENT_BACK
        reason = task.block_reason or task.state
        if session is not None:
            return Standing(kind, session.reason or reason, resume_command(session))
        hint, command = left_help(self._app, self._view, task)
        return Standing(kind, f"{reason}; {hint}" if hint else reason, command)

    def _at_gates(self, run: Run) -> Standing:
        view, again = self._view, f"hookline {run.flow} {run.input['taskId']}"
        if (asked := open_question(view, run)) is not None:
            hint, command = asked_help(run, asked)
            return Standing(AT_GATES, f"it waits for you: {hint}", command)
        if is_stuck(view, run):
            help = last_parked(view, run).data.get("help")
            reason = f"its {run.flow} is parked: {run.reason}" + (f"; {help}" if help else "")
            return Standing(STUCK, reason, again)
        if (found := waiting(view, run.run_id)) is not None and found.reason:
            return Standing(AT_GATES, f"it {found.reason}", again)
        holder, _, until = view.runs.holder(run.run_id)
        reason = "its gates are asked now" if is_held(holder, until) else UNTAKEN
        return Standing(AT_GATES, reason, again)

    def _session(self, task: Task) -> Facts | None:
        """The newest session on a task that can go on, unless the task went on without it."""
        for run in self._sessions.get(task.id, ()):
            if not is_passed_over(self._view, run):
                return facts(self._view, run)
        return None


def _with_session(known: Facts) -> Standing:
    why = f": {known.reason}" if known.reason else ""
    kind = STUCK if known.status in (PARKED, KILLED) else AT_WORK
    return Standing(kind, f"its session {known.name} is {known.status}{why}", next_command(known))
