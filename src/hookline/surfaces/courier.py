"""The hooks that wait after a change, for servers that change things for many."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING

from hookline.app import App
from hookline.cancelling import end
from hookline.operations.announcements import deliver_and_tell
from hookline.wiring.calling.retrying import retried

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.domain.hooks.records import Delivery

PATIENCE = 10.0


class Courier:
    """Delivers on behalf of all calls; what fails is said by `note`.

    One at a time: two deliveries of one process would take each other's for abandoned.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._one = asyncio.Lock()
        self._broken = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()
        self._note = note

    async def deliver(self, environ: Mapping[str, str], start: str | None = None) -> None:
        """Call the hooks that wait; the caller waits a while, slow hooks run in the background."""
        if self._broken.is_set():  # what is tried again delivers all that waits
            return
        task = asyncio.create_task(self._drain(environ, start))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        breaks = asyncio.ensure_future(self._broken.wait())
        await asyncio.wait((task, breaks), timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        breaks.cancel()

    async def close(self) -> None:
        """Stop; calls that were interrupted are made again by the next process."""
        await end(*self._running)

    async def _drain(self, environ: Mapping[str, str], start: str | None) -> None:
        async def deliver() -> int:
            with closing(App.open(start, environ=environ)) as app:
                app.listen, app.tell = self._tell_failure, self._note
                return await deliver_and_tell(app)

        async with self._one:
            await retried(deliver, self._tell_trouble)
            self._broken.clear()

    def _tell_trouble(self, text: str) -> None:
        self._broken.set()
        self._note(text)

    def _tell_failure(self, row: Delivery) -> None:
        if row.failure:
            self._note(row.failure)
