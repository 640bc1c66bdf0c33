"""Moments as the log has them: UTC, ISO 8601, to the millisecond, so that text sorts.

People write and read local times.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from math import isfinite

from hookline.errors import BadInput

LONGEST_WAIT = 100 * 366 * 86400.0
# A float can be doubled about a thousand times, and failures add up for as long as nobody looks.
_MOST_DOUBLINGS = 64
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def iso(seconds: float) -> str:
    """Seconds since 1970 as a moment."""
    millis = int(seconds * 1000)
    return f"{to_second(millis // 1000)[:-1]}.{millis % 1000:03d}Z"


def to_second(seconds: int) -> str:
    """Whole seconds since 1970 as a moment without its milliseconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def seconds(moment: str) -> float:
    """A moment as seconds since 1970."""
    return datetime.fromisoformat(moment).timestamp()


def is_moment(text: str) -> bool:
    """Whether a value is a moment as the log has them."""
    try:
        return iso(seconds(text) + 0.0001) == text
    except (ValueError, OverflowError, OSError):
        return False


def elapsed() -> float:
    """What nobody sets, and what counts on while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def later(moment: str, by: float) -> str:
    """The moment some seconds later."""
    return iso(round(seconds(moment) + by, 3) + 0.0001)


def parse(text: str) -> str:
    """A time that a person wrote, as a moment; without a zone it is local time."""
    try:
        read = datetime.fromisoformat(text)
        if not 1970 <= read.year <= 9998:
            raise ValueError(text)
        return iso(read.astimezone(UTC).timestamp() + 0.0001)
    except (ValueError, OverflowError, OSError) as problem:
        raise BadInput(
            f"{text[:80]!r} is not a time", help="write it as 2026-01-17T10:00:00Z"
        ) from problem


def duration(text: str) -> float:
    """A length of time such as 90, 30s, 15m, 2h or 1d, in seconds."""
    number, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1)
    try:
        found = float(number) * unit
    except ValueError:
        found = float("nan")
    if not isfinite(found):
        raise BadInput(f"{text[:80]!r} is not a length of time", help="write 30s, 15m, 2h or 3d")
    return found


def doubled(first: float, times: int, longest: float) -> float:
    """How long to wait after so many failures in a row: each time twice as long, to a limit."""
    return min(first * 2.0 ** min(times, _MOST_DOUBLINGS), longest)


def past(text: str, now: str) -> str:
    """A moment in the past as people write it: 18:00, yesterday, 2h, 3d, a date or a time."""
    moment = _past(text.strip(), now)
    if moment > now:
        raise BadInput(f"{text[:80]!r} is in the future")
    return moment


def _past(text: str, now: str) -> str:
    here = local(now)
    midnight = here.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    if text in ("today", "yesterday"):
        return _of(midnight - timedelta(days=text == "yesterday"))
    if text[-1:] in UNITS and text[:1].isdigit():
        return iso(max(seconds(now) - duration(text), 0.0))
    clock = re.fullmatch(r"(\d{1,2}):([0-5]\d)", text)
    if clock is None or int(clock[1]) > 23:
        return parse(text)
    today = midnight + timedelta(hours=int(clock[1]), minutes=int(clock[2]))
    return _of(today if _of(today) <= now else today - timedelta(days=1))


def evening_before(now: str) -> str:
    """Yesterday at 18:00."""
    midnight = local(now).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    return _of(midnight - timedelta(hours=6))


def _of(naive: datetime) -> str:
    """The moment of a local time without a zone: that of its own day, be it summer or winter."""
    return iso(naive.astimezone().timestamp() + 0.0001)


def local(moment: str) -> datetime:
    """A moment in local time."""
    return datetime.fromisoformat(moment).astimezone()


def typed(moment: str) -> str:
    """A moment as people can type it: `2026-01-17T18:00Z`; a part of a second is left out."""
    return f"{moment.partition('.')[0].rstrip('Z').removesuffix(':00')}Z"


def moment_text(moment: str, now: str) -> str:
    """A moment for people: `07:42`, `yesterday 18:00`, `2026-01-17 18:00`."""
    found, here = local(moment), local(now)
    days = (here.date() - found.date()).days
    day = {0: "", 1: "yesterday "}.get(days, f"{found:%Y-%m-%d} ")
    return f"{day}{found:%H:%M}"
