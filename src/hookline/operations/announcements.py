"""Telling people what waits for them: `announce` looks, and writes what is new and what is over.

Commands look at their end, and those that advance runs all the while. Events that can make
something wait are noted in their own transaction, so the next look finds them, whoever was killed.
"""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.announcements import NEEDED, OVER
from hookline.domain.events import SYSTEM_NODE, Event
from hookline.domain.sessions.model import FLOW
from hookline.operations.telemetry.background import start_sending
from hookline.queries.waiting import announced
from hookline.queries.waiting.attention import items
from hookline.wiring.calling import delivering
from hookline.wiring.calling.notifications import is_anything_due, send_due
from hookline.wiring.running.hosts import dead_holders

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from hookline.app import App
    from hookline.domain.announcements import Announced
    from hookline.domain.hooks.records import Delivery
    from hookline.domain.payloads import AttentionNeeded, AttentionOver
    from hookline.ports.store import Transaction, View
    from hookline.queries.waiting.item import Item

# How often a process looks by itself: a killed process leaves no event, nor does a hook that works
# again.
LOOK_AGAIN = 5.0
# What begins is first left alone: a session that is resumed is nobody's for a moment.
GRACE = 2.0
# How long what happens together is waited for; longer, where much waits and a look takes time.
AT_MOST = 0.2
_ENDS = ("session_ended", "run_failed", "run_cancelled")


def announce(app: App) -> int:
    """Look once, and write an event for what is new and one for what is over; how many.

    Two processes never announce one thing twice: what was announced is compared inside the
    transaction that announces. Without a hook that would be called, nothing is looked at.
    """
    if not app.watch.announces or not app.delivers:
        return 0
    return app.change(_announce, app) if app.watch.should_look() or _is_different(app) else 0


def _is_different(app: App) -> bool:
    """Whether something waits that is not announced, or the other way round."""
    with app.read() as view:
        return _found(app, view).keys() != view.announcements.all().keys()


def _found(app: App, view: View) -> dict[str, Item]:
    """What waits, by its key; but a hook that could not tell people is not told the same way."""
    return {item.key: item for item in items(app, view) if not item.is_told}


def _announce(tx: Transaction, app: App) -> int:
    unseen, known, found = tx.announcements.unseen(), tx.announcements.all(), _found(app, tx)
    tx.announcements.seen(unseen)
    tx.announcements.keep_dead_holders(dead_holders(tx))
    before = len(tx.events)
    for seq in unseen:
        event = tx.log.find(seq)
        if event is not None:
            _tell_of_session(tx, event, found)
    told = {event.data["key"] for event in tx.events[before:]}
    for key, item in found.items():
        if key not in known and key not in told:
            _append(tx, NEEDED, item.node, announced.waiting(item, tx.now))
    for key, earlier in known.items():
        if key not in found:
            _end(tx, earlier)
    return len(tx.events) - before


def _tell_of_session(tx: Transaction, event: Event, found: dict[str, Item]) -> None:
    """Announce that a session ended, or that a limit of it is near."""
    if event.type not in (*_ENDS, "session_iteration"):
        return
    run = tx.runs.find(event.node_id)
    if run.flow != FLOW or event.data.get("waitsFor"):  # tasks that it planned come first
        return
    if event.type in _ENDS:
        _append(tx, NEEDED, run.run_id, announced.ended(tx, run, event, found))
    else:
        for each in announced.near_limits(tx, run, event):
            _append(tx, NEEDED, run.run_id, each)


def _end(tx: Transaction, earlier: Announced) -> None:
    event = tx.log.find(earlier.seq)
    assert event is not None  # what is announced folds from the log
    _append(tx, OVER, earlier.node_id, announced.over(event.data))


def _append(
    tx: Transaction, event_type: str, node: str, data: AttentionNeeded | AttentionOver
) -> None:
    """An event as deep as the last one about its task or run: hooks that cause each other end."""
    last = tx.log.newest(node) if node != SYSTEM_NODE else None
    depth = last.metadata.get("depth", 0) if last is not None else 0
    metadata = {"depth": depth} if depth else None
    tx.append(event_type, node, msgspec.to_builtins(data), metadata=metadata)


async def deliver_and_tell(app: App) -> int:
    """Call the hooks that wait, look, and send what is due; how many events had hooks."""
    count = int(await app.deliver())
    if app.watch.should_look() and announce(app):
        count += await app.deliver()
    if app.watch.announces:
        await send_due(app)
    return count


# While a command advances runs


@asynccontextmanager
async def at_work(
    app: App,
    observe: Callable[[Delivery], None] | None = None,
    tell: Callable[[str], None] | None = None,
    keep: Callable[[], Callable[[Transaction], None] | None] = lambda: None,
) -> AsyncIterator[None]:
    """What a process needs that advances runs: a heartbeat, hooks called, people told.

    What is over meanwhile is sent to whoever takes telemetry.
    """
    start_sending(app)
    async with _at_work(app, observe, tell, keep):
        yield


@asynccontextmanager
async def _at_work(
    app: App,
    observe: Callable[[Delivery], None] | None,
    tell: Callable[[str], None] | None,
    keep: Callable[[], Callable[[Transaction], None] | None],
) -> AsyncIterator[None]:
    if not app.watch.announces:
        async with delivering.at_work(app, observe, tell, keep):
            yield
        return
    looks = _Looks(app)
    async with (
        delivering.at_work(app, observe, tell, keep, looks.look),
        delivering.delivered(app.feeds, looks.send, app.tell),
    ):
        yield
    await tell_rest(app)


class _Looks:
    """Looks as something happens, and now and then."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._not_before = time.monotonic() + GRACE
        self._next = time.monotonic() + LOOK_AGAIN

    def look(self) -> None:
        """Look, if it is time or something happened."""
        now = time.monotonic()
        if now >= self._not_before and (now >= self._next or self._app.watch.should_look()):
            announce(self._app)
            took = time.monotonic() - now
            self._not_before, self._next = now + AT_MOST + 10 * took, now + LOOK_AGAIN

    async def send(self) -> int:
        """Send what is due."""
        return await send_due(self._app) if is_anything_due(self._app) else 0


async def tell_rest(app: App) -> None:
    """Look for the last time, call the hooks of that, and send what would wait for a digest."""
    if announce(app) and app.work_waits():
        await app.deliver()
    await send_due(app, leaving=True)
