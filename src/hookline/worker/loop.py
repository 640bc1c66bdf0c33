"""The worker: takes ready tasks, runs sessions on them, and submits and merges the work.

Sessions, submissions and merges are runs; the worker starts sessions as lanes become free, and
advances whatever is due. Leases keep several workers on one project apart.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline.cancelling import end
from hookline.domain.runs import model as runs
from hookline.domain.sessions.model import LIVE, STANDING
from hookline.errors import BadInput, HooklineError, IllegalTransition, StoreLost, Untrusted
from hookline.flows import control
from hookline.flows.outcomes import INTERRUPT
from hookline.pipeline import gate_verbs
from hookline.sessions.verbs import ask_to_stop
from hookline.tasks.task_runs import live_sessions
from hookline.worker.records import Begun

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.domain.runs.model import Run
    from hookline.flows.attempt import Surroundings
    from hookline.flows.engine import Engine
    from hookline.flows.serving import RunServer
    from hookline.ports.store import View
    from hookline.worker.task_picker import TaskPicker

LOOK_AGAIN = 2.0
# After an error that is not a task's fault, such as a full store, nothing starts for this long.
GRACE = 30.0
# A run that wakes within this time is waited for.
SOON = 60.0


MOST_LANES = 64


class WorkBudget(NamedTuple):
    """The limits of a whole worker; None means no limit."""

    tasks: int | None = None
    minutes: float | None = None
    usd: float | None = None


def check_budget(lanes: int, budget: WorkBudget) -> WorkBudget:
    """Refuse numbers that mean nothing, as they are typed for `hookline work`."""
    if not 1 <= lanes <= MOST_LANES:
        raise BadInput(f"--agents must be 1 to {MOST_LANES}")
    if budget.tasks is not None and budget.tasks < 1:
        raise BadInput("--tasks must be at least 1")
    for name, value in (("minutes", budget.minutes), ("usd", budget.usd)):
        if value is not None and not 0 < value < float("inf"):
            raise BadInput(f"--{name} must be more than 0")
    return budget


class Lane(msgspec.Struct):
    """A slot for one session at a time, of the first of its agents that may take the task."""

    agents: tuple[str, ...]
    session: Begun | None = None
    is_asked: bool = False
    begun: int = 0


class Worker:
    """Keeps lanes busy until there is nothing to do, a limit is reached, or it is stopped."""

    def __init__(
        self,
        engine: Engine,
        server: RunServer,
        lanes: Sequence[tuple[str, ...]],
        picker: TaskPicker,
        *,
        budget: WorkBudget | None = None,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._engine, self._server = engine, server
        self._lanes = [Lane(agents) for agents in lanes]
        self._picker = picker
        self._budget = budget or WorkBudget()
        self._tell = tell
        self._began = time.monotonic()
        self._not_before = 0.0
        self._is_asked = False
        self._begun: set[str] = set()
        # Why this host takes nothing new, if it does not.
        self._closed: str | None = None
        self.is_stopping = False
        self.leaves = False
        self.why: str | None = None  # why it was stopped, if not by a person
        self.trouble: Untrusted | None = None  # nothing can start until a person has looked

    async def serve(self, *, once: bool = False) -> None:
        """Work forever, or until nothing is left to do or a limit is reached."""
        self._adopt()
        serving = asyncio.ensure_future(self._server.serve())
        try:
            while True:
                try:
                    self._free_lanes()
                    began = await self._fill_lanes()
                    ends = once or self.is_stopping or self.spent() is not None
                    if ends and not began and self._is_idle():
                        return
                except StoreLost:  # in the middle of a look: nothing was changed
                    continue
                if serving.done():
                    serving.result()
                await self._engine.wakeup.wait(LOOK_AGAIN)
        finally:
            await end(serving)

    @property
    def begun(self) -> int:
        """How many tasks it has started; one that was started twice counts once."""
        return len(self._begun)

    def spent(self) -> str | None:
        """Which limit of the worker is reached."""
        budget = self._budget
        if budget.tasks is not None and self.begun >= budget.tasks:
            return "tasks"
        if budget.minutes is not None and time.monotonic() - self._began >= budget.minutes * 60:
            return "minutes"
        return "usd" if self.money_spent() else None

    def money_spent(self) -> str | None:
        """The message that this worker's budget is spent; None if it is not."""
        usd = self._budget.usd
        if usd is None or self._picker.usd() < usd:
            return None
        return f"the budget of ${usd:.2f} (`hookline work --usd`) is spent"

    def kept_from(self) -> str | None:
        """The limit that keeps this worker from tasks that it could start."""
        limit = self.spent()
        if limit is None:
            return None
        return limit if self._picker.has_more() or self._is_unpaid(limit) else None

    def _is_unpaid(self, limit: str) -> bool:
        """Whether work that was begun waits for money."""
        if limit != "usd":
            return False
        with self._engine.store.read() as view:
            return any(
                gate_verbs.waits_for_money(view, each) for each in gate_verbs.open_runs(view)
            )

    def stop(self, *, now: bool = False, ending: str | None = None) -> None:
        """Start nothing more, and stop the agents: after their turns, or now."""
        self.is_stopping = True
        self.leaves = self.leaves or now
        self.why = self.why or ending
        self._ask_to_end()

    def _ask_to_end(self) -> None:
        self._is_asked = True
        for lane in [each for each in self._lanes if each.session]:
            assert lane.session is not None
            with suppress(IllegalTransition):  # it has just ended
                if not lane.is_asked:
                    self._engine.change(ask_to_stop, lane.session.run_id, self.why)
                    lane.is_asked = True
                if self.leaves:
                    self._engine.change(control.send, lane.session.run_id, INTERRUPT, {})

    # Lanes

    def _adopt(self) -> None:
        """Give lanes to sessions whose worker is gone, which resume.

        Submissions that a person interrupted resume too: the worker should finish them.
        """
        with self._engine.store.read() as view:
            submissions = gate_verbs.open_runs(view)
            stopped = [each for each in submissions if gate_verbs.is_interrupted(view, each)]
            waiting = [each for each in submissions if _waits_for_turn(view, each)]
            left = {run.run_id: run for run in _live_sessions(view)}
            ours = self._picker.choice.admission.admits(view, list(left))
            for run in map(left.__getitem__, ours):
                if not self._is_held(view, run.run_id):
                    task_id: str = run.input["taskId"]
                    self._picker.tasks.add(task_id)
                    self._take_lane(Begun(run.run_id, task_id), run.input.get("agent"))
        for run in stopped:
            self._engine.change(gate_verbs.wake, run.run_id)
        for run in waiting:  # this worker may have more money, and agents that were repaired
            self._engine.change(gate_verbs.ask_again, run.run_id)

    def _take_lane(self, session: Begun, agent: str | None) -> None:
        free = self._free()
        fitting = [lane for lane in free if lane.agents[0] == agent]
        for lane in (fitting or free)[:1]:
            lane.session = session
            lane.begun += 1

    def _free(self) -> list[Lane]:
        """Lanes without a session; those with the fewest so far come first, to share the work."""
        free = [lane for lane in self._lanes if lane.session is None]
        return sorted(free, key=lambda lane: lane.begun)

    def _free_lanes(self) -> None:
        with self._engine.store.read() as view:
            busy = [each for each in self._lanes if each.session]
            for lane in busy:  # before its task, which is free again, is given to another lane
                assert lane.session is not None
                self._picker.note_end(view, lane.session.run_id)
            over = [each for each in busy if self._is_over(view, each)]
        for lane in over:
            lane.session, lane.is_asked = None, False

    def _is_over(self, view: View, lane: Lane) -> bool:
        assert lane.session is not None
        run = view.runs.find(lane.session.run_id)
        if run.status in runs.TERMINAL:
            return True
        if self._is_held(view, run.run_id) or run.wake_at is not None:
            return False
        # It waits for a person: it was stopped or paused, or something it needs is missing.
        return run.status != runs.RUNNING or view.runs.value(run.run_id, STANDING) != LIVE

    async def _fill_lanes(self) -> bool:
        await self._check_configuration()
        limit = self.spent()
        if limit in ("minutes", "usd") and not self._is_asked:
            self.why = f"the limit of {limit} is reached"
            self._tell(f"{self.why}; stopping after these turns")
            self._ask_to_end()
        self._follow_orders()
        began = False
        for lane in self._free():
            if self._may_begin():
                began = await self._fill(lane) or began
        return began

    def _follow_orders(self) -> None:
        """Take nothing new while people want this host to be another one, or drained."""
        with self._engine.store.read() as view:
            why = self._picker.choice.admission.why_nothing(view)
        if why != self._closed:
            self._closed = why
            self._tell(f"taking nothing new: {why}" if why else "taking tasks again")

    async def _check_configuration(self) -> None:
        """Start nothing with old settings once merged work has changed them."""
        around = self._engine.executor.around
        if self.trouble is None and not around.is_current() and self._picker.has_more():
            self.trouble = await _old_settings(around)
            self.stop()

    def _may_begin(self) -> bool:
        is_time = time.monotonic() >= self._not_before and self._closed is None
        return is_time and not self.is_stopping and self.spent() is None

    async def _fill(self, lane: Lane) -> bool:
        try:
            await self._engine.executor.around.verify()
            lane.session = await self._picker.begin(lane.agents)
        except Untrusted as problem:
            self.trouble = problem
            self.stop()
            return False
        except StoreLost:
            raise
        except HooklineError as problem:
            self._tell(f"no task was started: {problem.message}")
            self._not_before = time.monotonic() + GRACE
            return False
        if lane.session is None:
            return False
        self._begun.add(lane.session.task_id)
        lane.begun += 1
        if self._is_asked:  # meanwhile
            self._ask_to_end()
        return True

    # Whether something is left to do

    def _is_idle(self) -> bool:
        """Whether no agent is working, and no run can continue without help."""
        if any(lane.session for lane in self._lanes):
            return False
        if self.is_stopping:  # gates can be asked again; an agent's turn cannot be repeated
            return self.leaves or not self._agents_fix()
        if self._server.busy or not self._picker.is_settled():
            return False
        if self._may_begin() and self._picker.is_held_up():
            return False
        with self._engine.store.read() as view:
            now = view.time()
            found = view.runs.leases.due(now, self._engine.owner.is_free)
            due = self._picker.choice.admission.could(view, found)
            return not due and not _goes_on(view, now) and not self._others_work(view)

    def _agents_fix(self) -> bool:
        with self._engine.store.read() as view:
            ours = (each for each in gate_verbs.open_runs(view) if self._is_ours(view, each.run_id))
            return any(effect.kind == "agent" for run in ours for effect in view.runs.pending(run))

    def _others_work(self, view: View) -> bool:
        """Whether another worker is busy: what it finishes may make tasks ready."""
        submissions = [run.run_id for run in gate_verbs.open_runs(view)]
        at_work = [run.run_id for run in _live_sessions(view)]
        return any(self._is_held(view, run_id) for run_id in (*at_work, *submissions))

    def _is_held(self, view: View, run_id: str) -> bool:
        """Whether a living process advances a run."""
        return self._is_ours(view, run_id) or self._engine.owner.is_elsewhere(view, run_id)

    def _is_ours(self, view: View, run_id: str) -> bool:
        return view.runs.leases.holder(run_id)[0] == self._engine.owner.name


async def _old_settings(around: Surroundings) -> Untrusted:
    try:
        await around.verify()
    except Untrusted as problem:
        return problem
    help = "start it again; unfinished work is kept"
    why = "hookline.yaml changed and you trusted it: this worker still has the old one"
    return Untrusted(why, help=help)


def _waits_for_turn(view: View, run: Run) -> bool:
    """Whether a run waits for money, or for an agent that could not work."""
    return gate_verbs.waits_for_money(view, run) or gate_verbs.waits_for_agent(view, run)


def _live_sessions(view: View) -> list[Run]:
    """Whether a session is a worker's: those of `hookline run` have no branch."""
    own = [run for run in live_sessions(view) if run.input.get("branch")]
    return [run for run in own if view.runs.value(run.run_id, STANDING) == LIVE]


def _goes_on(view: View, now: float) -> bool:
    """Whether a run wakes soon enough to wait for it."""
    wake = view.runs.leases.next_wake(now)
    return wake is not None and wake - now < SOON
