"""When a notification may be sent: quiet hours of a place on Earth, and one digest for many.

Quiet hours are in local time, so their length changes with summer time. Moments
are seconds since 1970.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline.errors import BadInput

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

DIGEST = 300.0
# Why a notification waits.
QUIET, DIGESTED, RETRIED = "quiet hours", "the digest", "another try"
_DAY = timedelta(days=1)


class QuietHours(msgspec.Struct, frozen=True):
    """From one time of the day to another, the next day's where that is not later.

    Without a `zone` they are those of this machine.
    """

    begin: time
    end: time
    zone: str | None = None

    def end_of(self, moment: float) -> float | None:
        """When the quiet hours end that a moment is in; None if it is in none."""
        today = datetime.fromtimestamp(moment, _zone(self.zone)).date()
        for day in (today - _DAY, today, today + _DAY):
            begin, end = self._on(day)
            if begin <= moment < end:
                return end
        return None

    def _on(self, day: date) -> tuple[float, float]:
        """The quiet hours that begin on a day.

        Of a time that the clocks show twice, they begin at the first and end at the second.
        """
        last = day if self.begin < self.end else day + _DAY
        return self._at(day, self.begin, fold=0), self._at(last, self.end, fold=1)

    def _at(self, day: date, at: time, *, fold: int) -> float:
        """The moment at which the clocks show a time, or jump over it."""
        zone = _zone(self.zone)
        wall = datetime.combine(day, at, zone)
        before, after = (wall.replace(fold=each).timestamp() for each in (0, 1))
        if before <= after:  # once, or twice: the clocks are put back
            return after if fold else before
        # They are put forward over it, in the midst between the two moments that it stands for.
        return _jump(after, before, zone)


def _jump(early: float, late: float, zone: ZoneInfo | None) -> float:
    """When the clocks are put forward, to the second."""
    shown = _offset(early, zone)
    while late - early > 1:
        middle = (early + late) // 2
        early, late = (middle, late) if _offset(middle, zone) == shown else (early, middle)
    return late


def _offset(moment: float, zone: ZoneInfo | None) -> timedelta | None:
    return datetime.fromtimestamp(moment, zone).astimezone(zone).utcoffset()


@cache
def _zone(name: str | None) -> ZoneInfo | None:
    from zoneinfo import ZoneInfo  # reads files; few people name a zone

    return None if name is None else ZoneInfo(name)


class Release(NamedTuple):
    """When something is sent, and what it waits for until then."""

    at: float
    why: str = ""


class Schedule(msgspec.Struct, frozen=True):
    """Quiet hours, and for how long a channel is silent after a notification."""

    quiet: QuietHours | None = None
    digest: float = DIGEST

    def release(
        self, now: float, *, last: float | None = None, next_try: float | None = None
    ) -> Release:
        """When a channel may be used again that was used last at a moment, or failed."""
        found = Release(now)
        if last is not None and now < last + self.digest and last <= now:
            found = Release(last + self.digest, DIGESTED)
        if next_try is not None and next_try > found.at:
            found = Release(next_try, RETRIED)
        ends = self.quiet.end_of(found.at) if self.quiet is not None else None
        return found if ends is None else Release(ends, QUIET)


def read_quiet(text: str, zone: str | None = None) -> QuietHours:
    """Quiet hours as they are written: `22:00-07:00`."""
    example = "write it like 22:00-07:00"
    begin, dash, end = text.replace(" ", "").partition("-")
    try:
        if not dash:
            raise ValueError
        found = QuietHours(_clock(begin), _clock(end), zone)
    except ValueError as problem:
        raise BadInput(f"'{text[:40]}' is not a span of hours", help=example) from problem
    if found.begin == found.end:
        raise BadInput("quiet hours must end at another time than they begin", help=example)
    if zone is not None:
        check_zone(zone)
    return found


def _clock(text: str) -> time:
    hours, colon, minutes = text.partition(":")
    if not (colon and hours.isdigit() and minutes.isdigit() and len(minutes) == 2):
        raise ValueError(text)
    return time(int(hours), int(minutes))


def check_zone(name: str) -> None:
    """Refuse a name that is not a time zone of this machine."""
    try:
        _zone(name)
    except (KeyError, ValueError, OSError) as problem:  # a folder of zones is an OSError
        help = "use a name such as Europe/Berlin; without one it is this machine's zone"
        raise BadInput(f"there is no time zone '{name[:60]}'", help=help) from problem
