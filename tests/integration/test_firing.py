"""Firing a point: which hooks are called, what is written down, and what a second try finds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from hookline.domain.sessions.model import HeldOutput
from hookline.hooks.calls.firing import Firing, fire
from hookline.hooks.calls.record import Recorder
from hookline.hooks.registry import Hook
from hookline.wiring.calling.calls import caller
from tests.integration.engine_world import World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookline.app import App
    from hookline.domain.events import Event
    from hookline.domain.hooks.records import Outcome
    from hookline.ports.store import Transaction


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def command(name: str, line: str, point: str = "post_iteration", **more: Any) -> Hook:
    """A hook of the user's own, which needs nobody's trust."""
    return Hook(name=name, points=(point,), kind="command", target=line, layer="user", **more)


def recorder(app: App, suspended: dict[str, str] | None = None) -> Recorder:
    """What fires points in a project."""
    held_back = (suspended or {}).get
    return Recorder(app.store, caller(app), change=app.change, suspended=held_back)


def shot(node: str, point: str = "post_iteration", **more: Any) -> Firing:
    """A firing of a run."""
    payload = {"session": "s", "iteration": 1}
    return Firing(point, payload, node, "1/here", lambda hook: f"key-{hook.name}", **more)


def fired(world: World) -> list[Event]:
    """The firings that were written down."""
    with world.app.read() as view:
        return view.log.events(types=("point_fired",))


def rows(world: World, event: Event) -> list[tuple[str, str]]:
    """The calls of a firing and how they went."""
    with world.app.read() as view:
        return [(row.hook, row.status) for row in view.calls.deliveries(event.seq)]


async def nothing(ctx: Any) -> None:
    """A flow that only gives its run a name."""


def test_hooks_are_called_in_order_and_each_leaves_its_record(world: World) -> None:
    run = world.start(nothing)
    hooks = [command("a", "echo A"), command("b", "exit 3"), command("c", "echo C")]
    called = asyncio.run(fire(recorder(world.app), shot(run), hooks))
    assert [hook.name for hook, _ in called] == ["a", "b", "c"]
    (event,) = fired(world)
    assert event.node_id == run
    assert event.data == {"point": "post_iteration", "name": "1/here"}
    assert [name for name, _ in rows(world, event)] == ["a", "b", "c"]


def test_a_point_without_hooks_costs_nothing(world: World) -> None:
    run = world.start(nothing)
    assert asyncio.run(fire(recorder(world.app), shot(run), [])) == []
    assert fired(world) == []


def test_a_firing_that_was_cut_short_goes_on_after_the_hooks_that_are_done(world: World) -> None:
    run = world.start(nothing)
    first = command("first", f"echo one >> {world.root}/calls; echo FIRST", pipe_output=True)
    second = command("second", f"echo two >> {world.root}/calls")
    before = shot(run, after=0)
    asyncio.run(fire(recorder(world.app), before, [first]))
    called = asyncio.run(fire(recorder(world.app), before, [first, second]))
    assert (world.root / "calls").read_text().split() == ["one", "two"]
    (event,) = fired(world)
    assert rows(world, event) == [("first", "ok"), ("second", "ok")]
    assert called[0][1].answer.text == "FIRST\n"


def test_another_firing_of_the_same_point_is_another_event(world: World) -> None:
    run = world.start(nothing)
    hook = command("a", "echo A")
    one, two = shot(run, after=0), shot(run, after=0)._replace(name="2/here")
    asyncio.run(fire(recorder(world.app), one, [hook]))
    asyncio.run(fire(recorder(world.app), two, [hook]))
    assert [event.data["name"] for event in fired(world)] == ["1/here", "2/here"]


def test_a_decision_ends_the_round(world: World) -> None:
    run = world.start(nothing)
    hooks = [
        command("no", "false", "stop"),
        command("yes", "true", "stop"),
        command("never", f"touch {world.root}/asked", "stop"),
    ]
    called = asyncio.run(fire(recorder(world.app), shot(run, "stop"), hooks))
    assert [hook.name for hook, _ in called] == ["no", "yes"]
    assert not (world.root / "asked").exists()


def test_a_hook_that_is_held_back_is_recorded_as_skipped(world: World) -> None:
    run = world.start(nothing)
    hook = command("a", f"touch {world.root}/ran")
    ((_, outcome),) = asyncio.run(
        fire(recorder(world.app, {"a": "it is not trusted"}), shot(run), [hook])
    )
    assert (outcome.status, outcome.error) == ("skipped", "it is not trusted")
    (event,) = fired(world)
    assert rows(world, event) == [("a", "skipped")]
    assert not (world.root / "ran").exists()


def test_a_condition_is_asked_on_the_frozen_payload(world: World) -> None:
    run = world.start(nothing)
    hooks = [command("one", "echo 1", when="iteration == 1"), command("two", "echo 2")]
    hooks.append(command("later", "echo 3", when="iteration > 1"))
    asyncio.run(fire(recorder(world.app), shot(run), hooks))
    (event,) = fired(world)
    assert rows(world, event) == [("one", "ok"), ("two", "ok"), ("later", "skipped")]


def test_a_failure_is_reported_as_an_event(world: World) -> None:
    run = world.start(nothing)
    asyncio.run(fire(recorder(world.app), shot(run), [command("gone", "no-such-program")]))
    with world.app.read() as view:
        (error,) = view.log.events(types=("hook_error",))
    assert error.data["hookName"] == "gone"
    assert "no-such-program" in error.data["error"]


def test_what_is_written_with_a_call_is_there_or_the_call_is_not(world: World) -> None:
    run = world.start(nothing)

    def hold(tx: Transaction, event: Event, hook: Hook, outcome: Outcome) -> None:
        tx.sessions.hold(run, HeldOutput(event.seq, hook.name, "post_iteration", "told"))

    def refuse(tx: Transaction) -> None:
        raise RuntimeError("someone else has this run")

    hook = command("a", "echo A")
    with pytest.raises(RuntimeError):
        asyncio.run(fire(recorder(world.app), shot(run, on_record=hold, guard=refuse), [hook]))
    assert fired(world) == []
    asyncio.run(fire(recorder(world.app), shot(run, on_record=hold), [hook]))
    told: list[HeldOutput] = world.app.change(lambda tx: tx.sessions.drain(run))
    assert [(each.hook, each.text) for each in told] == [("a", "told")]
    assert world.app.change(lambda tx: tx.sessions.drain(run)) == []


def test_who_watches_is_told_of_both_ends(world: World) -> None:
    run = world.start(nothing)
    seen: list[tuple[str, str]] = []

    def observe(what: str, details: dict[str, Any]) -> None:
        seen.append((what, details["hook"]))

    asyncio.run(fire(recorder(world.app), shot(run, observe=observe), [command("a", "echo A")]))
    assert seen == [("hook_started", "a"), ("hook_ended", "a")]


def test_switches_decide_which_hooks_are_enabled(world: World) -> None:
    on, off = command("on", "true"), command("off", "true", enabled=False)
    assert recorder(world.app).enabled([on, off]) == [on]

    def switch(tx: Transaction) -> None:
        tx.switches.set("on", False)
        tx.switches.set("off", True)

    world.app.change(switch)
    assert recorder(world.app).enabled([on, off]) == [off]
