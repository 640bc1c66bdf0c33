"""The scheduler that needs no server: each process looks for itself what is due.

The store wakes it. A run that waits costs nothing: the next time that something is due is one
lookup in an index.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookline.cancelling import end
from hookline.domain.runs.due import SET_BACK
from hookline.domain.timestamps import iso
from hookline.errors import StoreLost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.work.repository import SetupProblem
    from hookline.ports.schedulers import Advance, Done, Parked, SchedulerSite

IDLE = 2.0


def open_scheduler(site: SchedulerSite) -> LocalScheduler:
    """The scheduler of this process."""
    return LocalScheduler(site)


async def problems(site: SchedulerSite) -> Sequence[SetupProblem]:
    """Nothing can be missing."""
    return ()


class LocalScheduler:
    """Advances whatever is due and free; leases keep processes apart."""

    def __init__(self, site: SchedulerSite) -> None:
        self._site, self._store = site, site.store
        self._busy: dict[str, asyncio.Future[Done | Parked]] = {}
        self._clock: float | None = None
        self._is_unsure = True

    async def serve(self, advance: Advance) -> None:
        """Advance whatever is due, until it is cancelled."""
        try:
            while True:
                with suppress(StoreLost):  # in the middle of a look: nothing was changed
                    self._collect()
                    self._begin_due(advance)
                    await self._wait()
        finally:
            await end(*self._busy.values())
            self._busy.clear()

    async def nudge(self, run_id: str) -> None:
        """Nothing: what has happened is in the store, which wakes every process."""

    async def forget(self, run_id: str) -> None:
        """Nothing: a run that is over is never due."""

    def _begin_due(self, advance: Advance) -> None:
        is_free, now = self._site.is_free, self._store.time()
        with self._store.read() as view:
            due = view.runs.leases.due(now, is_free)
            if self._may_be_set_back():
                asleep = view.runs.leases.parked_later(now, iso(now + SET_BACK), is_free)
                self._is_unsure = bool(asleep)
                due += asleep
            due = self._site.admits(view, [each for each in due if each not in self._busy])
        for run_id in due:
            if run_id not in self._busy and len(self._busy) < self._site.at_once:
                self._busy[run_id] = asyncio.ensure_future(advance(run_id))

    def _may_be_set_back(self) -> bool:
        """Whether runs may wait for a time of a clock that was set back, here or before."""
        clock = self._store.time() - time.monotonic()
        self._is_unsure = self._is_unsure or self._clock is None or clock < self._clock - SET_BACK
        self._clock = clock
        return self._is_unsure

    def _collect(self) -> None:
        for run_id, task in list(self._busy.items()):
            if task.done():
                del self._busy[run_id]
                task.result()

    async def _wait(self) -> None:
        with self._store.read() as view:
            now = view.time()
            soon = view.runs.leases.next_wake(now)
        timeout = IDLE if soon is None else max(0.0, min(IDLE, soon - now))
        woken = asyncio.ensure_future(self._site.wakeup.wait(timeout))
        waits: set[asyncio.Future[Any]] = {woken, *self._busy.values()}
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        woken.cancel()
