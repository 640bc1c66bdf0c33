"""Which facts insights are about, as people write it."""

from __future__ import annotations

from typing import NamedTuple

from hookline.domain.insights import PARTS, Selection
from hookline.domain.timestamps import past
from hookline.errors import BadInput


class Wished(NamedTuple):
    """What people write: moments such as `2h`, names, and parts such as `week,agent`."""

    since: str | None = None
    until: str | None = None
    type: str | None = None
    agent: str | None = None
    by: str = ""


def selected(wished: Wished, now: str) -> Selection:
    """The same as moments and parts, or what is wrong with it."""
    names = [name for name in wished.by.replace(",", " ").split() if name]
    for name in names:
        if name not in PARTS:
            raise BadInput(f"cannot split by '{name[:80]}'", help="there are week, type and agent")
    moments = (wished.since, wished.until)
    since, until = (None if each is None else past(each, now) for each in moments)
    by = tuple(part for part in PARTS if part in names)
    return Selection(since=since, until=until, type=wished.type, agent=wished.agent, by=by)
