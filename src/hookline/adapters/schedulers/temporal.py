"""Runs under Temporal: one workflow for each, which calls `advance` on one of the hosts.

The store says what is due. Workers that it wakes tell the workflow of a run, or begin it; so
commands that start, answer or post need no server, and what was told to nobody is found later.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from hookline.adapters.temporal.answers import HELD, NOT_HERE, Answer, answer
from hookline.cancelling import end
from hookline.domain.runs.due import SET_BACK, is_due
from hookline.domain.runs.model import TERMINAL, UnknownRun
from hookline.domain.timestamps import iso
from hookline.domain.work.repository import SetupProblem
from hookline.errors import BadInput, SchedulerError, SchedulerUnreachable, StoreLost
from hookline.ports.schedulers import Done

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from hookline.adapters.temporal.client import TemporalClient
    from hookline.adapters.temporal.worker import WorkerThread
    from hookline.ports.schedulers import Advance, Parked, SchedulerSite
    from hookline.ports.store import View

T = TypeVar("T")

IDLE = 2.0
# When the timer of a workflow should have come, but nobody advances the run.
LATE = 3.0
# A run that is still due after so long is reported again, in case its workflow is gone.
TELL_AGAIN = 5.0
AT_ONCE = 16


def open_scheduler(site: SchedulerSite) -> TemporalScheduler:
    """The scheduler of a project; BadInput if what it needs is not installed."""
    _require()
    return TemporalScheduler(site)


async def problems(site: SchedulerSite) -> Sequence[SetupProblem]:
    """What is missing at the server."""
    try:
        _require()
        from hookline.adapters.temporal.checks import look  # loads temporalio

        return await look(site)
    except (BadInput, SchedulerError) as problem:
        return [SetupProblem(problem.code, problem.message, problem.help or "", blocks=True)]


def _require() -> None:
    try:
        import temporalio  # noqa: F401
    except ImportError:
        help = "pip install 'hookline[temporal]'"
        raise BadInput("the scheduler `temporal` needs temporalio", help=help) from None


class DueRun(NamedTuple):
    """A run to report; `token` tells this time apart from others."""

    run_id: str
    flow: str
    token: int
    home: str | None


class TemporalScheduler:
    """Has the runs of a store advanced by way of a Temporal server."""

    def __init__(self, site: SchedulerSite) -> None:
        self._site, self._store = site, site.store
        self._told: dict[str, tuple[int, float]] = {}
        self._busy: dict[str, asyncio.Task[Any]] = {}
        self._failed: asyncio.Future[None] | None = None
        self._advance: Advance | None = None
        self._is_away = False
        self._thread: WorkerThread | None = None
        self._client: TemporalClient | None = None

    async def serve(self, advance: Advance) -> None:
        """Work for the server, and tell it what is due, until it is cancelled."""
        from hookline.adapters.temporal.worker import EngineCalls, WorkerThread  # loads temporalio

        self._advance, self._failed = advance, asyncio.get_running_loop().create_future()
        self._thread = WorkerThread(self._site, EngineCalls(self._advance_due, self._cancel))
        try:
            self._client = await self._thread.start()
            await self._refuse_strangers()
            sweeping = asyncio.ensure_future(self._sweep())
            watched: set[asyncio.Future[None]] = {sweeping, self._failed, self._thread.over()}
            try:
                await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
                for each in watched:
                    if each.done():
                        each.result()
            finally:
                await end(sweeping)
        finally:
            await self._thread.stop()
            self._thread = self._client = None
            await end(*self._busy.values())

    async def nudge(self, run_id: str) -> None:
        """Have some host look at a run; its workflow is begun if there is none."""
        with self._store.read() as view:
            due = self._described(view, run_id)
        await self._tell(due, f"{run_id}:{due.token}:{time.time_ns()}")

    async def forget(self, run_id: str) -> None:
        """Have the workflow of a run that is over end."""
        await self._ask(lambda client: client.remind(run_id))

    # What the workflows ask for, in the event loop of the engine

    async def _advance_due(self, run_id: str) -> Answer:
        """What became of a run."""
        assert self._advance is not None
        if run_id in self._busy:
            return HELD
        task = asyncio.current_task()
        assert task is not None
        self._busy[run_id] = task
        try:
            with self._store.read() as view:
                waits = self._without_advance(view, run_id)
            return waits if waits is not None else self._answer(await self._advance(run_id))
        except (StoreLost, UnknownRun):
            return HELD
        except Exception as problem:  # noqa: BLE001  # it is raised by `serve`
            self._fail(problem)
            return HELD
        finally:
            del self._busy[run_id]

    def _without_advance(self, view: View, run_id: str) -> Answer | None:
        """What is known of a run that is not to be advanced here."""
        run, now = view.runs.find(run_id), view.time()
        if run.status in TERMINAL:
            return answer(run.status, done=True)
        if not is_due(run, now):
            wait = None if run.wake_at is None else max(0.0, run.wake_at - now)
            return answer(run.status, wait)
        holder, _, until = view.runs.leases.holder(run_id)
        if holder is not None and not self._site.is_free(holder, until):
            return HELD
        return None if self._site.admits(view, [run_id]) else NOT_HERE

    def _answer(self, result: Done | Parked) -> Answer:
        if isinstance(result, Done):
            return answer(result.status, done=True)
        if result.held:
            return HELD
        wait = None if result.until is None else max(0.0, result.until - self._store.time())
        status = "waits for a person" if result.needs_person else "parked"
        return answer(status, wait)

    async def _cancel(self, run_id: str) -> None:
        self._site.cancel(run_id)

    def _fail(self, problem: Exception) -> None:
        if self._failed is not None and not self._failed.done():
            self._failed.set_exception(problem)

    # What the server is told

    async def _sweep(self) -> None:
        """Report what is due as the store wakes us; and runs that ended by hand."""
        await self._remind_ended()
        with self._store.read() as view:
            place = view.log.last()
        while True:
            with suppress(StoreLost):
                place = await self._look(place)
            if self._is_away:
                await asyncio.sleep(IDLE)
            await self._site.wakeup.wait(IDLE)

    async def _look(self, place: int) -> int:
        with self._store.read() as view:
            due = self._due(view)
            ended = view.log.events(after=place, types=("run_cancelled",))
        gate = asyncio.Semaphore(AT_ONCE)

        async def tell(each: DueRun) -> None:
            async with gate:
                await self._tell(each, f"{each.run_id}:{each.token}")
                self._told[each.run_id] = each.token, time.monotonic()

        try:
            await asyncio.gather(*(tell(each) for each in due))
            for event in ended:
                self._told.pop(event.node_id, None)
                await self.forget(event.node_id)
                place = event.seq
        except SchedulerUnreachable as problem:
            if not self._is_away:
                self._is_away = True
                self._site.tell(f"{problem.message}; what is under way continues, the rest waits")
            return place
        if self._is_away:
            self._is_away = False
            self._site.tell("the Temporal server answers again")
        return place

    def _due(self, view: View) -> list[DueRun]:
        """What is due and held by nobody, and has not been reported."""
        leases, now, free = view.runs.leases, view.time(), self._site.is_free
        found = [self._described(view, each) for each in leases.due(now, free)]
        found += [
            self._described(view, each)
            for each in leases.parked_later(now, iso(now + SET_BACK), free)
        ]
        # Our own leases are free to us.
        others = [each for each in found if each.run_id not in self._busy]
        return [each for each in others if self._is_new(view, each, now)]

    def _is_new(self, view: View, due: DueRun, now: float) -> bool:
        token, at = self._told.get(due.run_id, (None, 0.0))
        if token == due.token:
            return time.monotonic() > at + TELL_AGAIN
        wake_at = view.runs.find(due.run_id).wake_at
        # The workflow's own timer comes first.
        return not wake_at or now > wake_at + LATE or wake_at > now

    def _described(self, view: View, run_id: str) -> DueRun:
        run = view.runs.find(run_id)
        _, token, _ = view.runs.leases.holder(run_id)
        return DueRun(run_id, run.flow, token, self._site.home_of(view, run))

    async def _tell(self, due: DueRun, key: str) -> None:
        await self._ask(lambda client: client.look(due.run_id, due.flow, due.home, key))

    async def _ask(self, ask: Callable[[TemporalClient], Coroutine[Any, Any, T]]) -> T:
        """Ask the server; SchedulerError if it does not answer well."""
        from hookline.adapters.temporal.client import asked, connected  # loads temporalio

        if self._thread is not None and self._client is not None:
            return await self._thread.call(asked(self._site, ask(self._client)))
        return await asked(self._site, ask(await connected(self._site)))

    async def _remind_ended(self) -> None:
        """Have the workflows end whose runs did while nobody served."""
        for run_id in await self._ask(lambda client: client.open_runs()):
            with self._store.read() as view, suppress(UnknownRun):
                if view.runs.find(run_id).status not in TERMINAL:
                    continue
            await self.forget(run_id)

    async def _refuse_strangers(self) -> None:
        """Two projects in one queue would take each other's runs."""
        if found := await self._ask(lambda client: client.strangers()):
            raise SchedulerError(
                f"the task queue '{self._site.settings.task_queue}' has runs of another project"
                f" ({found[0]})",
                help="give each project its own `task_queue`, or leave it out",
            )
