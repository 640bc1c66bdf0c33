"""Moments that people write and read: local time, in summer and in winter."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from hookline.domain.timestamps import duration, evening_before, moment_text, past
from hookline.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = "2026-07-17T08:30:00.000Z"  # 10:30 in Berlin
# The clocks go back in the night before the 25th.
AUTUMN = "2026-10-25T08:00:00.000Z"


@pytest.fixture(autouse=True)
def berlin() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("10:00", "2026-07-17T08:00:00.000Z"),
        ("9:05", "2026-07-17T07:05:00.000Z"),
        ("18:00", "2026-07-16T16:00:00.000Z"),
        ("today", "2026-07-16T22:00:00.000Z"),
        ("yesterday", "2026-07-15T22:00:00.000Z"),
        ("2h", "2026-07-17T06:30:00.000Z"),
        ("90m", "2026-07-17T07:00:00.000Z"),
        ("3d", "2026-07-14T08:30:00.000Z"),
        ("1w", "2026-07-10T08:30:00.000Z"),
        ("2026-07-01", "2026-06-30T22:00:00.000Z"),
        ("2026-07-01T12:00", "2026-07-01T10:00:00.000Z"),
        ("2026-07-01T12:00:00Z", "2026-07-01T12:00:00.000Z"),
        ("2026-01-01", "2025-12-31T23:00:00.000Z"),
    ],
)
def test_what_people_write_is_a_moment(text: str, moment: str) -> None:
    assert past(text, NOW) == moment


@pytest.mark.parametrize(
    "text", ["", "soon", "24:00", "18:60", "-3d", "3y", "h", "2030-01-01", "nan", "1e999d"]
)
def test_what_is_no_moment_of_the_past_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        past(text, NOW)


def test_a_day_is_as_long_as_it_was() -> None:
    assert past("yesterday", AUTUMN) == "2026-10-23T22:00:00.000Z"
    assert past("18:00", AUTUMN) == "2026-10-24T16:00:00.000Z"  # by the clock of that evening
    assert evening_before(AUTUMN) == "2026-10-24T16:00:00.000Z"


def test_the_evening_before_is_yesterdays() -> None:
    assert evening_before(NOW) == "2026-07-16T16:00:00.000Z"
    assert evening_before("2026-07-17T20:00:00.000Z") == "2026-07-16T16:00:00.000Z"


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        ("2026-07-17T08:05:59.000Z", "10:05"),
        ("2026-07-16T16:00:00.000Z", "yesterday 18:00"),
        ("2026-07-15T16:00:00.000Z", "2026-07-15 18:00"),
        ("2026-07-16T22:30:00.000Z", "00:30"),
    ],
)
def test_a_moment_is_told_by_the_clock_on_the_wall(moment: str, words: str) -> None:
    assert moment_text(moment, NOW) == words


def test_lengths_of_time() -> None:
    assert [duration(each) for each in ("90", "2m", "1.5h", "1d", "2w")] == [
        *(90.0, 120.0, 5400.0, 86400.0, 1209600.0)
    ]
    for wrong in ("", "x", "3y", "nan", "inf"):
        with pytest.raises(BadInput):
            duration(wrong)
