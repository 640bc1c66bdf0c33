"""What is broken parks its run with a reason; nothing is lost with it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from hookline.domain.runs.projection import RunFold, differences
from hookline.flows import journal
from hookline.flows.engine import Done, Parked
from hookline.queries.doctor.runs import run_checks
from tests.integration.engine_world import World, asks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookline.flows.context import Context


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    found = World(tmp_path)
    yield found
    found.check_tables()
    found.close()


def test_a_damaged_record_parks_the_run_and_is_named(world: World) -> None:
    run_id = world.start(asks)
    world.advance(run_id)
    seq = world.effects(run_id)["ask"].requested_seq
    whole = world.app.read
    with whole() as view:
        event = view.log.find(seq)
    assert event is not None
    world.sql("UPDATE events SET data = replace(data, 'Well?', 'Shall I?') WHERE seq = ?", seq)
    result = world.advance(run_id)
    assert result == Parked(
        None, f"event {seq} (effect_requested of {run_id}) is damaged", True, problem=True
    )
    world.sql("UPDATE events SET data = '{' WHERE seq = ?", seq)
    result = world.advance(run_id)
    assert result == Parked(
        None, f"event {seq} of {run_id} is damaged: it cannot be read", True, problem=True
    )
    world.sql("UPDATE events SET data = ? WHERE seq = ?", _text(event.data), seq)
    world.sql("UPDATE effects SET args = '{}' WHERE effect_id = 'ask'")
    result = world.advance(run_id)
    assert result == Parked(None, f"the row of 'ask' of {run_id} is damaged", True, problem=True)
    with whole() as view:
        told = list(differences(RunFold().add_all(view.log.events()), view.runs.rows))
    assert told == [f"args of 'ask' of {run_id} is {{}}, the log says " + repr(event.data["args"])]
    world.sql("UPDATE effects SET args = ? WHERE effect_id = 'ask'", _text(event.data["args"]))
    assert world.advance(run_id) == Parked(None, "waits for breakpoint 'ask'", True)


def test_the_doctor_holds_the_tables_against_the_journal(world: World) -> None:
    run_id = world.start(asks)
    world.advance(run_id)
    with world.app.read() as view:
        (sound,) = run_checks(view)
    assert (sound.status, sound.message) == (
        "ok",
        "1 run and 1 effect, matching the log",
    )
    world.sql("UPDATE runs SET status = 'failed'")
    with world.app.read() as view:
        (found,) = run_checks(view)
    assert found.status == "failed"
    assert f"status of {run_id} is 'failed', the log says 'parked'" in found.message
    world.sql("UPDATE runs SET status = 'parked'")
    world.sql("UPDATE events SET data = replace(data, 'waits', 'sings') WHERE type = 'run_parked'")
    with world.app.read() as view:
        (found,) = run_checks(view)
    assert found.status == "failed"
    assert "(run_parked of R-1) is damaged" in found.message
    world.sql("UPDATE events SET data = replace(data, 'sings', 'waits') WHERE type = 'run_parked'")


def _text(value: Any) -> str:
    return str(journal._encode(value).decode())


def test_a_flow_whose_code_is_gone_parks_its_run(world: World) -> None:
    run_id = world.start(asks)
    world.advance(run_id)
    del world.flows["asks"]
    assert world.advance(run_id) == Parked(None, "there is no flow 'asks'", True, problem=True)
    assert world.run(run_id).status == "parked"
    world.flows["asks"] = asks
    assert world.advance(run_id) == Parked(None, "waits for breakpoint 'ask'", True)


def test_a_flow_that_does_not_take_its_input_parks_its_run(world: World) -> None:
    run_id = world.start(asks, colour="red")
    result = world.advance(run_id)
    assert isinstance(result, Parked)
    assert result.reason.startswith("flow 'asks' cannot be started: ")
    assert "colour" in result.reason


def test_an_error_of_our_own_parks_the_run_and_lets_it_go(world: World) -> None:
    async def works(ctx: Context) -> None:
        await ctx.run("true", id="work")

    def broken(what: str, details: dict[str, Any]) -> None:
        if what == "effect":
            raise LookupError("a bug")

    world.engine.observe = broken
    run_id = world.start(works)
    result = world.advance(run_id)
    assert result == Parked(
        None, "an error inside Hookline: LookupError: a bug", True, problem=True
    )
    with world.app.read() as view:
        assert view.runs.leases.holder(run_id)[0] is None
    world.open()
    assert world.advance(run_id) == Done("completed")


def test_one_process_does_not_take_a_run_from_itself(world: World) -> None:
    async def works(ctx: Context) -> None:
        await ctx.run("echo x >> trace; sleep 0.3", id="work")

    run_id = world.start(works)

    async def twice() -> tuple[Done | Parked, Done | Parked]:
        return await asyncio.gather(world.engine.advance(run_id), world.engine.advance(run_id))

    first, second = asyncio.run(twice())
    assert first == Done("completed")
    assert isinstance(second, Parked)
    assert second.held
    assert (world.root / "trace").read_text() == "x\n"
