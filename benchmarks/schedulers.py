"""Schedulers: how soon news of a run is looked at, what an advance costs, and what parked runs do.

Each is measured over a store in a file and over one on a PostgreSQL server, all in one process.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

import psutil
from temporalio.client import Client
from tests.postgres_server import running
from tests.temporal_server import temporal as temporal_server

from benchmarks.measure import Plan, Result
from hookline.adapters.schedulers import local, temporal
from hookline.adapters.temporal.client import prefix
from hookline.config.types import SchedulerSection
from hookline.flows import control
from hookline.flows.serving import RunServer
from hookline.testing.contracts.schedulers import FLOWS, RunPlace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.postgres_server import PostgresServer
    from tests.temporal_server import TemporalServer

    from hookline.flows.context import Context
    from hookline.ports.schedulers import Done, Parked

DURABLE = ("fsync=on", "synchronous_commit=on", "full_page_writes=on")
AIM_WAKE = 0.5
AIM_SHARE = 0.05
IDLE_SECONDS = 20.0
SCHEDULERS = {"local": local, "temporal": temporal}
FLOOR = "local, file"


async def follows(ctx: Context) -> None:
    """A flow that waits for news, again and again."""
    while True:
        await ctx.signal("news")
        ctx.next(None)


class Watched:
    """A project whose engine says when it begins to advance a run, and when it has."""

    def __init__(self, runs: RunPlace) -> None:
        self.runs = runs
        self.begun, self.ended = asyncio.Event(), asyncio.Event()
        self.begun_at = self.ended_at = 0.0
        self._advance = runs.engine.advance
        vars(runs.engine)["advance"] = self._watched

    async def _watched(self, run_id: str) -> Done | Parked:
        self.begun_at = time.monotonic()
        self.begun.set()
        result = await self._advance(run_id)
        self.ended_at = time.monotonic()
        self.ended.set()
        return result

    async def round(self, run_id: str) -> tuple[float, float]:
        """Send news; after how long it is looked at, and the run is parked again."""
        self.begun.clear()
        self.ended.clear()
        self.runs.app.change(control.send, run_id, "news", None)
        sent = time.monotonic()
        await self.begun.wait()
        await self.ended.wait()
        return self.begun_at - sent, self.ended_at - sent


def measure(plan: Plan) -> Iterator[Result]:
    """What an advance costs, and a thousand parked runs."""
    FLOWS["follows"] = follows
    folder = Path(plan.folder)
    with running(*DURABLE) as server, temporal_server(folder / "temporal") as remote:
        yield from asyncio.run(_rounds(plan, folder, server, remote))
        for kind, module in SCHEDULERS.items():
            settings = SchedulerSection(kind=kind, address=remote.address)
            place = RunPlace(folder / f"{kind}-parked")
            yield from asyncio.run(_parked(plan, place, module, settings, remote))
            place.close()


@asynccontextmanager
async def _served(place: RunPlace, module: Any, settings: SchedulerSection) -> AsyncIterator[None]:
    scheduler = module.open_scheduler(place.site(settings))
    serving = asyncio.ensure_future(RunServer(place.engine, scheduler).serve())
    place.serving = serving
    try:
        yield
    finally:
        serving.cancel()
        await asyncio.wait({serving})


async def _rounds(
    plan: Plan, folder: Path, server: PostgresServer, remote: TemporalServer
) -> list[Result]:
    """All by turns, so that noise falls on all alike; the floor is the local one over a file."""
    found: dict[str, list[tuple[float, float]]] = {}
    async with AsyncExitStack() as opened:
        turns, workflows = {}, {}
        for kind, module in SCHEDULERS.items():
            settings = SchedulerSection(kind=kind, address=remote.address)
            for store, env in (("file", {}), ("server", {"HOOKLINE_STORE": server.url(kind)})):
                name = f"{kind}, {store}"
                place = RunPlace(folder / name, **env)
                opened.callback(place.close)
                watched = Watched(place)
                await opened.enter_async_context(_served(place, module, settings))
                run_id = place.start(follows)
                await place.until(run_id, "parked")
                turns[name], found[name] = (watched, run_id), []
                if kind == "temporal":
                    workflows[name] = f"{prefix(place.site(settings))}{run_id}"
        before = await _histories(remote, workflows)
        for _ in range(count := plan.rounds(200, 20)):
            for name, (watched, run_id) in turns.items():
                found[name].append(await _rested(watched, run_id))
        after = await _histories(remote, workflows)
    grown = {name: f"{(after[name] - before[name]) / count:.0f} bytes" for name in workflows}
    results = []
    for number, (what, aim) in enumerate((("looked at", AIM_WAKE), ("parked again", None))):
        for name, rounds in found.items():
            ours = [each[number] for each in rounds]
            note = f"{FLOOR}; {_p95(ours)}; aim {aim:g} s" if aim else f"{FLOOR}; {_p95(ours)}"
            floor = median(each[number] for each in found[FLOOR])
            told = f"{grown[name]} of history" if name in grown and not aim else ""
            results.append(Result(f"{what}: {name}", median(ours), floor, note, None, told))
    return results


async def _histories(server: TemporalServer, workflows: dict[str, str]) -> dict[str, int]:
    """How many bytes the histories of workflows have."""
    client, found = await Client.connect(server.address), {}
    for name, workflow in workflows.items():
        described = await client.get_workflow_handle(workflow).describe()
        found[name] = described.raw_description.workflow_execution_info.history_size_bytes
    return found


async def _rested(watched: Watched, run_id: str) -> tuple[float, float]:
    # Otherwise the news would come before the one before has been reported.
    await asyncio.sleep(0.1)
    return await watched.round(run_id)


async def _parked(
    plan: Plan, place: RunPlace, module: Any, settings: SchedulerSection, server: TemporalServer
) -> list[Result]:
    count, seconds = plan.rounds(1000, 50), IDLE_SECONDS / (10 if plan.quick else 1)
    watched = Watched(place)
    processes = [psutil.Process()]
    processes += [psutil.Process(server.pid)] if settings.kind == "temporal" else []
    async with _served(place, module, settings):
        ids = [place.start(follows) for _ in range(count)]
        for run_id in ids:
            await place.until(run_id, "parked")
        await asyncio.sleep(5)
        before = [sum(each.cpu_times()[:2]) for each in processes]
        await asyncio.sleep(seconds)
        used = [sum(each.cpu_times()[:2]) for each in processes]
        woken = [(await _rested(watched, ids[number]))[0] for number in range(20)]
    shares = [(after - start) / seconds for after, start in zip(used, before, strict=True)]
    sizes = [each.memory_info().rss >> 20 for each in processes]
    name = f"{settings.kind}, {count:,} parked"
    found = [Result(f"{name}: CPU of a second", shares[0], None, f"{sizes[0]} MB", AIM_SHARE)]
    if len(shares) > 1:
        note = f"{sizes[1]} MB, all of its other work included"
        found.append(Result(f"{name}: CPU of the server", shares[1], None, note, None))
    found.append(Result(f"{name}: looked at", median(woken), None, _p95(woken), AIM_WAKE))
    return found


def _p95(seconds: list[float]) -> str:
    return f"p95 {quantiles(seconds, n=20)[-1] * 1000:.3g} ms"
