"""Ids of things that exist only in the log, by their position in it: `IT-12` began at event 12."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.text.numbers import is_number

if TYPE_CHECKING:
    from hookline.domain.events import Event
    from hookline.errors import HooklineError
    from hookline.ports.store import EventLog


def name_of(prefix: str, event: Event) -> str:
    """The id of what an event began."""
    return f"{prefix}-{event.seq}"


def find_event(
    log: EventLog, name: str, prefix: str, event_type: str, missing: type[HooklineError]
) -> Event:
    """The event that began what has this id; raises `missing` if there is none."""
    head, _, digits = name.partition("-")
    if head.upper() == prefix and is_number(digits):
        event = log.find(int(digits))
        if event is not None and event.type == event_type:
            return event
    raise missing(f"{str(missing.__doc__).removesuffix('.')}: {name[:40]!r}")
