"""What an agent's error says about the model: that it is not available, and until when.

Agents tell it in prose, so these are the words of those that are driven; whoever has a status
or a code at hand asks that first.
"""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta

from hookline.domain.sessions.turns import ModelWait

OVERLOADED = frozenset({429, 500, 502, 503, 504, 529})
_OVERLOADED = re.compile(
    r"overloaded|at capacity|high demand|rate.?limit|too many requests"
    r"|\b(?:status|error|code)\b:?\s+\(?(?:429|500|502|503|504|529)\b",
    re.IGNORECASE,
)
_USAGE_LIMIT = re.compile(
    r"usage.limit|hit your .{0,40}limit|limit reached.{0,20}resets", re.IGNORECASE
)
_UNREACHABLE = re.compile(
    r"connection (?:error|failed|refused|reset)|(?:could not|unable to|cannot) connect"
    r"|fetch failed|stream disconnected|E(?:CONNREFUSED|CONNRESET|NOTFOUND|TIMEDOUT|AI_AGAIN)\b",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"limit reached\|(\d{10})\b")
_MOMENT = re.compile(
    r"try again at (?:([A-Z][a-z]{2}) (\d{1,2})(?:st|nd|rd|th), (\d{4}) )?(\d{1,2}):(\d{2}) ([AP]M)"
)
# Such moments have no seconds, and one that has just passed is not tomorrow's.
GRACE = timedelta(minutes=5)


def model_wait(error: str, now: float | None = None) -> ModelWait | None:
    """The wait that an agent's error asks for, if it does."""
    if _USAGE_LIMIT.search(error):
        return ModelWait(kind="usage_limit", until=_until(error, now or time.time()))
    if _OVERLOADED.search(error):
        return ModelWait(kind="overloaded")
    return ModelWait(kind="unreachable") if _UNREACHABLE.search(error) else None


def _until(error: str, now: float) -> float | None:
    if epoch := _EPOCH.search(error):
        return float(epoch[1])
    told = _MOMENT.search(error)
    if told is None:
        return None
    today = datetime.fromtimestamp(now)
    month, day, year, *clock = told.groups()
    date = f"{month} {day} {year}" if month else today.strftime("%b %d %Y")
    try:
        moment = datetime.strptime(f"{date} {' '.join(clock)}", "%b %d %Y %I %M %p")
    except ValueError:
        return None
    if not month and moment < today - GRACE:
        moment += timedelta(days=1)
    return (moment + timedelta(minutes=1)).timestamp()
