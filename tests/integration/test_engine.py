"""The engine over a real store and real processes, in this one."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from hookline.domain.runs.model import EffectFailed
from hookline.domain.tasks import task_id
from hookline.domain.timestamps import iso
from hookline.flows import effects, journal
from hookline.flows.engine import Done, Parked
from hookline.tasks import verbs
from tests.integration.engine_world import World, asks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hookline.flows.context import Context
    from hookline.ports.store import Transaction

LIMITS = """\
version: 1
limits: {concurrency: {node: 2}, per_minute: {call: 600}}
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    found = World(tmp_path)
    yield found
    found.check_tables()
    found.close()


# Parking and waking


def test_a_result_that_comes_while_the_run_parks_wakes_it(world: World) -> None:
    run_id = world.start(asks)
    change = world.engine.change

    def and_post_first(verb: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if verb.__name__ == "park":
            world.engine.change = change
            change(world.post, run_id, "ask", "at the last moment")
        return change(verb, *args, **kwargs)

    world.engine.change = and_post_first
    assert world.advance(run_id) == Done("completed")
    assert world.run(run_id).value == "at the last moment"


@pytest.mark.parametrize("name", ["pause", "stop", "cancel"])
def test_controls_end_what_runs(world: World, name: str) -> None:
    async def works(ctx: Context) -> None:
        await ctx.run("echo $$ > pid; exec sleep 60", id="long")

    run_id = world.start(works)

    async def interfere() -> Done | Parked:
        advancing = asyncio.ensure_future(world.engine.advance(run_id))
        while not (world.root / "pid").exists() or not (world.root / "pid").read_text():
            await asyncio.sleep(0.01)
        world.signal(run_id, name, {"reason": "enough"})
        return await advancing

    result = asyncio.run(interfere())
    assert not _runs(int((world.root / "pid").read_text()))
    assert result == (
        Done("cancelled") if name == "cancel" else Parked(None, "enough", name == "stop")
    )
    assert world.run(run_id).status == {"pause": "paused", "stop": "parked"}.get(name, "cancelled")


@pytest.mark.parametrize("name", ["pause", "stop", "cancel"])
def test_a_control_that_comes_while_the_run_parks_counts(world: World, name: str) -> None:
    run_id = world.start(asks)
    change = world.engine.change

    def and_signal_first(verb: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if verb.__name__ == "park":
            world.engine.change = change
            world.signal(run_id, name, {"reason": "enough"})
        return change(verb, *args, **kwargs)

    world.engine.change = and_signal_first
    result = world.advance(run_id)
    status = {"pause": "paused", "stop": "parked", "cancel": "cancelled"}[name]
    assert world.run(run_id).status == status
    assert isinstance(result, Done) == (name == "cancel")
    assert world.due() == []


def test_a_parked_run_is_due_when_its_answer_comes(world: World) -> None:
    run_id = world.start(asks)
    assert world.advance(run_id) == Parked(None, "waits for breakpoint 'ask'", True)
    assert world.due() == []
    world.app.change(world.post, run_id, "ask")
    assert world.due() == [run_id]
    assert asyncio.run(world.server.serve(once=True)) == 1
    assert world.run(run_id).status == "completed"


def test_a_paused_run_takes_results_but_does_not_go_on(world: World) -> None:
    run_id = world.start(asks)
    world.signal(run_id, "pause")
    assert world.advance(run_id) == Parked(None, "pause")
    with suppress(Exception):
        world.app.change(world.post, run_id, "ask")
    assert world.due() == []
    assert world.advance(run_id) == Parked(None, "pause")
    world.app.change(lambda tx: journal.write(tx, "run_resumed", run_id, {}))
    assert world.due() == [run_id]


def test_signals_that_come_before_anything_waits_for_them(world: World) -> None:
    async def listens(ctx: Context) -> Any:
        return [await ctx.signal("go"), await ctx.signal("go")]

    run_id = world.start(listens)
    world.signal(run_id, "go", 1)
    assert isinstance(world.advance(run_id), Parked)
    world.signal(run_id, "go", 2)
    assert world.due() == [run_id]
    assert world.advance(run_id) == Done("completed")
    assert world.run(run_id).value == [1, 2]


def test_a_sleep_goes_on_while_nobody_is_there(world: World) -> None:
    async def sleeps(ctx: Context) -> None:
        await ctx.sleep(0.4)

    run_id = world.start(sleeps)
    result = world.advance(run_id)
    assert isinstance(result, Parked)
    assert result.until is not None
    time.sleep(max(0.0, result.until - time.time()))
    world.open()
    assert world.due() == [run_id]
    assert world.advance(run_id) == Done("completed")


def test_a_question_has_a_maximum_age(world: World) -> None:
    async def impatient(ctx: Context) -> str:
        try:
            await ctx.breakpoint("Well?", id="ask", max_age=0.3)
        except EffectFailed as problem:
            return problem.error
        return "answered"

    run_id = world.start(impatient)
    asked = asyncio.run(world.runner.run_one(run_id))
    assert isinstance(asked, Parked)
    assert (asked.needs_person, asked.until is not None) == (True, True)
    time.sleep(max(0.0, (asked.until or 0) - time.time()))
    assert world.advance(run_id) == Done("completed")
    assert world.run(run_id).value == "nobody answered in time"


def test_a_sleep_ends_beside_a_command_that_runs(world: World) -> None:
    async def both(ctx: Context) -> None:
        async def naps() -> None:
            await ctx.sleep(0.2, id="nap")
            await ctx.run("true", id="after")

        await ctx.parallel(naps(), ctx.run("sleep 2", id="long"))

    run_id = world.start(both)
    asyncio.run(world.runner.run_one(run_id))
    found = world.effects(run_id)
    assert (found["parallel/0/after"].resolved_at or "") < (
        found["parallel/1/long"].resolved_at or ""
    )


def test_what_is_scheduled_runs_then_even_after_a_restart(world: World) -> None:
    async def works(ctx: Context) -> None:
        await ctx.parallel(ctx.breakpoint("Well?", id="ask"), ctx.run("true", id="later"))

    run_id = world.start(works)
    asyncio.run(world.engine.advance(run_id, max_iterations=0))
    moment = time.time() + 0.5

    def schedule(tx: Transaction) -> None:
        run = tx.runs.find(run_id)
        assert tx.runs.attempts.choose(run, "parallel/1/later")
        tx.runs.attempts.postpone(run, "parallel/1/later", moment)

    world.app.change(schedule)
    world.open()
    result = world.advance(run_id)
    assert isinstance(result, Parked)
    assert result.until == moment
    asyncio.run(_until_due(world, run_id))
    assert world.effects(run_id)["parallel/1/later"].resolved_at >= iso(moment)  # type: ignore[operator]


async def _until_due(world: World, run_id: str) -> None:
    serving = asyncio.ensure_future(world.server.serve())
    while world.effects(run_id)["parallel/1/later"].status == "pending":
        await asyncio.sleep(0.01)
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


# Errors, limits, ends


def test_temporary_errors_are_tried_again_permanent_ones_are_not(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effects, "FIRST_BACKOFF", 0.05)

    async def tries(ctx: Context) -> list[str]:
        await ctx.run("echo x >> early; test $(wc -l < early) = 3 || exit 75", id="early")
        errors = []
        for code in (75, 7):
            try:
                await ctx.run(f"echo x >> exit{code}; exit {code}", id=f"exit{code}", retries=1)
            except EffectFailed as problem:
                errors.append(problem.error)
        return errors

    late, at_once = world.finish(tries)
    counts = [len((world.root / n).read_text().split()) for n in ("early", "exit75", "exit7")]
    assert counts == [3, 2, 1]
    assert late.endswith("(after 2 attempts)")
    assert at_once == "`echo x >> exit7; exit 7` exited 7"


def test_a_timeout_kills_the_whole_group(world: World) -> None:
    async def hangs(ctx: Context) -> str:
        try:
            await ctx.run("sleep 300 & echo $! > pid; wait", timeout=2, retries=0)
        except EffectFailed as problem:
            return problem.error
        return ""

    assert "timed out after 2 s" in world.finish(hangs)
    assert not _runs(int((world.root / "pid").read_text()))


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_limits_of_a_kind(world: World) -> None:
    (world.root / "hookline.yaml").write_text(LIMITS)
    (world.root / "calls.py").write_text("import time\n\n\ndef now():\n    return time.time()\n")
    world.open()
    line = "echo + >> trace; sleep 0.1; echo - >> trace"

    async def many(ctx: Context) -> Any:
        await ctx.parallel(*(ctx.run(line) for _ in range(6)))
        return await ctx.parallel(*(ctx.call("calls:now") for _ in range(4)))

    begun = time.monotonic()
    world.finish(many)
    assert time.monotonic() - begun > 0.3 + 0.3, "three pairs, and four calls 0.1 s apart"
    running = most = 0
    for word in (world.root / "trace").read_text().split():
        running += 1 if word == "+" else -1
        most = max(most, running)
    assert most == 2


def test_a_long_result_of_a_task(world: World) -> None:
    async def waits(ctx: Context) -> Any:
        done = await ctx.task("write a book")
        return len(done["result"])

    run_id = world.start(waits)
    assert world.advance(run_id) == Parked(None, "waits for task 'task'")
    task = world.effects(run_id)["task"].task
    assert task is not None
    world.app.change(verbs.complete, task_id(task), result="x" * 65_536)
    assert world.advance(run_id) == Done("completed")
    assert world.run(run_id).value == 65_536


def test_a_flow_that_awaits_while_it_is_dropped(world: World) -> None:
    async def tidy(ctx: Context) -> None:
        try:
            await ctx.breakpoint("Well?", id="ask")
        finally:
            await ctx.run("true", id="tidy")

    run_id = world.start(tidy)
    assert isinstance(world.advance(run_id), Parked)
    world.app.change(world.post, run_id, "ask")
    assert world.advance(run_id) == Done("completed")
