"""Replay: stable names, recorded order, and a complaint that names the step that differs."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING, Any

import pytest

from hookline.domain.runs.model import Divergence, EffectFailed, FlowMistake
from hookline.flows.replay import Next
from tests.replaying import Journal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hookline.flows.context import Context


async def two_steps(ctx: Context) -> Any:
    first = await ctx.run("make one", id="one")
    return [first, await ctx.run("make two", id="two")]


# Names and order


def test_effects_are_named_by_step_and_ordinal() -> None:
    async def flow(ctx: Context) -> None:
        for _ in range(3):
            await ctx.run("true", id="again")

    journal = Journal(flow)
    for _ in range(3):
        journal.resolve(journal.pending[0])
    assert list(journal.effects) == ["again", "again#2", "again#3"]


def test_ordinals_are_counted_per_branch() -> None:
    async def branch(ctx: Context) -> None:
        await ctx.run("true")
        await ctx.run("true")

    async def flow(ctx: Context) -> None:
        await ctx.parallel(branch(ctx), branch(ctx), id="both")

    forward, backward = Journal(flow), Journal(flow)
    for name in ("both/0/run", "both/1/run"):
        forward.resolve(name)
    for name in ("both/1/run", "both/0/run"):
        backward.resolve(name)
    expected = {"both/0/run", "both/1/run", "both/0/run#2", "both/1/run#2"}
    assert set(forward.effects) == set(backward.effects) == expected


def test_branches_wake_in_recorded_order() -> None:
    woken: list[str] = []

    async def branch(ctx: Context, name: str) -> None:
        await ctx.run(f"echo {name}", id=name)
        woken.append(name)

    async def flow(ctx: Context) -> list[str]:
        await ctx.parallel(*(branch(ctx, name) for name in "abc"))
        return woken

    journal = Journal(flow)
    for name in ("parallel/1/b", "parallel/2/c", "parallel/0/a"):
        journal.resolve(name)
    assert woken == ["b", "c", "a"]
    woken.clear()
    journal.replay(flow)
    assert woken == ["b", "c", "a"]


def test_a_parallel_of_nothing_is_over_at_once() -> None:
    async def flow(ctx: Context) -> list[Any]:
        return await ctx.parallel()

    assert Journal(flow).result == []


def test_what_a_flow_does_to_its_own_lists_afterwards_is_not_journaled() -> None:
    async def flow(ctx: Context) -> None:
        words = ["a"]

        async def change() -> None:
            words.append("b")

        await ctx.parallel(ctx.call("m:f", words), change)

    journal = Journal(flow)
    assert journal.effects["parallel/0/f"].args["args"] == [["a"]]
    journal.replay(flow)


# Errors


def test_the_error_of_an_effect_can_be_caught() -> None:
    async def flow(ctx: Context) -> str:
        try:
            await ctx.run("false", id="fails")
        except EffectFailed as failed:
            return f"{failed.effect_id}: {failed.error}"
        return "no error"

    journal = Journal(flow)
    journal.resolve("fails", error="exited 1")
    assert journal.result == "fails: exited 1"


def test_an_error_that_is_not_caught_ends_the_flow() -> None:
    journal = Journal(two_steps)
    journal.resolve("one", error="exited 1")
    with pytest.raises(EffectFailed, match="one: exited 1"):
        _ = journal.result


def test_when_a_branch_fails_the_others_end_first_and_the_first_error_by_place_is_raised() -> None:
    ended: list[str] = []

    async def branch(ctx: Context, name: str) -> None:
        await ctx.run("true", id=name)
        ended.append(name)

    async def flow(ctx: Context) -> None:
        await ctx.parallel(*(branch(ctx, name) for name in "abc"))

    journal = Journal(flow)
    journal.resolve("parallel/2/c", error="third")
    journal.resolve("parallel/1/b", error="second")
    assert not journal.stepper.finished
    journal.resolve("parallel/0/a")
    assert ended == ["a"]
    with pytest.raises(EffectFailed, match="parallel/1/b: second"):
        _ = journal.result


def test_a_flow_that_calls_exit_fails_and_nothing_else_does() -> None:
    async def flow(ctx: Context) -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        _ = Journal(flow).result


# What differs is told, with the step


def test_edited_code_is_told_with_the_step_that_differs() -> None:
    async def edited(ctx: Context) -> None:
        await ctx.run("make another", id="one")

    journal = Journal(two_steps)
    with pytest.raises(Divergence, match=r"step 'one' differs.*make one.*make another") as told:
        journal.replay(edited)
    assert told.value.step == "one"


def test_a_step_put_before_another_is_told() -> None:
    async def edited(ctx: Context) -> None:
        await ctx.run("make zero", id="zero")
        await ctx.run("make one", id="one")

    journal = Journal(two_steps)
    journal.resolve("one")
    with pytest.raises(Divergence, match=r"step 'one', which .* asks for 'zero' instead"):
        journal.replay(edited)


def test_a_step_taken_out_is_told() -> None:
    async def edited(ctx: Context) -> None:
        await ctx.run("make one", id="one")

    journal = Journal(two_steps)
    journal.resolve("one")
    with pytest.raises(Divergence, match="step 'two', which the flow no longer asks for"):
        journal.replay(edited)


def test_a_step_of_another_kind_is_told() -> None:
    async def edited(ctx: Context) -> None:
        await ctx.breakpoint("Ship it?", id="one")

    journal = Journal(two_steps)
    with pytest.raises(Divergence, match=r"the journal has node .* asks for breakpoint"):
        journal.replay(edited)


@pytest.mark.parametrize("source", [time.time_ns, random.random])
def test_the_clock_and_randomness_used_directly_are_told(source: Callable[[], Any]) -> None:
    async def flow(ctx: Context) -> None:
        await ctx.run(f"echo {source()}", id="stamp")

    journal = Journal(flow)
    with pytest.raises(Divergence, match="step 'stamp' differs") as told:
        journal.replay(flow)
    assert "clock or randomness" in (told.value.help or "")


def test_randomness_that_chooses_the_step_is_told() -> None:
    chosen = iter(["left", "right"])

    async def flow(ctx: Context) -> None:
        await ctx.run("true", id=next(chosen))

    journal = Journal(flow)
    with pytest.raises(Divergence, match=r"'left'.*asks for 'right' instead"):
        journal.replay(flow)


def test_time_and_randomness_of_the_context_replay() -> None:
    async def flow(ctx: Context) -> None:
        await ctx.run(f"echo {await ctx.now()} {await ctx.uuid()} {await ctx.random()}", id="all")

    journal = Journal(flow)
    for name, value in (("now", "2026-01-17T10:00:00.000Z"), ("uuid", "u"), ("random", 0.5)):
        journal.resolve(name, value)
    journal.replay(flow)
    assert journal.effects["all"].args["command"] == "echo 2026-01-17T10:00:00.000Z u 0.5"


def test_no_except_of_the_flow_swallows_a_divergence() -> None:
    async def flow(ctx: Context) -> str:
        try:
            await ctx.run(f"echo {time.time_ns()}", id="stamp")
        except BaseException:  # noqa: BLE001  # as careless flows do
            return "went on"
        return "done"

    journal = Journal(flow)
    with pytest.raises(Divergence):
        journal.replay(flow)


def test_timeouts_retries_and_metadata_may_change_under_a_run() -> None:
    async def edited(ctx: Context) -> Any:
        first = await ctx.run("make one", id="one", timeout=9, retries=5, metadata={"a": 1})
        return [first, await ctx.run("make two", id="two")]

    journal = Journal(two_steps)
    journal.replay(edited)
    journal.resolve("one", 1)
    journal.resolve("two", 2)
    assert journal.result == [1, 2]


# Versions


async def versioned(ctx: Context) -> str:
    await ctx.run("true", id="first")
    if await ctx.version("checked"):
        await ctx.run("true", id="check")
    await ctx.parallel(ctx.run("true", id="a"), ctx.run("true", id="b"), id="both")
    return "new"


async def unversioned(ctx: Context) -> str:
    await ctx.run("true", id="first")
    await ctx.parallel(ctx.run("true", id="a"), ctx.run("true", id="b"), id="both")
    return "old"


def test_an_old_run_goes_on_without_the_new_part() -> None:
    journal = Journal(unversioned)
    journal.resolve("first")
    journal.replay(versioned)
    assert journal.pending == ["both/0/a", "both/1/b"]
    for name in journal.pending:
        journal.resolve(name)
    assert journal.result == "new"


def test_a_run_that_has_not_come_so_far_takes_the_new_part() -> None:
    journal = Journal(unversioned)
    journal.replay(versioned)
    journal.resolve("first")
    journal.resolve("version:checked", True)
    assert journal.pending == ["check"]
    journal.replay(versioned)
    assert journal.pending == ["check"]


def test_the_question_for_a_version_may_be_taken_out_again() -> None:
    async def settled(ctx: Context) -> None:
        await ctx.run("true", id="first")
        await ctx.run("true", id="check")

    journal = Journal(versioned)
    journal.resolve("first")
    journal.resolve("version:checked", True)
    journal.replay(settled)
    assert journal.pending == ["check"]


def test_each_branch_goes_by_its_own_past() -> None:
    async def branch(ctx: Context, new: bool) -> bool:
        await ctx.run("true", id="one")
        taken = new and await ctx.version("v")
        await ctx.run("new" if taken else "old", id="two")
        return taken

    async def flow(ctx: Context, new: bool) -> list[Any]:
        return await ctx.parallel(branch(ctx, new), branch(ctx, new), id="p")

    journal = Journal(lambda ctx: flow(ctx, False))
    journal.resolve("p/0/one")
    journal.replay(lambda ctx: flow(ctx, True))
    journal.resolve("p/1/one")
    journal.resolve("p/1/version:v", True)
    for name in ("p/1/two", "p/0/two"):
        journal.resolve(name)
    assert journal.result == [False, True]


# Chapters


def test_a_chapter_ends_with_its_state_and_the_next_begins_with_it() -> None:
    async def flow(ctx: Context) -> Any:
        state = ctx.state or {"round": 1}
        try:
            await ctx.run(f"echo {state['round']}", id="work")
            if state["round"] < 3:
                ctx.next({"round": state["round"] + 1})
        except Exception:  # noqa: BLE001  # as careless flows do
            return "caught"
        return state

    journal = Journal(flow)
    journal.resolve("work")
    with pytest.raises(Next) as ended:
        _ = journal.result
    assert ended.value.state == {"round": 2}
    last = Journal(flow, state={"round": 3})
    last.resolve("work")
    assert last.result == {"round": 3}


# Mistakes


def refused(flow: Callable[[Context], Any]) -> FlowMistake:
    with pytest.raises(FlowMistake) as told:
        Journal(flow)
    return told.value


@pytest.mark.parametrize(
    "wait",
    [lambda: asyncio.sleep(0), lambda: asyncio.sleep(60), lambda: asyncio.Event().wait()],
    ids=["yield", "sleep", "event"],
)
def test_waiting_for_what_is_no_effect_names_the_remedy(wait: Callable[[], Awaitable[Any]]) -> None:
    async def flow(ctx: Context) -> None:
        try:
            await wait()
        except Exception:  # noqa: BLE001  # as careless flows do
            return

    async def inside_a_loop() -> FlowMistake:
        return refused(flow)

    told = asyncio.run(inside_a_loop())
    assert "which is not an effect" in told.message
    assert "ctx.sleep instead of asyncio.sleep" in (told.help or "")


@pytest.mark.parametrize("name", ["a/b", "a#2", "a\nb"])
def test_step_names_that_would_be_mistaken_for_others_are_refused(name: str) -> None:
    assert "cannot be called" in refused(lambda ctx: ctx.run("true", id=name)).message
    assert "cannot be called" in refused(lambda ctx: ctx.parallel(id=name)).message


MISTAKES: dict[str, Callable[[Context], Any]] = {
    "a value that is not JSON": lambda ctx: ctx.call("m:f", object()),
    "a command is text, not list": lambda ctx: ctx.run(["ls"]),  # type: ignore[arg-type]
    "a prompt is text, not int": lambda ctx: ctx.agent(3),  # type: ignore[arg-type]
    "the name of a flow is text, not int": lambda ctx: ctx.flow(3),  # type: ignore[arg-type]
    "the input of a flow is a dict, not list": lambda ctx: ctx.flow("f", input=[1]),  # type: ignore[arg-type]
    "seconds cannot be '2s'": lambda ctx: ctx.sleep("2s"),  # type: ignore[arg-type]
    "seconds cannot be nan": lambda ctx: ctx.sleep(float("nan")),
    "timeout cannot be -1": lambda ctx: ctx.run("true", timeout=-1),
    "max_age cannot be '1h'": lambda ctx: ctx.breakpoint("?", max_age="1h"),  # type: ignore[arg-type]
    "cannot be called in a child process": lambda ctx: ctx.call(lambda: 1),
    "parallel takes coroutines, not int": lambda ctx: ctx.parallel(ctx.noop(), 3),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("message", MISTAKES)
def test_what_cannot_be_journaled_is_refused(message: str) -> None:
    async def flow(ctx: Context) -> None:
        try:
            await MISTAKES[message](ctx)
        except Exception:  # noqa: BLE001  # as careless flows do
            return

    assert message in refused(flow).message


@pytest.mark.parametrize("end", [lambda ctx: object(), lambda ctx: ctx.next(object())])
def test_an_end_that_cannot_be_journaled_is_refused(end: Callable[[Context], Any]) -> None:
    async def flow(ctx: Context) -> Any:
        return end(ctx)

    assert "a value that is not JSON" in refused(flow).message


def test_a_flow_that_is_dropped_asks_for_nothing_more() -> None:
    left: list[str] = []

    async def branch(ctx: Context, name: str) -> None:
        try:
            await ctx.run("true", id=name)
        finally:
            left.append(name)
            await ctx.run("cleanup", id=f"after-{name}")

    async def flow(ctx: Context) -> None:
        try:
            await ctx.parallel(branch(ctx, "a"), branch(ctx, "b"))
        finally:
            left.append("flow")
            await ctx.parallel(branch(ctx, "c"))

    journal = Journal(flow)
    journal.stepper.close()
    journal.stepper.close()
    assert sorted(left) == ["a", "b", "flow"]
    assert journal.stepper.requests == []
