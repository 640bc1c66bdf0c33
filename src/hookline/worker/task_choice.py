"""Which task an agent of a worker gets next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.config.task_types import claim_rule
from hookline.pipeline.gate_verbs import run_of
from hookline.queries.sessions import unstarted_plan
from hookline.tasks import claims
from hookline.worker.admission import Admission
from hookline.worker.agent_sessions import UnableAgents, best_known

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.domain.tasks import Task
    from hookline.ports.store import View
    from hookline.worker.offered_agents import OfferedAgents

# How many ready tasks are considered first; then up to the usual limit.
FIRST_LOOK = 64


class TaskChoice:
    """Chooses among ready tasks for some agents, and among types if there are any.

    `left` are tasks that could not be started. `is_one_left` is whether a task that could be
    started was left to another host when one was chosen last. `is_ours` says of a run whether
    this worker deals with it.
    """

    def __init__(
        self,
        app: App,
        agents: Sequence[str],
        types: Sequence[str] | None,
        is_ours: Callable[[Run], bool],
    ) -> None:
        self.left: set[str] = set()
        self.is_one_left = False
        self.unable = UnableAgents()
        self.offered: OfferedAgents | None = None
        self.admission = Admission(app, is_ours)
        self._app, self._agents, self._types = app, agents, types
        self._rule = claim_rule(app.settings)

    def not_for_any_lane(self, view: View) -> list[str]:
        """Ready tasks of the wanted types that none of the agents may or can take, or not yet."""
        able = self._able(view, self._agents)
        return [
            task.id
            for task in view.graph.ready(claims.LOOKED_AT, self._app.store.now())
            if self._is_wanted(task.type)
            and (
                not any(self._rule(agent, task.type) for agent in able)
                or not self.admission.can_anyone(view, task.type)
                or unstarted_plan(view, task) is not None
                or self._app.types.unknown(task.type) is not None
            )
        ]

    def best(
        self, view: View, now: str, agents: Sequence[str] | None = None
    ) -> tuple[Task, str] | None:
        """The best task that one of these agents may take, and which one takes it."""
        agents = self._able(view, self._agents if agents is None else agents)
        self.is_one_left = False
        for limit in (FIRST_LOOK, claims.LOOKED_AT):
            ready = view.graph.ready(limit, now)
            for task in ready:
                allowed = [each for each in agents if self.may_take(each, task.type)]
                if allowed and self._is_free(view, task) and not self._leaves(view, task, allowed):
                    return task, best_known(view, task, allowed)
            if len(ready) < limit:
                break
        return None

    def _is_free(self, view: View, task: Task) -> bool:
        """Whether a task may be started.

        Work that a person submitted is not started again, and only a person starts a plan.
        """
        is_known = task.id in self.left or run_of(view, task.id) is not None
        return not is_known and unstarted_plan(view, task) is None

    def _able(self, view: View, agents: Sequence[str]) -> list[str]:
        unable = self.unable.now(view).keys()
        offered = agents if self.offered is None else self.offered.now()
        return [each for each in agents if each in offered and each not in unable]

    def _leaves(self, view: View, task: Task, agents: Sequence[str]) -> bool:
        is_left = self.admission.leaves(view, task, agents)
        self.is_one_left = self.is_one_left or is_left
        return is_left

    def may_take(self, agent: str, task_type: str | None) -> bool:
        """Whether an agent may take tasks of a type here."""
        is_known = self._app.types.unknown(task_type) is None
        is_fit = is_known and self.admission.takes_type(task_type)
        return is_fit and self._is_wanted(task_type) and self._rule(agent, task_type)

    def _is_wanted(self, task_type: str | None) -> bool:
        return self._types is None or task_type in self._types
