"""Schedulers: they have runs advanced when there is something to do, and only then."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from hookline.app import App
from hookline.config.types import SchedulerSection
from hookline.domain.runs.model import OK, Resolution
from hookline.errors import StoreCorrupt
from hookline.flows import control, journal
from hookline.flows.definitions.finder import FlowDefinition
from hookline.flows.serving import RunServer
from hookline.wiring.running.engine import engine
from hookline.wiring.running.schedulers import site_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from hookline.domain.runs.model import Run
    from hookline.flows.context import Context
    from hookline.ports.schedulers import Done, Parked, Scheduler, SchedulerSite
    from hookline.ports.store import Transaction

# Only what hangs takes so long.
PATIENCE = 100.0


async def works(ctx: Context) -> Any:
    return await ctx.run("true", id="one")


async def naps(ctx: Context) -> Any:
    return await ctx.sleep(0.3)


async def asks(ctx: Context) -> Any:
    return await ctx.breakpoint("Well?", id="ask")


async def listens(ctx: Context) -> Any:
    return await ctx.signal("news")


async def toils(ctx: Context) -> Any:
    return await ctx.run("while [ ! -e over ]; do sleep 0.05; done", id="long")


FLOWS = {each.__name__: each for each in (works, naps, asks, listens, toils)}


class RunPlace:
    """A project of which one process has the runs advanced by a scheduler."""

    def __init__(self, folder: Path, **environ: str) -> None:
        self.root = folder / "project"
        (self.root / ".hookline").mkdir(parents=True)
        home = str(folder / "home")
        self._env = {"HOOKLINE_HOME": home, "PATH": os.environ["PATH"], **environ}
        self._opened: list[App] = []
        self.app = self.another()
        self.engine = engine(self.app)
        self.engine.find_flow = _find
        self.advanced = Counter[str]()
        self.serving: asyncio.Future[int] | None = None
        self._advance = self.engine.advance
        vars(self.engine)["advance"] = self._counted

    def another(self) -> App:
        """The same project, as another process has it open."""
        app = App.open(str(self.root), environ=self._env)
        self._opened.append(app)
        return app

    def site(self, settings: SchedulerSection) -> SchedulerSite:
        """What the scheduler is given."""
        wakeup = self.engine.wakeup
        return site_of(self.app, settings, wakeup, lambda view, due: due, lambda line: None)

    async def _counted(self, run_id: str) -> Done | Parked:
        self.advanced[run_id] += 1
        return await self._advance(run_id)

    def close(self) -> None:
        """Let go of every store."""
        for app in self._opened:
            app.close()

    def start(self, flow: Callable[[Context], Any]) -> str:
        """A new run."""
        run_id: str = self.app.change(journal.start, flow.__name__, {}, {}, code_digest="")
        return run_id

    def run(self, run_id: str) -> Run:
        """A run as it is now."""
        with self.app.read() as view:
            return view.runs.find(run_id)

    async def until(self, run_id: str, status: str) -> Run:
        """Wait until a run has a status, and nobody holds it."""
        await self._eventually(lambda: self._is(run_id, status))
        return self.run(run_id)

    async def until_held(self, run_id: str) -> None:
        """Wait until the program of a run was started."""
        await self._eventually(lambda: self._is_begun(run_id))

    async def _eventually(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                assert self.serving is None or not self.serving.done(), self.serving
                await asyncio.sleep(0.01)

    def _is_begun(self, run_id: str) -> bool:
        with self.app.read() as view:
            return any(each.child for each in view.runs.pending(view.runs.find(run_id)))

    def _is(self, run_id: str, status: str) -> bool:
        with self.app.read() as view:
            is_held = view.runs.leases.holder(run_id)[0] is not None
            return view.runs.find(run_id).status == status and not is_held


def _find(run: Run) -> FlowDefinition:
    return FlowDefinition(run.flow, "test", "", lambda ctx, run: FLOWS[run.flow](ctx))


class SchedulerContract:
    """What every scheduler does, for runs of a real engine; override `open_scheduler`."""

    settings = SchedulerSection()

    def open_scheduler(self, site: SchedulerSite) -> Scheduler:
        """The scheduler of a project, as its module opens it."""
        raise NotImplementedError

    @pytest.fixture
    def runs(self, tmp_path: Path) -> Iterator[RunPlace]:
        """A project with runs."""
        made = RunPlace(tmp_path)
        yield made
        made.close()

    @asynccontextmanager
    async def served(self, runs: RunPlace) -> AsyncIterator[Scheduler]:
        """While the runs are advanced."""
        scheduler = self.open_scheduler(runs.site(self.settings))
        serving = asyncio.ensure_future(RunServer(runs.engine, scheduler).serve())
        runs.serving = serving
        try:
            yield scheduler
        finally:
            serving.cancel()
            await asyncio.wait({serving})
            runs.serving = None

    def test_runs_are_advanced_to_their_ends(self, runs: RunPlace) -> None:
        async def story() -> None:
            before = runs.start(works)
            async with self.served(runs):
                later = [runs.start(works) for _ in range(3)]
                for run_id in (before, *later):
                    await runs.until(run_id, "completed")

        asyncio.run(story())

    def test_a_run_waits_for_its_time(self, runs: RunPlace) -> None:
        async def story() -> None:
            async with self.served(runs):
                run_id = runs.start(naps)
                await runs.until(run_id, "completed")
            assert runs.advanced[run_id] == 2

        asyncio.run(story())

    def test_what_another_process_stores_wakes_a_run(self, runs: RunPlace) -> None:
        def answer(tx: Transaction) -> None:
            run = tx.runs.find(asking)
            journal.resolve(tx, run, "ask", Resolution(OK, True), runs.app.blobs)

        async def story() -> None:
            other = runs.another()
            async with self.served(runs):
                await runs.until(asking, "parked")
                await runs.until(listening, "parked")
                other.change(answer)
                other.change(control.send, listening, "news", 7)
                await runs.until(asking, "completed")
                assert (await runs.until(listening, "completed")).value == 7

        asking, listening = runs.start(asks), runs.start(listens)
        asyncio.run(story())

    def test_a_run_to_which_nothing_happens_is_left_alone(self, runs: RunPlace) -> None:
        async def story() -> None:
            async with self.served(runs) as scheduler:
                waiting = runs.start(asks)
                await runs.until(waiting, "parked")
                await scheduler.nudge(waiting)
                await runs.until(runs.start(works), "completed")
                await runs.until(runs.start(naps), "completed")
            assert runs.run(waiting).status == "parked"
            assert _events(runs, waiting)[-1] == "run_parked"
            assert _events(runs, waiting).count("run_parked") == 1

        asyncio.run(story())

    def test_a_run_is_not_advanced_twice_at_once(self, runs: RunPlace) -> None:
        async def story() -> None:
            async with self.served(runs) as scheduler:
                run_id = runs.start(toils)
                await runs.until_held(run_id)
                for _ in range(5):
                    await scheduler.nudge(run_id)
                await runs.until(runs.start(works), "completed")
                (runs.root / "over").touch()
                await runs.until(run_id, "completed")
            with runs.app.read() as view:
                (effect,) = view.runs.effects(view.runs.find(run_id))
            assert effect.attempts == 1

        asyncio.run(story())

    def test_a_run_is_taken_over_when_the_lease_of_another_ends(self, runs: RunPlace) -> None:
        def hold(tx: Transaction) -> None:
            token = tx.next_token()
            tx.runs.leases.take(run_id, "elsewhere:1:1", token, runs.app.store.time() + 1.0)

        async def story() -> None:
            async with self.served(runs):
                await runs.until(run_id, "completed")

        run_id = runs.start(works)
        runs.app.change(hold)
        asyncio.run(story())

    def test_a_paused_run_waits_until_it_is_resumed(self, runs: RunPlace) -> None:
        async def story() -> None:
            async with self.served(runs) as scheduler:
                await runs.until(run_id, "parked")
                runs.app.change(control.control, runs.engine.owner, run_id, "pause", "wait")
                runs.app.change(control.send, run_id, "news", 7)
                await scheduler.nudge(run_id)
                await runs.until(runs.start(works), "completed")
                assert runs.run(run_id).status == "paused"
                runs.app.change(control.resume, run_id)
                await runs.until(run_id, "completed")

        run_id = runs.start(listens)
        asyncio.run(story())

    def test_what_a_person_stopped_does_not_begin_again(self, runs: RunPlace) -> None:
        async def story() -> None:
            async with self.served(runs) as scheduler:
                for run_id, verb in ((stopped, "stop"), (cancelled, "cancel")):
                    await runs.until(run_id, "parked")
                    runs.app.change(control.control, runs.engine.owner, run_id, verb, "enough")
                    await scheduler.nudge(run_id)
                await runs.until(runs.start(naps), "completed")
                await scheduler.forget(cancelled)
            assert runs.run(stopped).status == "parked"
            assert runs.run(stopped).reason == "enough"
            assert runs.run(cancelled).status == "cancelled"

        stopped, cancelled = runs.start(naps), runs.start(asks)
        asyncio.run(story())

    def test_whoever_stops_serving_leaves_the_rest_to_the_next(self, runs: RunPlace) -> None:
        async def story() -> None:
            run_id = runs.start(toils)
            async with self.served(runs):
                await runs.until_held(run_id)
            with runs.app.read() as view:
                assert view.runs.leases.holder(run_id)[0] is None
            (runs.root / "over").touch()
            async with self.served(runs):
                await runs.until(run_id, "completed")

        asyncio.run(story())

    def test_an_error_of_the_engine_is_raised(self, runs: RunPlace) -> None:
        async def fails(run_id: str) -> Done | Parked:
            raise StoreCorrupt("the disk is on fire")

        async def story() -> None:
            runs.start(works)
            scheduler = self.open_scheduler(runs.site(self.settings))
            async with asyncio.timeout(PATIENCE):
                await scheduler.serve(fails)

        with pytest.raises(StoreCorrupt, match="the disk is on fire"):
            asyncio.run(story())

    def test_a_run_that_is_over_may_be_forgotten(self, runs: RunPlace) -> None:
        async def story() -> None:
            async with self.served(runs) as scheduler:
                run_id = runs.start(works)
                await runs.until(run_id, "completed")
                await scheduler.forget(run_id)
                await scheduler.nudge(run_id)
                await runs.until(runs.start(works), "completed")
                assert _events(runs, run_id).count("run_completed") == 1

        asyncio.run(story())


def _events(runs: RunPlace, run_id: str) -> list[str]:
    with runs.app.read() as view:
        return [event.type for event in view.log.events(node_id=run_id)]
