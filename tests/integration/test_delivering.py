"""Delivery in the background outlives whatever goes wrong in it, and never in silence."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookline.adapters.feeds.feed import FileFeed
from hookline.errors import StoreBusy
from hookline.wiring.calling import retrying
from hookline.wiring.calling.delivering import delivered

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_bug_is_told_with_its_place_and_delivery_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying, "FIRST_PAUSE", 0.01)
    first, second = asyncio.run(_said_about_trouble(str(tmp_path)))
    assert first.startswith("hooks are waiting: KeyError: 'x' (test_delivering.py:")
    assert first.endswith("; trying again in 0.01 s")
    assert second == "hooks are waiting: the store is busy; trying again in 0.02 s"


async def _said_about_trouble(folder: str) -> list[str]:
    said: list[str] = []
    over = asyncio.Event()
    answers: list[Exception | int] = [KeyError("x"), StoreBusy("the store is busy"), 3, 0]

    async def deliver() -> int:
        answer = answers.pop(0)
        if not answers:
            over.set()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with delivered(FileFeed(folder), deliver, said.append):
        await asyncio.wait_for(over.wait(), 30)
    return said


def test_a_call_that_is_under_way_at_the_end_is_waited_for(tmp_path: Path) -> None:
    assert asyncio.run(_made_until_the_end(str(tmp_path))) == [1]


async def _made_until_the_end(folder: str) -> list[int]:
    begun = asyncio.Event()
    made: list[int] = []

    async def deliver() -> int:
        begun.set()
        await asyncio.sleep(0.05)
        made.append(1)
        return 1

    async with delivered(FileFeed(folder), deliver, lambda text: None):
        await asyncio.wait_for(begun.wait(), 30)
    return made
