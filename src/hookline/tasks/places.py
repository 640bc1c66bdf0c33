"""Things that live in the log alone are named by their place in it: `IT-12` began at event 12."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.numbers import is_number

if TYPE_CHECKING:
    from hookline.domain.events import Event
    from hookline.errors import HooklineError
    from hookline.ports.store import EventLog


def name_of(prefix: str, event: Event) -> str:
    """What the thing that an event began is called."""
    return f"{prefix}-{event.seq}"


def find_event(
    log: EventLog, name: str, prefix: str, event_type: str, missing: type[HooklineError]
) -> Event:
    """The event that began the thing of this name, or the error for one that is missing."""
    head, _, digits = name.partition("-")
    if head.upper() == prefix and is_number(digits):
        event = log.find(int(digits))
        if event is not None and event.type == event_type:
            return event
    raise missing(f"{name[:40]!r} is unknown: {missing.__doc__}")
