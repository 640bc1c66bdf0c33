"""Keeping runs going in one process: what is due is advanced, what waits costs nothing."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

from hookline.flows.engine import LEASE, Done, Parked

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.flows.engine import Engine
    from hookline.ports import Store

BEAT = LEASE / 4
IDLE = 2.0
AT_ONCE = 32


class Heartbeat:
    """Renews this process's leases from a thread and a connection of its own.

    A long commit or a busy event loop must not cost a run its lease.
    """

    def __init__(self, open_store: Callable[[], Store], owner: str) -> None:
        self._open_store = open_store
        self._owner = owner
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True, name="heartbeat")

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._stop.set()
        self._thread.join(timeout=5)

    def _beat(self) -> None:
        store = self._open_store()
        while not self._stop.wait(BEAT):
            with store.write({}) as tx:
                tx.runs.renew(self._owner, time.time() + LEASE)


class Runner:
    """Advances runs as they become due."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._busy: dict[str, asyncio.Task[Done | Parked]] = {}

    async def run_one(
        self, run_id: str, *, max_iterations: int | None = None, wait: bool = True
    ) -> Done | Parked:
        """Advance one run until it is over, or waits for something that no clock brings."""
        while True:
            result = await self._engine.advance(run_id, max_iterations=max_iterations)
            if isinstance(result, Done) or not wait or result.until is None:
                return result
            await self._pause(result.until, run_id)

    async def serve(self, *, once: bool = False) -> int:
        """Advance whatever is due, for ever, or until nothing is due any more."""
        served = 0
        try:
            while True:
                self._collect()
                served += self._begin_due()
                if once and not self._busy:
                    return served
                await self._wait()
        finally:
            for task in self._busy.values():
                task.cancel()
            await asyncio.gather(*self._busy.values(), return_exceptions=True)

    def _begin_due(self) -> int:
        with self._engine.store.read() as view:
            due = view.runs.due(time.time(), self._engine.owner.is_free)
        begun = 0
        for run_id in due:
            if run_id not in self._busy and len(self._busy) < AT_ONCE:
                self._busy[run_id] = asyncio.ensure_future(self._engine.advance(run_id))
                begun += 1
        return begun

    def _collect(self) -> None:
        for run_id, task in list(self._busy.items()):
            if task.done():
                del self._busy[run_id]
                task.result()

    async def _wait(self) -> None:
        with self._engine.store.read() as view:
            soon = view.runs.next_wake(time.time())
        timeout = IDLE if soon is None else max(0.0, min(IDLE, soon - time.time()))
        woken = asyncio.ensure_future(self._engine.wakeup.wait(timeout))
        await asyncio.wait({woken, *self._busy.values()}, return_when=asyncio.FIRST_COMPLETED)
        woken.cancel()

    async def _pause(self, until: float, run_id: str) -> None:
        """Wait for a moment, or for something to happen to the run."""
        while time.time() < until:
            await self._engine.wakeup.wait(min(1.0, max(0.0, until - time.time())))
            with self._engine.store.read() as view:
                wake = view.runs.find(run_id).wake_at
            if wake is not None and wake <= time.time():
                return
