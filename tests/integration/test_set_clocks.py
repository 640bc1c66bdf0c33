"""A clock that is set while runs wait: nobody waits for longer than was said."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from hookline.flows.engine import Done, Parked

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from hookline.flows.context import Context

from tests.integration.engine_world import World

DAY = 86400.0
PATIENCE = 60


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Set the clock of this process by so many seconds."""
    real = time.time

    def jump(by: float) -> None:
        monkeypatch.setattr(time, "time", lambda: real() + by)

    return jump


def in_time(work: Awaitable[Any]) -> Any:
    """What comes of something that must not wait for the clock of yesterday."""

    async def waited() -> Any:
        return await asyncio.wait_for(work, PATIENCE)

    return asyncio.run(waited())


async def sleeps(ctx: Context) -> str:
    """A wait of some length."""
    await ctx.sleep(1.5)
    return "awake"


async def listens(ctx: Context) -> Any:
    """A wait for a signal, of some length, as that for a model."""
    return await ctx.signal("go", max_age=1.5)


async def tries(ctx: Context) -> Any:
    """A command that asks to be tried again later."""
    return (await ctx.run("[ -e tried ] || { touch tried; exit 75; }", id="try"))["exitCode"]


@pytest.mark.parametrize("by", [-DAY, DAY], ids=["back", "ahead"])
@pytest.mark.parametrize("flow", [sleeps, listens, tries])
def test_a_clock_that_is_set_as_a_run_is_parked(
    world: World,
    set_clock: Callable[[float], None],
    monkeypatch: pytest.MonkeyPatch,
    flow: Any,
    by: float,
) -> None:
    run_id, advance = world.start(flow), world.engine.advance

    async def then_set(run: str, **how: Any) -> Done | Parked:
        result = await advance(run, **how)
        if isinstance(result, Parked):
            set_clock(by)
        return result

    monkeypatch.setattr(world.engine, "advance", then_set)
    assert in_time(world.runner.run_one(run_id)) == Done("completed")


@pytest.mark.parametrize("flow", [sleeps, listens, tries])
@pytest.mark.parametrize("again", [False, True], ids=["same process", "another"])
def test_whoever_serves_runs_finds_those_that_wait_by_yesterdays_clock(
    world: World, set_clock: Callable[[float], None], flow: Any, again: bool
) -> None:
    run_id = world.start(flow)

    async def served() -> None:
        task = asyncio.ensure_future(world.server.serve())
        while world.run(run_id).status != "parked" and not again:
            await asyncio.sleep(0.01)
        set_clock(-DAY)
        while world.run(run_id).status != "completed":
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait({task})

    if again:
        assert isinstance(world.advance(run_id), Parked)
        set_clock(-DAY)
        world.open()
    in_time(served())


def test_a_moment_that_was_named_is_waited_for(
    world: World, set_clock: Callable[[float], None]
) -> None:
    async def until(ctx: Context) -> None:
        await ctx.sleep_until("2100-01-01T00:00:00Z")

    run_id = world.start(until)
    first = world.advance(run_id)
    set_clock(-DAY)
    assert world.advance(run_id) == first
    assert world.run(run_id).status == "parked"
