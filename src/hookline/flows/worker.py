"""The worker: takes ready tasks, lets agents work on them, and sees everything to its end.

Sessions, submissions and merges are runs; the worker starts sessions as lanes become free, and
advances whatever is due. Leases keep several workers on one project apart.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from hookline.domain import runs
from hookline.domain.sessions import LIVE, STANDING
from hookline.domain.submissions import MERGE, SUBMIT
from hookline.errors import HooklineError, IllegalTransition, Untrusted
from hookline.flows import control, gate_verbs
from hookline.flows.outcomes import INTERRUPT
from hookline.flows.session_verbs import ask_to_stop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.domain.runs import Run
    from hookline.flows.effects import Surroundings
    from hookline.flows.engine import Engine
    from hookline.flows.runner import Runner
    from hookline.ports.store import View

LOOK_AGAIN = 2.0
# After an error that is no task's fault, as of a full store, nothing is begun for so long.
GRACE = 30.0
# What wakes by itself within this time is waited for.
SOON = 60.0


class Budget(NamedTuple):
    """The limits of a whole run of a worker; None is no limit."""

    tasks: int | None = None
    minutes: float | None = None
    usd: float | None = None


class Begun(NamedTuple):
    """A session on a task."""

    run_id: str
    task_id: str


class Lane(msgspec.Struct):
    """A place for one session at a time, of the first of its agents that may take the task."""

    agents: tuple[str, ...]
    session: Begun | None = None
    is_asked: bool = False
    begun: int = 0


class Desk(Protocol):
    """Where a worker gets its tasks, and what they cost. `tasks` are those that it deals with."""

    tasks: set[str]

    async def begin(self, agents: Sequence[str]) -> Begun | None:
        """Claim the best task that one of these may take, and start its session.

        None if there is none. Of several who may take it the first does.
        """
        ...

    def has_more(self) -> bool:
        """Whether there is a task that could be begun."""
        ...

    def is_held_up(self) -> bool:
        """Whether a task is held for so short a time that it may be ready soon."""
        ...

    def is_settled(self) -> bool:
        """Whether no hook waits that could still make tasks."""
        ...

    def usd(self) -> float:
        """What the tasks have cost until now."""
        ...


class Worker:
    """Keeps lanes busy until there is nothing to do, a limit is reached, or it is stopped."""

    def __init__(
        self,
        engine: Engine,
        runner: Runner,
        lanes: Sequence[tuple[str, ...]],
        desk: Desk,
        *,
        budget: Budget | None = None,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._engine = engine
        self._runner = runner
        self._lanes = [Lane(agents) for agents in lanes]
        self._desk = desk
        self._budget = budget or Budget()
        self._tell = tell
        self._began = time.monotonic()
        self._not_before = 0.0
        self._is_asked = False
        self.begun = 0
        self.is_stopping = False
        self.leaves = False
        self.why: str | None = None  # by what it was stopped, if not by a person
        self.trouble: Untrusted | None = None  # nothing can be begun until a person has looked

    async def serve(self, *, once: bool = False) -> None:
        """Work for ever, or until nothing is left to do or a limit is reached."""
        self._adopt()
        serving = asyncio.ensure_future(self._runner.serve())
        try:
            while True:
                self._free_lanes()
                began = await self._fill_lanes()
                ends = once or self.is_stopping or self.spent() is not None
                if ends and not began and self._is_idle():
                    return
                if serving.done():
                    serving.result()
                await self._engine.wakeup.wait(LOOK_AGAIN)
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    def spent(self) -> str | None:
        """Which limit of the whole run is reached."""
        budget = self._budget
        if budget.tasks is not None and self.begun >= budget.tasks:
            return "tasks"
        if budget.minutes is not None and time.monotonic() - self._began >= budget.minutes * 60:
            return "minutes"
        return "usd" if self.money_spent() else None

    def money_spent(self) -> str | None:
        """That all the money of this run is spent, in words."""
        usd = self._budget.usd
        if usd is None or self._desk.usd() < usd:
            return None
        return f"the ${usd:.2f} of `hookline work --usd` are spent"

    def kept_from(self) -> str | None:
        """The limit that keeps this worker from tasks that it could begin."""
        limit = self.spent()
        return limit if limit is not None and self._desk.has_more() else None

    def stop(self, *, now: bool = False, ending: str | None = None) -> None:
        """Begin nothing more, and end what agents do: after their turns, or now."""
        self.is_stopping = True
        self.leaves = self.leaves or now
        self.why = self.why or ending
        self._ask_to_end()

    def _ask_to_end(self) -> None:
        self._is_asked = True
        for lane in [each for each in self._lanes if each.session]:
            assert lane.session is not None
            with suppress(IllegalTransition):  # it has just ended by itself
                if not lane.is_asked:
                    self._engine.change(ask_to_stop, lane.session.run_id, self.why)
                    lane.is_asked = True
                if self.leaves:
                    self._engine.change(control.send, lane.session.run_id, INTERRUPT, {})

    # Lanes

    def _adopt(self) -> None:
        """Sessions whose worker is gone take lanes again: they go on by themselves.

        So do submissions that a person interrupted before: whoever starts a worker wants them done.
        """
        with self._engine.store.read() as view:
            stopped = [each for each in _open_submissions(view) if gate_verbs.is_interrupted(each)]
            for run in _live_sessions(view):
                if not self._is_held(view, run.run_id):
                    task_id: str = run.input["taskId"]
                    self._desk.tasks.add(task_id)
                    self._take_lane(Begun(run.run_id, task_id), run.input.get("agent"))
        for run in stopped:
            self._engine.change(gate_verbs.wake, run.run_id)

    def _take_lane(self, session: Begun, agent: str | None) -> None:
        free = self._free()
        fitting = [lane for lane in free if lane.agents[0] == agent]
        for lane in (fitting or free)[:1]:
            lane.session = session
            lane.begun += 1

    def _free(self) -> list[Lane]:
        """Lanes without a session, those first that had the fewest, so that all share the work."""
        free = [lane for lane in self._lanes if lane.session is None]
        return sorted(free, key=lambda lane: lane.begun)

    def _free_lanes(self) -> None:
        with self._engine.store.read() as view:
            over = [each for each in self._lanes if each.session and self._is_over(view, each)]
        for lane in over:
            lane.session, lane.is_asked = None, False

    def _is_over(self, view: View, lane: Lane) -> bool:
        assert lane.session is not None
        run = view.runs.find(lane.session.run_id)
        if run.status in runs.TERMINAL:
            return True
        if self._is_held(view, run.run_id) or run.wake_at is not None:
            return False
        # It waits for a person: it was stopped or paused, or something it needs is not there.
        return run.status != runs.RUNNING or view.runs.value(run.run_id, STANDING) != LIVE

    async def _fill_lanes(self) -> bool:
        await self._check_configuration()
        limit = self.spent()
        if limit in ("minutes", "usd") and not self._is_asked:
            self.why = f"the limit of {limit} is reached"
            self._tell(f"{self.why}; stopping after these turns")
            self._ask_to_end()
        began = False
        for lane in self._free():
            if self._may_begin():
                began = await self._fill(lane) or began
        return began

    async def _check_configuration(self) -> None:
        """Begin nothing with settings of before, once merged work has brought others."""
        around = self._engine.executor.around
        if self.trouble is None and not around.is_current() and self._desk.has_more():
            self.trouble = await _old_settings(around)
            self.stop()

    def _may_begin(self) -> bool:
        is_time = time.monotonic() >= self._not_before
        return is_time and not self.is_stopping and self.spent() is None

    async def _fill(self, lane: Lane) -> bool:
        try:
            await self._engine.executor.around.verify()
            lane.session = await self._desk.begin(lane.agents)
        except Untrusted as problem:
            self.trouble = problem
            self.stop()
            return False
        except HooklineError as problem:
            self._tell(f"no task was begun: {problem.message}")
            self._not_before = time.monotonic() + GRACE
            return False
        if lane.session is None:
            return False
        self.begun += 1
        lane.begun += 1
        if self._is_asked:  # meanwhile
            self._ask_to_end()
        return True

    # Whether something is left to do

    def _is_idle(self) -> bool:
        """Whether no agent is at work, and nothing has anything to do by itself."""
        if any(lane.session for lane in self._lanes):
            return False
        if self.is_stopping:  # what gates do is made again; what an agent does cannot be
            return self.leaves or not self._agents_fix()
        if self._runner.busy or not self._desk.is_settled():
            return False
        if self._may_begin() and self._desk.is_held_up():
            return False
        with self._engine.store.read() as view:
            now = time.time()
            due = view.runs.due(now, self._engine.owner.is_free)
            return not due and not _goes_on(view, now) and not self._others_work(view)

    def _agents_fix(self) -> bool:
        with self._engine.store.read() as view:
            return any(
                effect.kind == "agent" and self._is_ours(view, run.run_id)
                for run in _open_submissions(view)
                for effect in view.runs.pending(run)
            )

    def _others_work(self, view: View) -> bool:
        """Whether another worker is busy: what it finishes may make tasks ready."""
        submissions = [run.run_id for run in _open_submissions(view)]
        at_work = [run.run_id for run in _live_sessions(view)]
        return any(self._is_held(view, run_id) for run_id in (*at_work, *submissions))

    def _is_held(self, view: View, run_id: str) -> bool:
        """Whether a living process advances a run."""
        holder, _, until = view.runs.holder(run_id)
        if holder is None:
            return False
        return holder == self._engine.owner.name or not self._engine.owner.is_free(holder, until)

    def _is_ours(self, view: View, run_id: str) -> bool:
        return view.runs.holder(run_id)[0] == self._engine.owner.name


async def _old_settings(around: Surroundings) -> Untrusted:
    try:
        await around.verify()
    except Untrusted as problem:
        return problem
    return Untrusted(
        "hookline.yaml changed, as you trusted it: this worker began with another one",
        help="start it again; what was under way is kept",
    )


def _live_sessions(view: View) -> list[Run]:
    """Sessions of workers: those of `hookline run` work on no branch of their own."""
    found = [view.runs.find(run_id) for run_id in view.sessions.live()]
    return [
        run
        for run in found
        if run.input.get("branch") and view.runs.value(run.run_id, STANDING) == LIVE
    ]


def _open_submissions(view: View) -> list[Run]:
    return [run for flow in (SUBMIT, MERGE) for run in gate_verbs.open_runs(view, flow)]


def _goes_on(view: View, now: float) -> bool:
    """Whether something wakes by itself soon enough to be waited for."""
    wake = view.runs.next_wake(now)
    return wake is not None and wake - now < SOON
