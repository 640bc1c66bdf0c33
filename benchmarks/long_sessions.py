"""Sessions of many iterations, made in seconds: a recorded iteration is written again and again.

The copies go through the store's own verbs, so that everything that holds for a session that took
days holds for them: the journal's checksums, the tables, the calls of hooks with their payloads.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.adapters.store.sqlite import SqliteStore
from hookline.domain.events import RUN_EVENTS
from hookline.domain.timestamps import seconds
from hookline.flows import journal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.adapters.store.store import Transaction, View
    from hookline.domain.events import Event
    from hookline.domain.hooks.records import Delivery

_CHAPTER = "run_chapter"
_TURN = re.compile(r'"turn":"[^"]*"')


class Recorded(NamedTuple):
    """An event as it was recorded, with what its hooks saw and said."""

    event: Event
    payload: dict[str, Any] | None
    calls: list[Delivery]


def lengthen(path: str, run_id: str, iterations: int, apart: float = 0.0) -> None:
    """Let a session that ended at its limit have so many iterations more, `apart` in seconds.

    Its last iteration but one is written again for each, and at the end the last one.
    """
    moment = 0.0
    store = SqliteStore(path, clock=lambda: moment)
    # Nothing else knows this file yet, so order on the disk is not needed.
    store._database.connection.execute("PRAGMA synchronous = OFF")
    try:
        with store.read() as view:
            *_, middle, last = _chapters(view, run_id)
        moment, number = seconds(last[-1].event.timestamp), last[0].event.data["chapter"]
        for left in reversed(range(iterations)):
            moment, number = moment + apart, number + 1
            with store.write({}) as tx:
                _write(tx, middle if left else last, number)
                if not left:  # it rests, as it did before
                    tx.runs.leases.let_go(run_id, tx.runs.leases.holder(run_id)[1], None)
    finally:
        store.close()


def _chapters(view: View, run_id: str) -> list[list[Recorded]]:
    places = [each.seq for each in view.log.events(node_id=run_id, types=(_CHAPTER,))]
    return [
        [_recorded(view, event) for event in view.log.events(after=start - 1, limit=end - start)]
        for start, end in pairwise((*places, view.log.last() + 1))
    ]


def _recorded(view: View, event: Event) -> Recorded:
    return Recorded(event, view.calls.payload(event.seq), view.calls.deliveries(event.seq))


def _write(tx: Transaction, chapter: Sequence[Recorded], number: int) -> None:
    """Write a chapter again, under another number and with turns of its own."""
    before = chapter[0].event.data["chapter"]
    for event, payload, calls in chapter:
        data = _renumbered(event.data, before, number, event.node_id)
        tx.metadata = event.metadata
        if event.type in RUN_EVENTS:
            data.pop("checksum")
            written = journal.write(tx, event.type, event.node_id, data)
        else:
            written = tx.append(event.type, event.node_id, data)
        if payload is not None:
            tx.calls.freeze(written.seq, payload)
        for each in calls:
            tx.calls.add(msgspec.structs.replace(each, id=0, event_seq=written.seq))


def _renumbered(data: dict[str, Any], before: int, number: int, node: str) -> dict[str, Any]:
    text = msgspec.json.encode(data).decode()
    text = text.replace(f"/{before}/", f"/{number}/")
    text = _TURN.sub(f'"turn":"{node}-{number}"', text)
    for name in ("chapter", "iteration"):
        text = text.replace(f'"{name}":{before}', f'"{name}":{number}')
    found: dict[str, Any] = msgspec.json.decode(text)
    return found
