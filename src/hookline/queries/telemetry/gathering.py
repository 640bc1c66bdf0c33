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
        batch = _Batch(view, Spans(view, places, *known), places, position, limit)
        seq, more_events = batch.events()
        closed = batch.reopened()
        delivery, left_open, more_calls = batch.calls()
        after = msgspec.structs.replace(position, seq=seq, delivery=delivery)
        return SpanBatch(batch.spans, after, left_open, closed, more_events or more_calls)


class _Batch:
    """The spans of what is over after a position, about `limit` of them, as they are found."""

    def __init__(
        self, view: View, making: Spans, places: Places, position: ExportPosition, limit: int
    ) -> None:
        self.spans: list[Span] = []
        self._view, self._making, self._places = view, making, places
        self._position, self._limit = position, limit

    def events(self) -> tuple[int, bool]:
        """Those of the next events; the place after them, and whether there are more."""
        view, seq = self._view, self._position.seq
        events = view.log.events(after=seq, types=RELEVANT, limit=PAGE)
        for event in events:
            try:
                made = list(self._making.of_event(event))
            except NotYet:
                if 0 <= view.time() - seconds(event.timestamp) < LATE:
                    return seq, False
                made = list(self._making.of_event(event, waits=False))
            self.spans += made
            seq = event.seq
            if self._is_full():
                return seq, True
        return (seq, True) if len(events) == PAGE else (view.log.last(), False)

    def reopened(self) -> list[int]:
        """Those of calls that were open before; their numbers."""
        closed: list[int] = []
        after = 0
        while rows := self._view.exports.perhaps_over(self._position.name, after, PAGE):
            for row in rows:
                after = row.id
                if self._note(row):
                    closed.append(row.id)
                if self._is_full():
                    return closed
        return closed

    def calls(self) -> tuple[int, list[int], bool]:
        """Those of the next calls; the place after them, which are open, whether more follow."""
        delivery = self._position.delivery
        left_open: list[int] = []
        rows = self._view.exports.calls_after(delivery, PAGE)
        for row in rows:
            if self._is_full():
                return delivery, left_open, True
            delivery = row.id
            if not self._note(row):
                left_open.append(row.id)
        return delivery, left_open, len(rows) == PAGE

    def _is_full(self) -> bool:
        return len(self.spans) >= self._limit

    def _note(self, row: Delivery) -> bool:
        """Whether a call is over; then its spans are here, unless it was skipped."""
        is_over = _is_over(self._view, self._places, row)
        if is_over and row.status != SKIPPED:
            self.spans += self._making.of_call(row)
        return is_over


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
