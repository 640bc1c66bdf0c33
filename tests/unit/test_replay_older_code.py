"""Chapters that older code of our own recorded go on under newer code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookline.domain.runs.model import Divergence
from tests.replaying import Journal

if TYPE_CHECKING:
    from hookline.flows.context import Context


async def older(ctx: Context) -> Any:
    said = await ctx.run("say hello", id="say")
    left = await ctx.run("look", id="look")
    return [said, left, await ctx.run("rest", id="rest")]


async def newer(ctx: Context) -> Any:
    said = await ctx.run("say hello, politely", id="say")
    judged = await ctx.run("judge", id="judge")
    left = await ctx.run("look", id="look")
    return [said, judged, left, await ctx.run("rest", id="rest")]


def rests() -> Journal:
    """A run of the older code that waits in its last step."""
    journal = Journal(older)
    journal.resolve("say", "hello")
    journal.resolve("look", "nothing left")
    assert journal.pending == ["rest"]
    return journal


def test_changed_words_and_new_steps_stop_the_run_of_a_user() -> None:
    with pytest.raises(Divergence):
        rests().replay(newer)


def test_our_own_run_takes_what_is_recorded_and_asks_for_what_is_new() -> None:
    journal = rests()
    journal.replay(newer, by_older_code=True)
    assert set(journal.pending) == {"rest", "judge"}
    journal.resolve("judge", "fine")
    journal.resolve("rest", "rested")
    assert journal.result == ["hello", "fine", "nothing left", "rested"]


def test_a_result_that_the_newer_code_does_not_want_is_left_alone() -> None:
    async def shorter(ctx: Context) -> Any:
        return [await ctx.run("say hello", id="say"), await ctx.run("end", id="end")]

    journal = rests()
    journal.replay(shorter, by_older_code=True)
    journal.resolve("rest", "rested")
    journal.resolve("end", "over")
    assert journal.result == ["hello", "over"]


def test_a_step_of_another_kind_still_differs() -> None:
    async def other(ctx: Context) -> Any:
        return await ctx.signal("say", id="say")

    with pytest.raises(Divergence):
        rests().replay(other, by_older_code=True)
