"""The log, and one event with everything that it led to."""

from __future__ import annotations

from typing import Any

from hookline.domain.events import Event
from hookline.hooks.history.explain import Explanation
from hookline.queries.page.shown import CallRow, EventRow, Shown, optional_text, run_of_event


class EventsPage(Shown):
    """Events in order; `next` is the `before` of older ones."""

    seq: int
    events: list[EventRow]
    next: int | None


class EventPage(Shown):
    """An event: what its hooks saw and said, what caused it, and what it caused."""

    seq: int
    event: Event
    payload: Any
    calls: list[CallRow]
    caused: list[EventRow]
    why: Explanation


class StreamLine(Shown):
    """A line of the stream: an event in a few words; or `beat`, which says that all is well.

    Of a `beat`, `seq` is the newest event; of `again` too: too much was missed, so read afresh.
    """

    kind: str
    seq: int
    type: str
    node: str
    at: str
    session: str | None
    run: str | None
    task: str | None


class FeedEntry(Shown):
    """What an agent says or does, or a hook next to it, as it was told to those who watch."""

    timestamp: str
    type: str
    data: dict[str, Any]


def stream_line(event: Event) -> StreamLine:
    """An event as the stream tells it."""
    data, node = event.data, event.node_id
    task = node if node.startswith("T-") else optional_text(data.get("taskId"))
    return StreamLine(
        kind="event",
        seq=event.seq,
        type=event.type,
        node=node,
        at=event.timestamp,
        session=optional_text(event.metadata.get("session")),
        run=run_of_event(event),
        task=task,
    )


def stream_beat(kind: str, seq: int) -> StreamLine:
    """A line of the stream that is no event."""
    return StreamLine(
        kind=kind, seq=seq, type="", node="", at="", session=None, run=None, task=None
    )
