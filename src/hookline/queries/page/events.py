"""The log, and one event with everything that it led to."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain.events import Event
from hookline.domain.runs.model import UnknownRun
from hookline.hooks.history.explain import Explanation
from hookline.queries.page.shown import (
    CallRow,
    EventRow,
    Shown,
    call_row,
    clipped,
    event_row,
    optional_text,
    run_of_event,
)
from hookline.queries.why import why

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hookline.app import App
    from hookline.ports.store import Log, View

# How many events after one are searched for those that it caused.
LOOKED_AT, STEP = 2000, 1000


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


def stream_lines(view: View, events: Iterable[Event]) -> Iterator[StreamLine]:
    """Events as the stream tells them, each with the task that its run works on."""
    tasks: dict[str, str | None] = {}
    for event in events:
        run, node = run_of_event(event), event.node_id
        task = node if node.startswith("T-") else optional_text(event.data.get("taskId"))
        if task is None and run is not None:
            if run not in tasks:
                tasks[run] = _task_of(view, run)
            task = tasks[run]
        yield StreamLine(
            kind="event",
            seq=event.seq,
            type=event.type,
            node=node,
            at=event.timestamp,
            session=optional_text(event.metadata.get("session")),
            run=run,
            task=task,
        )


def _task_of(view: View, run: str) -> str | None:
    with suppress(UnknownRun):  # an event can name any
        return optional_text(view.runs.find(run).input.get("taskId"))
    return None


def stream_beat(kind: str, seq: int) -> StreamLine:
    """A line of the stream that is not an event."""
    return StreamLine(
        kind=kind, seq=seq, type="", node="", at="", session=None, run=None, task=None
    )


class EventFilter(NamedTuple):
    """Which events: of types, about a node; older than `before` and newer than `after`."""

    types: tuple[str, ...] = ()
    node: str | None = None
    before: int | None = None
    after: int | None = None


def events_page(app: App, wanted: EventFilter, limit: int) -> EventsPage:
    """Events, the newest first."""
    with app.read() as view:
        last = view.log.last()
        before = last + 1 if wanted.before is None else min(wanted.before, last + 1)
        found = list(islice(_backwards(view.log, wanted, before), limit + 1))
        rows = [event_row(each) for each in found[:limit]]
        return EventsPage(seq=last, events=rows, next=rows[-1].seq if len(found) > limit else None)


def _backwards(log: Log, wanted: EventFilter, before: int) -> Iterator[Event]:
    """Events from newer to older; the log is read a part at a time."""
    least, step = wanted.after or 0, STEP
    while before > least + 1:
        begin = max(before - 1 - step, least)
        part = log.events(after=begin, types=wanted.types, node_id=wanted.node)
        yield from (each for each in reversed(part) if each.seq < before)
        before, step = begin + 1, step * 4


def event_page(app: App, seq: int) -> EventPage:
    """One event with everything that it led to."""
    with app.read() as view:
        event = view.log.at(seq)
        later = view.log.events(after=seq, limit=LOOKED_AT)
        return EventPage(
            seq=view.log.last(),
            event=event,
            payload=clipped(view.calls.payload(seq)),
            calls=[call_row(view, each) for each in view.calls.deliveries(seq)],
            caused=[event_row(each) for each in later if each.metadata.get("cause") == seq],
            why=why(app, view, str(seq)),
        )
