"""Keeping runs going in one process: what is due is advanced, what waits costs nothing."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from hookline.domain.moments import iso
from hookline.errors import StoreError
from hookline.flows.engine import LEASE, LOOK_AGAIN, Done, Parked
from hookline.flows.waits import SET_BACK, has_come, moment_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from hookline.flows.engine import Engine
    from hookline.ports.store import Transaction

BEAT = LEASE / 4
IDLE = 2.0
AT_ONCE = 32


class OpenStore(Protocol):
    """A store that the heartbeat opened and closes."""

    def write(self, metadata: dict[str, Any]) -> AbstractContextManager[Transaction]:
        """A change that is stored whole or not at all."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Heartbeat:
    """Renews this process's leases from a thread and a connection of its own.

    A long commit or a busy event loop must not cost a run its lease. `keep` renews what else
    is held.
    """

    def __init__(
        self,
        open_store: Callable[[], OpenStore],
        owner: str,
        keep: Callable[[Transaction], None] = lambda tx: None,
    ) -> None:
        self._open_store = open_store
        self._owner = owner
        self._keep = keep
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
        try:
            while not self._stop.wait(BEAT):
                # A store that is busy or full now may not be at the next beat; if the lease is
                # lost meanwhile, the fence says so.
                with suppress(StoreError), store.write({}) as tx:
                    tx.runs.renew(self._owner, time.time() + LEASE)
                    self._keep(tx)
        finally:
            store.close()


class Runner:
    """Advances runs as they become due."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._busy: dict[str, asyncio.Task[Done | Parked]] = {}
        self._clock: float | None = None
        self._is_unsure = True

    async def run_one(
        self,
        run_id: str,
        *,
        max_iterations: int | None = None,
        wait: bool = True,
        for_people: bool = True,
    ) -> Done | Parked:
        """Advance one run until it is over, or waits for something that no clock brings.

        All that a clock brings a question is its end, so that nobody waits for that here.
        Without `for_people` it is left as soon as it waits for a person, whatever the clock says.
        """
        first = self._iteration(run_id)
        while True:
            done = self._iteration(run_id) - first
            left = None if max_iterations is None else max(0, max_iterations - done)
            result = await self._engine.advance(run_id, max_iterations=left)
            if isinstance(result, Done) or not wait or result.until is None:
                return result
            if result.needs_person and (not for_people or self._asks(run_id, result.until)):
                return result
            if not result.held:
                told = {"runId": run_id, "reason": result.reason, "until": result.until}
                self._engine.observe("waits", told)
            await self._pause(result, run_id)

    def _asks(self, run_id: str, until: float) -> bool:
        """Whether a question is what ends at a moment, and nothing goes on before."""
        with self._engine.store.read() as view:
            pending = view.runs.pending(view.runs.find(run_id))
        ends = [moment_of(each) for each in pending if each.kind == "breakpoint"]
        return any(end is not None and end <= until for end in ends)

    def _iteration(self, run_id: str) -> int:
        with self._engine.store.read() as view:
            return view.runs.find(run_id).iteration

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
            await self._let_go()

    @property
    def busy(self) -> bool:
        """Whether some run is being advanced."""
        return bool(self._busy)

    async def _let_go(self) -> None:
        for task in self._busy.values():
            task.cancel()
        await asyncio.gather(*self._busy.values(), return_exceptions=True)
        for run_id in self._busy:
            self._engine.release(run_id)
        self._busy.clear()

    def _begin_due(self) -> int:
        is_free, now = self._engine.owner.is_free, time.time()
        with self._engine.store.read() as view:
            due = view.runs.due(now, is_free)
            if self._may_be_set_back():
                asleep = view.runs.parked_later(now, iso(now + SET_BACK), is_free)
                self._is_unsure = bool(asleep)
                due += asleep
        begun = 0
        for run_id in due:
            if run_id not in self._busy and len(self._busy) < AT_ONCE:
                self._busy[run_id] = asyncio.ensure_future(self._engine.advance(run_id))
                begun += 1
        return begun

    def _may_be_set_back(self) -> bool:
        """Whether runs may wait for a moment of a clock that was set back, here or before."""
        clock = time.time() - time.monotonic()
        self._is_unsure = self._is_unsure or self._clock is None or clock < self._clock - SET_BACK
        self._clock = clock
        return self._is_unsure

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

    async def _pause(self, parked: Parked, run_id: str) -> None:
        """Wait for a moment, or for something to happen to the run."""
        assert parked.until is not None
        if parked.held:  # a run that someone else advances is always awake
            await asyncio.sleep(LOOK_AGAIN)
            return
        # A clock that is set back meanwhile makes nobody wait for longer than was said.
        enough = time.monotonic() + parked.until - time.time()
        while (left := min(parked.until - time.time(), enough - time.monotonic())) > 0:
            with self._engine.store.read() as view:
                run = view.runs.find(run_id)
                if has_come(run, view.runs.pending(run), time.time()):
                    return
            await self._engine.wakeup.wait(min(1.0, left))
