"""Sending what is over: batch by batch, each with the position after it.

A process that sends has a lease on the position. If it is killed after a batch arrived and before
its position is stored, the next one sends that batch again, with the same ids.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.runs.model import PARKED, PAUSED, RUNNING
from hookline.domain.timestamps import doubled
from hookline.ports.exports import NotTaken
from hookline.queries.telemetry.content import SentContent
from hookline.queries.telemetry.gathering import Gatherer, SpanBatch
from hookline.tasks.task_runs import beginning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.telemetry import ExportPosition, Span
    from hookline.ports.store import Transaction
    from hookline.wiring.running.telemetry import Sending

BATCH = 200
# A lease outlasts the longest request by far, and is renewed with each batch.
LEASE = 120.0
# After a failure it is tried again later and later.
FIRST_RETRY, LAST_RETRY = 5.0, 300.0
LONGEST_ERROR = 300


class Sent(msgspec.Struct, rename="camel", kw_only=True):
    """What sending came to. `is_first` is whether the failure is the first one in a row.

    `is_elsewhere` is whether another process sends, `is_later` that it is too soon to try again.
    """

    spans: int = 0
    rejected: int = 0
    error: str | None = None
    is_first: bool = False
    is_elsewhere: bool = False
    is_later: bool = False


class SpanSender:
    """Sends the spans of one store to one destination."""

    def __init__(self, sending: Sending) -> None:
        found = sending.destination
        self._store, self._collector = sending.store, sending.collector
        self._name, self._owner, self._is_free = found.name, sending.owner, sending.is_free
        content = SentContent(sending.cleaner, found.has_content)
        self._gatherer = Gatherer(
            sending.store.id, sending.feeds, sending.blobs, content, sending.drivers
        )
        # As it is stored, and as far as it was looked since without finding anything to send.
        self._position: ExportPosition | None = None

    def send(self, *, at_once: bool = False, until: float | None = None) -> Sent:
        """Send everything that is over; `at_once` without waiting after a failure.

        Not much longer than `until`, by the monotonic clock.
        """
        sent = Sent()
        while until is None or time.monotonic() < until:
            position = self._position or self._take(sent, at_once=at_once)
            if position is None:
                break
            with self._store.read() as view:
                batch = self._gatherer.gather(view, position, BATCH)
            if not self._pass(position, batch, sent) or not batch.has_more:
                break
        return sent

    def let_go(self) -> None:
        """Let other processes send."""
        position, self._position = self._position, None
        if position is not None:
            with self._store.write({}) as tx:
                tx.exports.let_go(position.name, position.token)

    def _take(self, sent: Sent, *, at_once: bool) -> ExportPosition | None:
        """The position, if this process may send from there now."""
        with self._store.read() as view:
            known, now = view.exports.find(self._name), view.time()
        if known is not None and not self._may_take(known, now, sent, at_once=at_once):
            return None
        with self._store.write({}) as tx:
            found = tx.exports.find(self._name)
            if found is None:
                tx.exports.begin(self._name, _beginning(tx))
            elif not self._may_take(found, tx.time(), sent, at_once=at_once):
                return None
            tx.exports.take(self._name, self._owner, tx.next_token(), tx.time() + LEASE)
            self._position = tx.exports.find(self._name)
        return self._position

    def _may_take(self, found: ExportPosition, now: float, sent: Sent, *, at_once: bool) -> bool:
        is_free = found.owner is None or self._is_free(found.owner, found.lease_until)
        sent.is_elsewhere = not is_free
        sent.is_later = is_free and found.next_try > now and not at_once
        return is_free and not sent.is_later

    def _pass(self, position: ExportPosition, batch: SpanBatch, sent: Sent) -> bool:
        """Send a batch and store the position after it; whether the next one may follow."""
        if not (batch.spans or batch.left_open or batch.closed):
            self._position = batch.position
            return True
        try:
            rejected = asyncio.run(self._deliver(batch.spans))
        except NotTaken as problem:
            self._failed(position, str(problem)[:LONGEST_ERROR], sent)
            return False
        with self._store.write({}) as tx:
            count, now = len(batch.spans) - rejected, tx.time()
            if not tx.exports.arrived(batch.position, count, rejected, now):
                self._position, sent.is_elsewhere = None, True
                return False
            tx.exports.close(self._name, batch.closed)
            tx.exports.leave_open(self._name, batch.left_open)
            tx.exports.take(self._name, self._owner, position.token, now + LEASE)
        self._position = msgspec.structs.replace(
            batch.position, failures=0, next_try=0.0, error=None
        )
        sent.spans += count
        sent.rejected += rejected
        return True

    async def _deliver(self, spans: Sequence[Span]) -> int:
        """Send spans, in parts if the collector refuses them; how many it does not take at all."""
        if not spans:
            return 0
        try:
            return (await self._collector.spans(spans)).rejected
        except NotTaken as problem:
            if not problem.is_ours or len(spans) == 1:
                raise
            refused = problem
        middle, rejected, arrived = len(spans) // 2, 0, False
        for part in (spans[:middle], spans[middle:]):
            try:
                rejected += await self._deliver(part)
                arrived = True
            except NotTaken as problem:
                if not problem.is_ours:
                    raise
                rejected += len(part)
        if not arrived:  # whatever is wrong, it is not with one of them
            raise refused
        return rejected

    def _failed(self, position: ExportPosition, error: str, sent: Sent) -> None:
        sent.error, sent.is_first = error, position.failures == 0
        wait = doubled(FIRST_RETRY, position.failures, LAST_RETRY)
        self._position = None
        with self._store.write({}) as tx:
            tx.exports.failed(position, error, tx.time() + wait)
            tx.exports.let_go(position.name, position.token)


def _beginning(tx: Transaction) -> int:
    """Where a new destination begins: with what is under way."""
    runs = (run for status in (RUNNING, PARKED, PAUSED) for run in tx.runs.runs(status=status))
    began = (beginning(tx, run.run_id).seq - 1 for run in runs)
    return min([*began, tx.log.last()])
