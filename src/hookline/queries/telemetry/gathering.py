"""The next spans to send: what is over since an exporter looked last."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.events import FIRED
from hookline.domain.hooks.records import CUT, PENDING, QUEUED, SKIPPED, Delivery
from hookline.domain.runs.model import TERMINAL
from hookline.domain.timestamps import seconds
from hookline.immutable import Immutable
from hookline.queries.telemetry.places import Borders, Places
from hookline.queries.telemetry.spans import RELEVANT, NotYet, Spans
from hookline.queries.telemetry.turns import FedTurns, TurnIndex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.domain.events import Event
    from hookline.domain.telemetry import ExportPosition, Span
    from hookline.ports.feeds import Feeds
    from hookline.ports.store import Blobs, View
    from hookline.queries.telemetry.content import SentContent

PAGE = 200
# How long the tools of a turn are waited for: who writes its feed may be a moment late, or dead.
LATE = 5.0
_OPEN = (PENDING, QUEUED, CUT)
_FIRING = re.compile(r"(R-[0-9]+)/([0-9]+)/")


class SpanBatch(Immutable):
    """Spans, the position after them, and which calls they leave open or close.

    `has_more` is whether the record has more that is over; `is_new` whether anything was passed.
    """

    spans: Sequence[Span]
    position: ExportPosition
    left_open: Sequence[int] = ()
    closed: Sequence[int] = ()
    has_more: bool = False


class Gatherer:
    """Gathers spans of one store, batch by batch."""

    def __init__(
        self,
        store_id: str,
        feeds: Feeds,
        blobs: Blobs,
        content: SentContent,
        drivers: Mapping[str, str],
    ) -> None:
        self._store_id, self._blobs, self._content = store_id, blobs, content
        self._drivers = drivers
        self._turns, self._tools, self._borders = TurnIndex(), FedTurns(feeds), Borders()

    def gather(self, view: View, position: ExportPosition, limit: int) -> SpanBatch:
        """The next spans, about `limit` of them."""
        places = Places(view, self._store_id, self._borders)
        known = (self._content, self._blobs, self._turns, self._tools, self._drivers)
        making = Spans(view, places, *known)
        spans: list[Span] = []
        seq, more_events = _events(view, making, position, spans, limit)
        closed = _reopened(view, making, places, position, spans, limit)
        delivery, left_open, more_calls = _calls(view, making, places, position, spans, limit)
        after = msgspec.structs.replace(position, seq=seq, delivery=delivery)
        return SpanBatch(spans, after, left_open, closed, more_events or more_calls)


def _events(
    view: View, making: Spans, position: ExportPosition, spans: list[Span], limit: int
) -> tuple[int, bool]:
    """Spans of the next events; the place after them, and whether there are more."""
    seq = position.seq
    events = view.log.events(after=seq, types=RELEVANT, limit=PAGE)
    for event in events:
        try:
            made = list(making.of_event(event))
        except NotYet:
            if 0 <= view.time() - seconds(event.timestamp) < LATE:
                return seq, False
            made = list(making.of_event(event, waits=False))
        spans += made
        seq = event.seq
        if len(spans) >= limit:
            return seq, True
    return (seq, True) if len(events) == PAGE else (view.log.last(), False)


def _reopened(
    view: View,
    making: Spans,
    places: Places,
    position: ExportPosition,
    spans: list[Span],
    limit: int,
) -> list[int]:
    """Spans of calls that were open before; their numbers."""
    closed: list[int] = []
    after = 0
    while rows := view.exports.perhaps_over(position.name, after, PAGE):
        for row in rows:
            after = row.id
            if _is_over(view, places, row):
                spans += _of_call(making, row)
                closed.append(row.id)
            if len(spans) >= limit:
                return closed
    return closed


def _calls(
    view: View,
    making: Spans,
    places: Places,
    position: ExportPosition,
    spans: list[Span],
    limit: int,
) -> tuple[int, list[int], bool]:
    """Spans of the next calls; the place after them, those that are open, whether more follow."""
    delivery = position.delivery
    left_open: list[int] = []
    rows = view.exports.calls_after(delivery, PAGE)
    for row in rows:
        if len(spans) >= limit:
            return delivery, left_open, True
        delivery = row.id
        if _is_over(view, places, row):
            spans += _of_call(making, row)
        else:
            left_open.append(row.id)
    return delivery, left_open, len(rows) == PAGE


def _of_call(making: Spans, row: Delivery) -> list[Span]:
    """What was skipped was not called."""
    return [] if row.status == SKIPPED else list(making.of_call(row))


def _is_over(view: View, places: Places, row: Delivery) -> bool:
    """Whether a call is over: a cut one is made again, as long as its run is where it was."""
    if row.status not in _OPEN:
        return True
    event = view.log.find(row.event_seq) if row.status == CUT else None
    return event is not None and not _may_fire_again(places, event)


def _may_fire_again(places: Places, event: Event) -> bool:
    name = _FIRING.match(str(event.data.get("name"))) if event.type == FIRED else None
    run = places.run(name[1]) if name else None
    return bool(name and run and run.status not in TERMINAL and run.chapter == int(name[2]))
