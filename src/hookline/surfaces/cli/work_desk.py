"""The desk of a worker: which task an agent gets next, and the session that begins on it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hookline.adapters.blobs import FileBlobs
from hookline.config.claiming import claim_rule
from hookline.config.pipeline import skips_pr
from hookline.domain import sessions
from hookline.domain.sessions import STANDING, Charge
from hookline.domain.submissions import MERGE, SUBMIT
from hookline.errors import HooklineError, NothingReady, StoreError
from hookline.flows.gate_verbs import run_of
from hookline.flows.spending import Spending
from hookline.flows.worker import Begun
from hookline.outside import start_session
from hookline.surfaces.cli.session_facts import facts
from hookline.surfaces.cli.session_resume import go_on
from hookline.tasks import claims
from hookline.wiring.calls import repository

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from hookline.app import App
    from hookline.domain.tasks import Task
    from hookline.ports.store import Transaction, View
    from hookline.surfaces.cli.session_facts import Facts

# Long enough to make a worktree; the session renews it.
FIRST_LEASE = 600.0
# So many ready tasks are looked at first; then as many as anybody looks at.
FIRST_LOOK = 64


class WorkDesk:
    """Claims the best task that an agent may take, and starts its session in a worktree.

    A task that cannot be begun is told of once, and then left alone.
    """

    def __init__(
        self,
        app: App,
        agents: Collection[str],
        types: Sequence[str] | None,
        *,
        after: int,
        left_alone: Callable[[Task, HooklineError], None],
    ) -> None:
        self.tasks: set[str] = set()
        self.left: set[str] = set()
        self.merges: set[str] = set()
        self._app = app
        self._agents = agents
        self._types = types
        self._rule = claim_rule(app.settings)
        self._left_alone = left_alone
        self._noticed: set[str] = set()
        self._spending = Spending(app.store, FileBlobs(app.project.blobs), self.tasks, after)

    async def begin(self, agent: str) -> Begun | None:
        """A session on the best task; None if there is none to take."""
        while True:
            try:
                task: Task = self._app.change(self._claim, agent)
            except NothingReady:
                return None
            self.tasks.add(task.id)
            try:
                return Begun(await self._start(task, agent), task.id)
            except HooklineError as problem:
                self._release(task)
                if isinstance(problem, StoreError):  # not the task's fault
                    raise
                self.left.add(task.id)
                self._left_alone(task, problem)
            except BaseException:
                self._release(task)
                raise

    def has_more(self) -> bool:
        """Whether there is a task that could be begun."""
        with self._app.read() as view:
            return any(self._best(view, self._app.store.now(), agent) for agent in self._agents)

    def is_settled(self) -> bool:
        """Whether no hook waits that could still make tasks."""
        return not self._app.work_waits()

    def usd(self) -> float:
        """What the tasks have cost until now."""
        return self._spending.usd()

    def notice(self, run_id: str, effect_id: str) -> None:
        """A run was advanced here: its task is one that this worker deals with."""
        if effect_id.startswith(MERGE):  # whoever makes it counts it
            self.merges.add(run_id)
        if run_id not in self._noticed:
            self._noticed.add(run_id)
            with self._app.read() as view:
                run = view.runs.find(run_id)
            if run.flow in (sessions.FLOW, SUBMIT, MERGE):
                self.tasks.add(run.input["taskId"])

    # Choosing

    def _claim(self, tx: Transaction, agent: str) -> Task:
        best = self._best(tx, tx.now, agent)
        if best is None:
            raise NothingReady
        claims.claim(tx, best.id, agent, FIRST_LEASE, allowed=self._may_take)
        return tx.graph.task(best.id)

    def _best(self, view: View, now: str, agent: str) -> Task | None:
        for limit in (FIRST_LOOK, claims.LOOKED_AT):
            ready = view.graph.ready(limit, now)
            for task in ready:
                if self._is_free(view, task) and self._may_take(agent, task.type):
                    return task
            if len(ready) < limit:
                break
        return None

    def _is_free(self, view: View, task: Task) -> bool:
        """Whether nothing speaks against it: work that a person submitted is not begun again."""
        return task.id not in self.left and run_of(view, task.id) is None

    def _may_take(self, agent: str, task_type: str | None) -> bool:
        if self._types is not None and task_type not in self._types:
            return False
        return self._rule(agent, task_type)

    def _release(self, task: Task) -> None:
        with suppress(HooklineError):  # then the claim runs out by itself
            self._app.change(lambda tx: claims.release(tx, task.id, reason="it was not begun"))

    # Beginning

    async def _start(self, task: Task, agent: str) -> str:
        app = self._app
        place = await repository(app).worktree(task.id)
        with app.read() as view:
            stopped = _stopped(view, task, agent)
            name = _free_name(view, f"{task.id}-{agent}")
        if stopped is not None:
            go_on(app, stopped, {})
            return stopped.run_id
        charge = Charge(name=name, goal=task.goal, task_id=task.id, agent=agent)
        charge = charge.in_worktree(place, skip_pr=skips_pr(app.settings, task.type))
        return start_session(app, lambda tx: charge)


def _stopped(view: View, task: Task, agent: str) -> Facts | None:
    """The session of this agent on this task that was stopped, and can be gone on with."""
    for run_id in view.sessions.live():
        run = view.runs.find(run_id)
        given = run.input
        is_same = (given["taskId"], given.get("agent")) == (task.id, agent) and given.get("branch")
        if is_same and view.runs.value(run_id, STANDING) == sessions.STOPPED:
            return facts(view, run)
    return None


def _free_name(view: View, wanted: str) -> str:
    """A name that no session has which could be gone on with."""
    taken = {view.runs.find(run_id).input["name"] for run_id in view.sessions.live()}
    numbered = (f"{wanted}-{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (wanted, *numbered) if name not in taken)
