"""The sessions of a worker's agents: which can be resumed, and which agent cannot work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.sessions.model import ESCALATED, STANDING, STOPPED
from hookline.queries.sessions import facts
from hookline.tasks.task_runs import live_sessions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.runs.model import Run
    from hookline.domain.sessions.turns import AgentProblem
    from hookline.domain.tasks import Task
    from hookline.ports.store import View
    from hookline.queries.sessions import SessionFacts


class UnableAgents:
    """The agents that cannot work, each with the session that has found it out."""

    def __init__(self) -> None:
        self._found: dict[str, SessionFacts] = {}

    def note(self, view: View, run_id: str) -> bool:
        """Give no more tasks to the agent of a session if it cannot work; whether that is new."""
        if view.runs.value(run_id, STANDING) != ESCALATED:
            return False
        known = facts(view, view.runs.find(run_id))
        if known.problem is None or known.agent is None:
            return False
        is_new = known.agent not in self._found
        self._found[known.agent] = known
        return is_new

    def now(self, view: View) -> dict[str, AgentProblem]:
        """Those that still cannot; one whose session was resumed was repaired."""
        for agent, known in list(self._found.items()):
            if view.runs.value(known.run_id, STANDING) != ESCALATED:
                del self._found[agent]
        found = self._found.items()
        return {agent: known.problem for agent, known in found if known.problem is not None}


def best_known(view: View, task: Task, agents: Sequence[str]) -> str:
    """The agent whose stopped session on a task can be resumed, else the first."""
    return next((each for each in agents if stopped(view, task, each)), agents[0])


def stopped(view: View, task: Task, agent: str) -> Run | None:
    """This agent's session on this task that was stopped, or could not work, and can be resumed."""
    for run in live_sessions(view):
        given = run.input
        is_same = (given["taskId"], given.get("agent")) == (task.id, agent) and given.get("branch")
        if is_same and _may_go_on(view, run):
            return run
    return None


def _may_go_on(view: View, run: Run) -> bool:
    status = view.runs.value(run.run_id, STANDING)
    return status == STOPPED or (status == ESCALATED and facts(view, run).problem is not None)


def free_name(view: View, wanted: str) -> str:
    """A name that no resumable session has."""
    taken = {run.input["name"] for run in live_sessions(view)}
    numbered = (f"{wanted}-{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (wanted, *numbered) if name not in taken)
