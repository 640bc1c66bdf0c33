"""Takes tasks for a worker: claims one for an agent, and starts its session."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hookline.config.task_types import skips_pr
from hookline.domain.sessions.model import FLOW, SessionInput
from hookline.domain.tasks import ACTIVE, Task
from hookline.domain.timestamps import later
from hookline.domain.work.submissions import MERGE, SUBMIT
from hookline.errors import HooklineError, NothingReady, StaleClaim, StoreError
from hookline.operations.sessions.resume import tell_to_go_on
from hookline.operations.sessions.start import start_session
from hookline.sessions.spending import Spending
from hookline.sessions.state import LEASE_MARGIN
from hookline.tasks import claims, planned, verbs
from hookline.wiring.working.work import begin_work
from hookline.worker.agent_sessions import free_name, stopped
from hookline.worker.records import Begun
from hookline.worker.task_choice import TaskChoice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.ports.store import Transaction, View

# The heartbeat renews it until the session holds the task, so that a killed worker frees it.
FIRST_LEASE = 5.0


class TaskPicker:
    """Claims the best task that one of some agents may take, and starts its session in a worktree.

    A task that cannot be started is reported once, and then left alone. `tasks` are those that the
    worker deals with.
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
        self.merges: set[str] = set()
        self._app = app
        self._left_alone = left_alone
        self._noticed: set[str] = set()
        self._looked_at = ""
        self._beginning: tuple[str, int] | None = None  # a task, and the token of its claim
        self.choice = TaskChoice(app, agents, types, self._is_ours)
        self.spending = Spending(self.tasks, after)

    async def begin(self, agents: Sequence[str]) -> Begun | None:
        """A session of the first agent that may take the best task; None if there is none."""
        while True:
            try:
                task, agent = self._app.change(self._claim, agents)
            except NothingReady:
                return None
            assert task.claim is not None  # claimed just now
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
                self.choice.left.add(task.id)
                self._left_alone(task, problem)
            except BaseException:
                self._release()
                raise
            finally:
                self._beginning = None

    def keep(self) -> Callable[[Transaction], None] | None:
        """What renews the claim on the task that is being started: a part of the heartbeat."""
        if self._beginning is None:
            return None
        task_id, token = self._beginning

        def renew(tx: Transaction) -> None:
            with suppress(HooklineError):  # `_start` notices that it was lost
                if tx.graph.task(task_id).state != ACTIVE:  # its session does not hold it yet
                    claims.renew(tx, task_id, token, FIRST_LEASE)

        return renew

    def is_held_up(self) -> bool:
        """Whether a task is held for so short a time that it may be ready soon."""
        if self.choice.is_one_left:
            return True
        with self._app.read() as view:
            soon = later(self._app.store.now(), FIRST_LEASE)
            return view.graph.any_lease_ends(self._looked_at, soon)

    def has_more(self) -> bool:
        """Whether there is a task that could be started."""
        with self._app.read() as view:
            return self.choice.best(view, self._app.store.now()) is not None

    def is_settled(self) -> bool:
        """Whether no hook is waiting that could still add tasks."""
        return not self._app.work_waits()

    def usd(self) -> float:
        """What the tasks have cost so far."""
        with self._app.read() as view:
            return self.spending.usd(view)

    def note_end(self, view: View, run_id: str) -> None:
        """A session may be over: see whether its agent cannot work, and if others here can."""
        if self.choice.unable.note(view, run_id) and self.choice.offered is not None:
            self.choice.offered.look_again()

    def notice(self, run_id: str, effect_id: str, *, is_done: bool) -> None:
        """Note that a run is advanced here: this worker deals with its task."""
        if is_done and effect_id.startswith(MERGE):  # the process that merges counts it
            self.merges.add(run_id)
        if run_id not in self._noticed:
            self._noticed.add(run_id)
            with self._app.read() as view:
                run = view.runs.find(run_id)
            if run.flow in (FLOW, SUBMIT, MERGE):
                self.tasks.add(run.input["taskId"])

    # Choosing

    def _claim(self, tx: Transaction, agents: Sequence[str]) -> tuple[Task, str]:
        self._looked_at = tx.now
        best = self.choice.best(tx, tx.now, agents)
        if best is None:
            raise NothingReady
        task, agent = best
        claims.claim(tx, task.id, agent, FIRST_LEASE, allowed=self.choice.may_take)
        return tx.graph.task(task.id), agent

    def _is_ours(self, run: Run) -> bool:
        """Whether this worker deals with a run."""
        return run.run_id in self._noticed or run.input.get("taskId") in self.tasks

    def _release(self) -> None:
        assert self._beginning is not None
        task_id, token = self._beginning
        why, holder = "it was not started", verbs.Holder(token=token)
        with suppress(HooklineError):  # then the claim expires
            self._app.change(lambda tx: claims.release(tx, task_id, reason=why, holder=holder))

    def _check_claim(self, tx: Transaction) -> None:
        assert self._beginning is not None
        task_id, token = self._beginning
        verbs.check_holder(tx.graph.task(task_id), verbs.Holder(token=token), tx.now)

    # Starting

    async def _start(self, task: Task, agent: str) -> str:
        app = self._app
        place = await begin_work(app, task.id)
        with app.read() as view:
            earlier = stopped(view, task, agent)
            name = free_name(view, f"{task.id}-{agent}")
            part = planned.needs_no_plan(view, task)
        if earlier is not None:
            app.change(self._resume, earlier.run_id)
            return earlier.run_id
        given = SessionInput(name=name, goal=task.goal, task_id=task.id, agent=agent, part=part)
        skip_pr = skips_pr(app.settings, task.type)
        given = given.in_worktree(app.project.root, place, skip_pr=skip_pr)

        def begin(tx: Transaction) -> SessionInput:
            self._check_claim(tx)
            return given

        return start_session(app, begin)

    def _resume(self, tx: Transaction, run_id: str) -> None:
        assert self._beginning is not None
        claims.renew(tx, *self._beginning, LEASE_MARGIN)  # for who advances the session
        tell_to_go_on(tx, run_id, {}, self._app.blobs)
