"""Quiet hours in real time zones, across summer time, and one digest for many: by a fixed clock."""

from __future__ import annotations

import os
import time as system_time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.domain.schedule import Schedule, check_zone, read_quiet
from hookline.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def told(hours: str, zone: str | None, moment: str) -> str | None:
    """When what happens at a moment is told, if that is later."""
    end = read_quiet(hours, zone).end_of(at(moment))
    return None if end is None else datetime.fromtimestamp(end, UTC).strftime("%Y-%m-%d %H:%M")


NIGHTS = [
    # A night as any other.
    ("22:00-07:00", BERLIN, "2026-01-17T20:59:59Z", None),
    ("22:00-07:00", BERLIN, "2026-01-17T21:00:00Z", "2026-01-18 06:00"),
    ("22:00-07:00", BERLIN, "2026-01-18T05:59:59Z", "2026-01-18 06:00"),
    ("22:00-07:00", BERLIN, "2026-01-18T06:00:00Z", None),
    ("12:30-13:15", BERLIN, "2026-01-18T11:45:00Z", "2026-01-18 12:15"),
    ("00:00-23:59", BERLIN, "2026-01-18T22:58:00Z", "2026-01-18 22:59"),
    ("00:00-23:59", BERLIN, "2026-01-18T22:59:00Z", None),
    # The clocks are put forward at 01:00 UTC: the night is an hour shorter.
    ("22:00-07:00", BERLIN, "2026-03-28T21:00:00Z", "2026-03-29 05:00"),
    ("22:00-07:00", BERLIN, "2026-03-29T04:59:59Z", "2026-03-29 05:00"),
    ("22:00-07:00", BERLIN, "2026-03-29T05:00:00Z", None),
    # They are put back at 01:00 UTC: it is an hour longer.
    ("22:00-07:00", BERLIN, "2026-10-24T20:00:00Z", "2026-10-25 06:00"),
    ("22:00-07:00", BERLIN, "2026-10-25T05:59:59Z", "2026-10-25 06:00"),
    ("22:00-07:00", BERLIN, "2026-10-25T06:00:00Z", None),
    # Hours that end at a time which the clocks jump over end with the jump.
    ("22:00-02:30", BERLIN, "2026-03-29T00:59:59Z", "2026-03-29 01:00"),
    ("22:00-02:30", BERLIN, "2026-03-29T01:00:00Z", None),
    # Hours that begin at such a time begin with the jump; those within it are none.
    ("02:30-06:00", BERLIN, "2026-03-29T00:59:59Z", None),
    ("02:30-06:00", BERLIN, "2026-03-29T01:00:00Z", "2026-03-29 04:00"),
    ("02:15-02:45", BERLIN, "2026-03-29T01:00:00Z", None),
    # Of a time that the clocks show twice, the second one ends them, and the first begins them.
    ("22:00-02:30", BERLIN, "2026-10-25T00:45:00Z", "2026-10-25 01:30"),
    ("22:00-02:30", BERLIN, "2026-10-25T01:29:59Z", "2026-10-25 01:30"),
    ("22:00-02:30", BERLIN, "2026-10-25T01:30:00Z", None),
    ("02:30-06:00", BERLIN, "2026-10-25T00:29:59Z", None),
    ("02:30-06:00", BERLIN, "2026-10-25T00:30:00Z", "2026-10-25 05:00"),
    # Other places, other days and other lengths.
    ("23:30-06:30", NEW_YORK, "2026-03-08T04:45:00Z", "2026-03-08 10:30"),
    ("23:30-06:30", NEW_YORK, "2026-11-01T04:00:00Z", "2026-11-01 11:30"),
    ("22:00-07:00", "Asia/Kolkata", "2026-06-01T16:30:00Z", "2026-06-02 01:30"),
    ("01:00-03:00", "Australia/Lord_Howe", "2026-10-03T15:00:00Z", "2026-10-03 16:00"),
    ("22:00-07:00", "America/Sao_Paulo", "2018-11-04T02:59:59Z", "2018-11-04 09:00"),
    # Samoa had no 30th of December: its night lasts from the 29th to the 31st.
    ("22:00-07:00", "Pacific/Apia", "2011-12-30T09:59:00Z", "2011-12-30 10:00"),
    ("22:00-07:00", "Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30 17:00"),
]


@pytest.mark.parametrize(("hours", "zone", "moment", "end"), NIGHTS)
def test_what_happens_in_quiet_hours_is_told_at_their_end(
    hours: str, zone: str, moment: str, end: str | None
) -> None:
    assert told(hours, zone, moment) == end


@pytest.fixture
def in_berlin() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = BERLIN
    system_time.tzset()
    yield
    os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
    system_time.tzset()


@pytest.mark.usefixtures("in_berlin")
def test_without_a_zone_the_hours_are_those_of_this_machine() -> None:
    berlin = [night for night in NIGHTS if night[1] == BERLIN]
    assert [told(hours, None, moment) for hours, _, moment, _ in berlin] == [
        end for _, _, _, end in berlin
    ]


ZONES = st.sampled_from((BERLIN, NEW_YORK, "Australia/Lord_Howe", "Asia/Kolkata", "UTC"))
CLOCKS = st.builds("{:02d}:{:02d}".format, st.integers(0, 23), st.sampled_from((0, 15, 30, 59)))
MOMENTS = st.integers(int(at("2025-01-01T00:00:00Z")), int(at("2028-01-01T00:00:00Z")))


@given(CLOCKS, CLOCKS, ZONES, MOMENTS)
def test_quiet_hours_end_when_the_clock_on_the_wall_says_so(
    begin: str, end: str, zone: str, moment: int
) -> None:
    if begin == end:
        return
    found = read_quiet(f"{begin}-{end}", zone).end_of(moment)
    on_the_wall = datetime.fromtimestamp(moment, ZoneInfo(zone))
    shown = on_the_wall.strftime("%H:%M")
    is_in = begin <= shown < end if begin < end else shown >= begin or shown < end
    near_change = _offsets(on_the_wall) > 1
    if not near_change:  # on any other day the clock alone decides
        assert (found is not None) == is_in
    if found is not None:
        assert moment < found <= moment + 26 * 3600
        assert read_quiet(f"{begin}-{end}", zone).end_of(found) is None
        ends = datetime.fromtimestamp(found, ZoneInfo(zone))
        assert near_change or ends.strftime("%H:%M:%S") == f"{end}:00"


def _offsets(moment: datetime) -> int:
    days = (moment.astimezone(UTC) + timedelta(hours=each) for each in range(-30, 31))
    assert moment.tzinfo is not None
    return len({each.astimezone(moment.tzinfo).utcoffset() for each in days})


NOON = at("2026-01-17T12:00:00Z")
NIGHT = at("2026-01-17T23:00:00Z")
MORNING = at("2026-01-18T07:00:00Z")
QUIET = read_quiet("22:00-07:00", "UTC")


@pytest.mark.parametrize(
    ("now", "last", "next_try", "at", "why"),
    [
        (NOON, None, None, NOON, ""),  # the first is sent at once
        (NOON, NOON - 299, None, NOON + 1, "the digest"),
        (NOON, NOON - 300, None, NOON, ""),
        (NOON, NOON + 60, None, NOON, ""),  # the clock was set back: nobody waits for that
        (NOON, None, NOON + 10, NOON + 10, "another try"),
        (NOON, None, NOON - 10, NOON, ""),
        (NIGHT, None, None, MORNING, "quiet hours"),
        (NIGHT, None, NIGHT + 10, MORNING, "quiet hours"),
        (MORNING, NIGHT, None, MORNING, ""),
        # It is due before the quiet hours begin, or after.
        (NIGHT - 3601, NIGHT - 3800, None, MORNING, "quiet hours"),
        (NIGHT - 3801, NIGHT - 4000, None, NIGHT - 3700, "the digest"),
    ],
)
def test_a_channel_is_used_at_once_after_its_digest_and_never_in_quiet_hours(
    now: float, last: float | None, next_try: float | None, at: float, why: str
) -> None:
    assert Schedule(QUIET, 300).release(now, last=last, next_try=next_try) == (at, why)


def test_without_a_digest_nothing_waits_for_others() -> None:
    assert Schedule(None, 0).release(NOON, last=NOON).at == NOON


@pytest.mark.parametrize(
    "text",
    ["", "22:00", "22-7", "22:00-24:00", "22:0-7:00", "a:b-c:d", "07:00-07:00"],
)
def test_what_is_not_a_span_of_hours_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        read_quiet(text)


@pytest.mark.parametrize("name", ["Europe/Berlln", "Europe", "../../etc/passwd", "/etc/passwd", ""])
def test_what_is_not_a_time_zone_is_refused(name: str) -> None:
    with pytest.raises(BadInput):
        check_zone(name)
