"""Advances one run in one process, with those that it calls; and keeps leases."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.cancelling import end
from hookline.domain.hosts import LEASE_HERE
from hookline.domain.runs.due import has_woken
from hookline.domain.runs.model import PAUSED, Run
from hookline.domain.timestamps import elapsed
from hookline.errors import StoreError, StoreLost, StoreNewer, WaitEnded
from hookline.flows.called_runs import all_open_called
from hookline.flows.engine import LOOK_AGAIN, Done, Engine, Parked
from hookline.flows.outcomes import is_stuck
from hookline.flows.waits import has_come, moment_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.ports.store import Store, Transaction, View

# How often a lease is renewed while it lasts.
RENEWALS = 4
BEAT = LEASE_HERE / RENEWALS
AT_ONCE = 32


class Presence(NamedTuple):
    """What this process says where others cannot see whether it works.

    `beat` comes at each beat. `tell` is a part of each renewal, of which the first comes at once,
    and `leave` comes after the last one; `renewed` hears when one was sent, once that is
    acknowledged. `rest` comes when nothing is renewed any more.
    """

    beat: Callable[[], None]
    tell: Callable[[Transaction], None]
    renewed: Callable[[float], None]
    leave: Callable[[Transaction], None]
    rest: Callable[[], None]


class Heartbeat:
    """Renews this process's leases in a separate thread, with its own connection.

    A long commit or a busy event loop must not cost a run its lease. `keep` says what else has to
    be renewed now, and more often.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        owner: str,
        keep: Callable[[], Callable[[Transaction], None] | None] = lambda: None,
        *,
        lease: float = LEASE_HERE,
        presence: Presence | None = None,
    ) -> None:
        self._open_store = open_store
        self._owner = owner
        self._keep = keep
        self._lease, self._presence = lease, presence
        self._next = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True, name="heartbeat")

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        self._stop.set()
        # It may be waiting for a server as well, which nobody wants any more.
        self._thread.join(timeout=0 if kind is WaitEnded else 5)

    def _beat(self) -> None:
        store, is_over = self._open_store(), False
        try:
            if self._presence is None:
                is_over = self._stop.wait(BEAT)
            while not is_over:
                # A store that is busy or full now may not be at the next beat; if the lease is
                # lost meanwhile, the fence says so.
                with suppress(StoreError):
                    self._renew(store)
                is_over = self._stop.wait(BEAT)
            if self._presence is not None:
                with suppress(StoreError), store.write({}) as tx:
                    self._presence.leave(tx)
                self._presence.rest()
        finally:
            store.close()

    def _renew(self, store: Store) -> None:
        if self._presence is not None:
            self._presence.beat()
        keep, sent = self._keep(), elapsed()
        is_due = sent >= self._next
        if not is_due and keep is None:
            return
        with store.write({}) as tx:
            if is_due:
                now = store.time()
                over = 0.0 if self._presence is None else now
                tx.runs.leases.renew(self._owner, now + self._lease, not_over=over)
                if self._presence is not None:
                    self._presence.tell(tx)
            if keep is not None:
                keep(tx)
        if is_due:
            # Not later than the beat after so much time.
            self._next = sent + self._lease / RENEWALS - BEAT / 2
            if self._presence is not None:
                self._presence.renewed(sent)


class FlowRunner:
    """Advances one run while someone watches."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def run_one(
        self,
        run_id: str,
        *,
        max_iterations: int | None = None,
        for_people: bool = True,
    ) -> Done | Parked:
        """Advance one run until it is over, or waits for something other than a time.

        A question is not waited for: at its time it only expires. Without `for_people` a run is
        left as soon as it waits for a person. The runs that it calls are advanced at the same time.
        """
        first = self._iteration(run_id)
        async with CalledRuns(self._engine, run_id) as called:
            while True:
                done = self._iteration(run_id) - first
                left = None if max_iterations is None else max(0, max_iterations - done)
                result = await self._engine.advance(run_id, max_iterations=left)
                if isinstance(result, Done) or result.at_limit:
                    return result
                if result.held:
                    self._refuse_newer(run_id)
                with suppress(StoreLost):  # in the middle of a look: nothing was changed
                    if over := await self._wait_for(run_id, result, called, for_people=for_people):
                        return over

    async def _wait_for(
        self, run_id: str, parked: Parked, called: CalledRuns, *, for_people: bool
    ) -> Parked | None:
        """Wait for what a run waits for; the result, if this process does not."""
        is_left = not called.any_continues() and self._is_left(
            run_id, parked, for_people=for_people
        )
        if is_left:
            return parked
        if parked.until is not None and not parked.held:
            self._engine.observe("waits", _told(run_id, parked))
        await self._pause(parked, run_id, called)
        if parked.until is None and self._is_stuck(run_id):
            return parked._replace(needs_person=True)
        return None

    def _refuse_newer(self, run_id: str) -> None:
        with self._engine.store.read() as view:
            if self._engine.is_newer(view, run_id):
                raise StoreNewer(f"{run_id} was continued by a newer Hookline: upgrade this one")

    def _is_stuck(self, run_id: str) -> bool:
        """Whether someone stopped a run while those that it called continued."""
        with self._engine.store.read() as view:
            return is_stuck(view, view.runs.find(run_id))

    def _is_left(self, run_id: str, result: Parked, *, for_people: bool) -> bool:
        """Whether this process does not wait for what a run waits for."""
        if result.until is None:
            return True
        if not result.needs_person or not for_people:
            return result.needs_person
        with self._engine.store.read() as view:
            return _asks(view, view.runs.find(run_id), result.until)

    def _iteration(self, run_id: str) -> int:
        with self._engine.store.read() as view:
            return view.runs.find(run_id).iteration

    async def _pause(self, parked: Parked, run_id: str, called: CalledRuns) -> None:
        """Wait until a time, or until something happens to the run or to those that it called."""
        if parked.held:  # a run that another process advances is always awake
            await asyncio.sleep(LOOK_AGAIN)
            return
        until = math.inf if parked.until is None else parked.until
        # A clock that is set back meanwhile must not make the wait longer.
        now = self._engine.store.time
        enough = time.monotonic() + until - now()
        while (left := min(until - now(), enough - time.monotonic())) > 0:
            with self._engine.store.read() as view:
                run = view.runs.find(run_id)
                if has_come(run, view.runs.pending(run), view.time()):
                    return
            if parked.until is None and not called.any_continues():
                return
            await self._engine.wakeup.wait(min(1.0, left))


class CalledRuns:
    """Advances the runs that one run calls, directly or not, at the same time."""

    def __init__(self, engine: Engine, run_id: str) -> None:
        self._engine = engine
        self._run_id = run_id
        self._busy: dict[str, asyncio.Task[Done | Parked]] = {}
        self._seen: set[str] = set()
        self._wake_at = math.inf
        self._serving: asyncio.Task[None] | None = None

    async def __aenter__(self) -> CalledRuns:
        with self._engine.store.read() as view:
            calls_flows = view.runs.find(self._run_id).flow not in self._engine.own
        if calls_flows:
            self._begin()
            self._serving = asyncio.ensure_future(self._serve())
        return self

    async def __aexit__(self, *details: object) -> None:
        await end(*self._busy.values(), *([self._serving] if self._serving else []))
        for run_id in self._busy:
            self._engine.release(run_id)

    def any_continues(self) -> bool:
        """Whether one of them continues, or will at a time; raises what went wrong here."""
        if self._serving is not None and self._serving.done():
            self._serving.result()
        with self._engine.store.read() as view:
            found = all_open_called(view, self._run_id)
            if any(each.run_id in self._busy or _goes_on(view, each) for each in found):
                return True
            # The end of the last one is the news that the run itself waits for.
            return bool(self._seen) and has_woken(view.runs.find(self._run_id), view.time())

    async def _serve(self) -> None:
        while True:
            left = min(max(0.0, self._wake_at - self._engine.store.time()), 1.0)
            woken = asyncio.ensure_future(self._engine.wakeup.wait(left))
            await asyncio.wait({woken, *self._busy.values()}, return_when=asyncio.FIRST_COMPLETED)
            woken.cancel()
            with suppress(StoreLost):  # in the middle of a look: nothing was changed
                self._collect()
                self._begin()

    def _begin(self) -> None:
        """Advance what is due; what was parked before this process started is tried once."""
        now = self._engine.store.time()
        with self._engine.store.read() as view:
            idle = [
                run
                for run in all_open_called(view, self._run_id)
                if run.run_id not in self._busy and self._is_free(view, run)
            ]
        for run in idle:
            is_due = run.run_id not in self._seen or has_woken(run, now)
            if is_due and len(self._busy) < AT_ONCE:
                self._seen.add(run.run_id)
                self._busy[run.run_id] = asyncio.ensure_future(self._engine.advance(run.run_id))
        moments = [run.wake_at for run in idle if run.wake_at is not None]
        self._wake_at = min((each for each in moments if each > now), default=math.inf)

    def _is_free(self, view: View, run: Run) -> bool:
        return run.status != PAUSED and not self._engine.owner.is_elsewhere(view, run.run_id)

    def _collect(self) -> None:
        for run_id, task in list(self._busy.items()):
            if task.done():
                del self._busy[run_id]
                result = task.result()
                if isinstance(result, Parked) and result.until is not None and not result.held:
                    self._engine.observe("waits", _told(run_id, result))


def _told(run_id: str, parked: Parked) -> dict[str, Any]:
    return {"runId": run_id, "reason": parked.reason, "until": parked.until}


def _goes_on(view: View, run: Run) -> bool:
    """Whether a run continues without a person."""
    if run.status == PAUSED or run.wake_at is None:
        return False
    return run.wake_at <= view.time() or not _asks(view, run, run.wake_at)


def _asks(view: View, run: Run, until: float) -> bool:
    """Whether a run only waits for a question, which ends at a time."""
    pending = view.runs.pending(run)
    ends = [moment_of(each) for each in pending if each.kind == "breakpoint"]
    return any(end is not None and end <= until for end in ends)
