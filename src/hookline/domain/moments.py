"""Moments as they stand in the log: UTC, ISO 8601, to the millisecond, so that text sorts."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from hookline.errors import BadInput

LONGEST_WAIT = 100 * 366 * 86400.0


def iso(seconds: float) -> str:
    """Seconds since 1970 as a moment."""
    millis = int(seconds * 1000)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(millis // 1000))
    return f"{stamp}.{millis % 1000:03d}Z"


def seconds(moment: str) -> float:
    """A moment as seconds since 1970."""
    return datetime.fromisoformat(moment).timestamp()


def later(moment: str, by: float) -> str:
    """The moment so many seconds later."""
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
