"""Sending metrics: the figures of the record as they are now."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from hookline.ports.exports import NotTaken
from hookline.queries.telemetry.figures import FigureReader

if TYPE_CHECKING:
    from hookline.wiring.running.telemetry import Sending


class FigureSender:
    """Sends metrics to one destination, if it wants any."""

    def __init__(self, sending: Sending) -> None:
        self._store, self._collector = sending.store, sending.collector
        self._is_wanted = sending.destination.metrics is not None
        self._reader = FigureReader(sending.cleaner)
        self._sent_at = time.monotonic()

    def send_if_due(self, every: float) -> None:
        """Send them, unless that was done a moment ago; those that do not arrive are not kept."""
        if self._is_wanted and time.monotonic() - self._sent_at >= every:
            self._sent_at = time.monotonic()
            with suppress(NotTaken):
                self.send()

    def send(self) -> None:
        """Send them now; NotTaken if they did not arrive."""
        with self._store.read() as view:
            found = self._reader.read(view)
            since, now = self._reader.since(view), view.time()
        asyncio.run(self._collector.figures(found, since, now))
