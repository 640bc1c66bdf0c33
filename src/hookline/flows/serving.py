"""What a process does that advances whatever is due: it lets a scheduler call the engine."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookline.errors import StoreLost

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.flows.engine import Done, Engine, Parked
    from hookline.ports.schedulers import Scheduler
    from hookline.ports.store import View

LOOK_AGAIN = 0.5


class RunServer:
    """Has the runs of a store advanced here as a scheduler says."""

    def __init__(
        self,
        engine: Engine,
        scheduler: Scheduler,
        admits: Callable[[View, list[str]], list[str]] = lambda view, due: due,
    ) -> None:
        """Begin nothing; `admits` says which of the runs that are due may be advanced here."""
        self._engine, self._scheduler, self._admits = engine, scheduler, admits
        self._busy: set[str] = set()
        self._served = 0
        self._ended = asyncio.Event()

    @property
    def busy(self) -> bool:
        """Whether some run is being advanced."""
        return bool(self._busy)

    async def serve(self, *, once: bool = False) -> int:
        """Advance runs, forever, or until nothing is due; how often one was advanced."""
        if not once:
            await self._scheduler.serve(self._advance)
            return self._served
        serving = asyncio.ensure_future(self._scheduler.serve(self._advance))
        try:
            while not serving.done() and self._has_more():
                await self._wait(serving)
        finally:
            serving.cancel()
            await asyncio.wait({serving})
        if not serving.cancelled():
            serving.result()
        return self._served

    async def _advance(self, run_id: str) -> Done | Parked:
        is_first = run_id not in self._busy
        self._busy.add(run_id)
        self._served += 1
        try:
            return await self._engine.advance(run_id)
        except asyncio.CancelledError:
            if is_first:
                self._engine.release(run_id)
            raise
        finally:
            if is_first:
                self._busy.discard(run_id)
            self._ended.set()

    def _has_more(self) -> bool:
        if self._busy:
            return True
        with suppress(StoreLost), self._engine.store.read() as view:
            due = view.runs.leases.due(view.time(), self._engine.owner.is_free)
            return bool(self._admits(view, due))
        return True

    async def _wait(self, serving: asyncio.Future[None]) -> None:
        """Wait until a run was advanced, or something was stored."""
        self._ended.clear()
        ended = asyncio.ensure_future(self._ended.wait())
        woken = asyncio.ensure_future(self._engine.wakeup.wait(LOOK_AGAIN))
        waits: set[asyncio.Future[Any]] = {ended, woken, serving}
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for each in (ended, woken):
            each.cancel()
