"""The desk of a worker: which task an agent gets next, and the session that begins on it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hookline.adapters.blobs import FileBlobs
from hookline.config.claiming import claim_rule
from hookline.config.pipeline import skips_pr
from hookline.domain import sessions
from hookline.domain.moments import later
from hookline.domain.sessions import STANDING, Charge
from hookline.domain.submissions import MERGE, SUBMIT
from hookline.domain.tasks import ACTIVE
from hookline.errors import HooklineError, NothingReady, StaleClaim, StoreError
from hookline.flows.gate_verbs import run_of
from hookline.flows.session_state import LEASE_MARGIN
from hookline.flows.spending import Spending
from hookline.flows.worker import Begun
from hookline.outside import start_session
from hookline.surfaces.cli.session_facts import facts
from hookline.surfaces.cli.session_resume import tell_to_go_on
from hookline.tasks import claims
from hookline.tasks.verbs import Holder, check_holder
from hookline.wiring.work import begin_work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.app import App
    from hookline.domain.tasks import Task
    from hookline.ports.store import Transaction, View
    from hookline.surfaces.cli.session_facts import Facts

# The heartbeat renews it until the session holds the task, so that a killed worker frees it.
FIRST_LEASE = 5.0
# So many ready tasks are looked at first; then as many as anybody looks at.
FIRST_LOOK = 64


class WorkDesk:
    """Claims the best task that one of some agents may take, and starts a session in a worktree.

    A task that cannot be begun is told of once, and then left alone.
    """

    def __init__(
        self,
        app: App,
        agents: Sequence[str],
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
        self._looked_at = ""
        self._beginning: tuple[str, int] | None = None  # a task, and the token of its claim
        self.spending = Spending(self.tasks, after)

    async def begin(self, agents: Sequence[str]) -> Begun | None:
        """A session on the best task, of the first who may take it; None if there is none."""
        while True:
            try:
                task, agent = self._app.change(self._claim, agents)
            except NothingReady:
                return None
            assert task.claim is not None  # just now
            self._beginning = task.id, task.claim.token
            self.tasks.add(task.id)
            try:
                return Begun(await self._start(task, agent), task.id)
            except StaleClaim:  # another worker took it while this one was frozen
                self.tasks.discard(task.id)
            except HooklineError as problem:
                self._release()
                if isinstance(problem, StoreError):  # not the task's fault
                    raise
                self.left.add(task.id)
                self._left_alone(task, problem)
            except BaseException:
                self._release()
                raise
            finally:
                self._beginning = None

    def keep(self, tx: Transaction) -> None:
        """Hold the task that is being begun for longer: a part of the heartbeat."""
        if self._beginning is None:
            return
        task_id, token = self._beginning
        with suppress(HooklineError):  # `_start` finds out that it was lost
            if tx.graph.task(task_id).state != ACTIVE:  # its session does not hold it yet
                claims.renew(tx, task_id, token, FIRST_LEASE)

    def is_held_up(self) -> bool:
        """Whether a task is held for so short a time that it may be ready soon."""
        with self._app.read() as view:
            soon = later(self._app.store.now(), FIRST_LEASE)
            return view.graph.any_lease_ends(self._looked_at, soon)

    def has_more(self) -> bool:
        """Whether there is a task that could be begun."""
        with self._app.read() as view:
            return self._best(view, self._app.store.now(), self._agents) is not None

    def not_for_any_lane(self, view: View) -> list[str]:
        """Ready tasks of the wanted types that none of the agents may take."""
        return [
            task.id
            for task in view.graph.ready(claims.LOOKED_AT, self._app.store.now())
            if self._is_wanted(task.type)
            and not any(self._rule(agent, task.type) for agent in self._agents)
        ]

    def is_settled(self) -> bool:
        """Whether no hook waits that could still make tasks."""
        return not self._app.work_waits()

    def usd(self) -> float:
        """What the tasks have cost until now."""
        with self._app.read() as view:
            return self.spending.usd(view)

    def notice(self, run_id: str, effect_id: str, *, is_done: bool) -> None:
        """A run is advanced here: its task is one that this worker deals with."""
        if is_done and effect_id.startswith(MERGE):  # whoever makes it counts it
            self.merges.add(run_id)
        if run_id not in self._noticed:
            self._noticed.add(run_id)
            with self._app.read() as view:
                run = view.runs.find(run_id)
            if run.flow in (sessions.FLOW, SUBMIT, MERGE):
                self.tasks.add(run.input["taskId"])

    # Choosing

    def _claim(self, tx: Transaction, agents: Sequence[str]) -> tuple[Task, str]:
        self._looked_at = tx.now
        best = self._best(tx, tx.now, agents)
        if best is None:
            raise NothingReady
        task, agent = best
        claims.claim(tx, task.id, agent, FIRST_LEASE, allowed=self._may_take)
        return tx.graph.task(task.id), agent

    def _best(self, view: View, now: str, agents: Sequence[str]) -> tuple[Task, str] | None:
        """The best task that one of these may take, and who takes it."""
        for limit in (FIRST_LOOK, claims.LOOKED_AT):
            ready = view.graph.ready(limit, now)
            for task in ready:
                allowed = [each for each in agents if self._may_take(each, task.type)]
                if allowed and self._is_free(view, task):
                    return task, _best_known(view, task, allowed)
            if len(ready) < limit:
                break
        return None

    def _is_free(self, view: View, task: Task) -> bool:
        """Whether nothing speaks against it: work that a person submitted is not begun again."""
        return task.id not in self.left and run_of(view, task.id) is None

    def _may_take(self, agent: str, task_type: str | None) -> bool:
        return self._is_wanted(task_type) and self._rule(agent, task_type)

    def _is_wanted(self, task_type: str | None) -> bool:
        return self._types is None or task_type in self._types

    def _release(self) -> None:
        assert self._beginning is not None
        task_id, token = self._beginning
        why, holder = "it was not begun", Holder(token=token)
        with suppress(HooklineError):  # then the claim runs out by itself
            self._app.change(lambda tx: claims.release(tx, task_id, reason=why, holder=holder))

    def _check_claim(self, tx: Transaction) -> None:
        assert self._beginning is not None
        task_id, token = self._beginning
        check_holder(tx.graph.task(task_id), Holder(token=token), tx.now)

    # Beginning

    async def _start(self, task: Task, agent: str) -> str:
        app = self._app
        place = await begin_work(app, task.id)
        with app.read() as view:
            stopped = _stopped(view, task, agent)
            name = _free_name(view, f"{task.id}-{agent}")
        if stopped is not None:
            app.change(self._resume, stopped.run_id)
            return stopped.run_id
        part = task.parent_task_id is not None
        charge = Charge(name=name, goal=task.goal, task_id=task.id, agent=agent, part=part)
        charge = charge.in_worktree(place, skip_pr=skips_pr(app.settings, task.type))

        def begin(tx: Transaction) -> Charge:
            self._check_claim(tx)
            return charge

        return start_session(app, begin)

    def _resume(self, tx: Transaction, run_id: str) -> None:
        assert self._beginning is not None
        claims.renew(tx, *self._beginning, LEASE_MARGIN)  # whoever advances the session has it
        tell_to_go_on(tx, run_id, {}, FileBlobs(self._app.project.blobs))


def _best_known(view: View, task: Task, agents: Sequence[str]) -> str:
    """Who goes on with a task that was stopped, else the first."""
    return next((each for each in agents if _stopped(view, task, each)), agents[0])


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
