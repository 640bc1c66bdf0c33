"""Workers of two versions beside each other, as while hosts are upgraded one after the other."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from hookline.adapters.schedulers import temporal
from hookline.config.types import SchedulerSection
from hookline.flows import control
from hookline.flows.serving import RunServer
from hookline.testing.contracts.schedulers import RunPlace, listens, naps, works
from hookline.wiring.running.schedulers import site_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from hookline.ports.schedulers import Done, Parked
    from tests.temporal_server import TemporalServer


class Versions:
    """A project whose runs are advanced by workers of several versions."""

    def __init__(self, runs: RunPlace, server: TemporalServer) -> None:
        self.runs = runs
        self.advanced = Counter[str]()
        self.told: list[str] = []
        self._settings = SchedulerSection(kind="temporal", address=server.address)

    @asynccontextmanager
    async def worker(self, version: str) -> AsyncIterator[None]:
        """While a worker of a version serves."""
        app, engine = self.runs.app, self.runs.engine
        site = site_of(app, self._settings, engine.wakeup, lambda view, due: due, self.told.append)
        own = msgspec.structs.replace(site, version=version, host=f"host-{version}")
        scheduler = temporal.open_scheduler(own)

        class Counted:
            async def advance(_, run_id: str) -> Done | Parked:
                self.advanced[version] += 1
                return await engine.advance(run_id)

        counted: Any = Counted()
        counted.release = engine.release
        serving = asyncio.ensure_future(RunServer(counted, scheduler).serve())
        self.runs.serving = serving
        # It serves as soon as a run of its own was advanced.
        try:
            yield
        finally:
            serving.cancel()
            await asyncio.wait({serving})
            self.runs.serving = None


@pytest.fixture
def versions(tmp_path: Path, temporal_server: TemporalServer) -> Iterator[Versions]:
    runs = RunPlace(tmp_path)
    yield Versions(runs, temporal_server)
    runs.close()


async def advanced_by(versions: Versions, version: str) -> None:
    """Start runs until one was advanced by a version: it is the current one from then on."""
    before = versions.advanced[version]
    async with asyncio.timeout(100):
        while versions.advanced[version] == before:
            await versions.runs.until(versions.runs.start(works), "completed")


@pytest.mark.torture
def test_runs_continue_and_new_ones_are_for_the_newer_version(versions: Versions) -> None:
    runs = versions.runs

    async def story() -> None:
        async with versions.worker("0.2.0"):
            begun = runs.start(listens)
            await runs.until(begun, "parked")
            async with versions.worker("0.3.0"):
                await advanced_by(versions, "0.3.0")
                old = versions.advanced["0.2.0"]
                for _ in range(3):
                    await runs.until(runs.start(works), "completed")
                await runs.until(runs.start(naps), "completed")
                assert versions.advanced["0.2.0"] == old
                runs.app.change(control.send, begun, "news", 7)
                await runs.until(begun, "completed")
                assert versions.advanced["0.2.0"] == old

    asyncio.run(story())
    assert versions.told == []


def test_an_older_worker_takes_nothing_and_says_so(versions: Versions) -> None:
    runs = versions.runs

    async def story() -> None:
        async with versions.worker("0.3.0"):
            await runs.until(runs.start(works), "completed")
            async with versions.worker("0.2.0"):
                async with asyncio.timeout(100):
                    while not versions.told:
                        await asyncio.sleep(0.01)
                for _ in range(3):
                    await runs.until(runs.start(works), "completed")
        assert versions.advanced["0.2.0"] == 0

    asyncio.run(story())
    (line,) = versions.told
    assert line.startswith("only finishing what this host has: Hookline 0.3.0 is current")


def test_runs_outlive_the_version_that_began_them(versions: Versions) -> None:
    runs = versions.runs

    async def story() -> None:
        async with versions.worker("0.2.0"):
            begun = runs.start(listens)
            await runs.until(begun, "parked")
        runs.app.change(control.send, begun, "news", 7)
        async with versions.worker("0.3.0"):
            await runs.until(begun, "completed")

    asyncio.run(story())
