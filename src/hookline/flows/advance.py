"""A run from taking its lease to letting it go: ticks, waits, signals. Used by the engine alone."""

from __future__ import annotations

import asyncio
import time
import traceback
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain import runs
from hookline.domain.moments import iso
from hookline.domain.runs import (
    TERMINAL,
)
from hookline.errors import Fenced, HooklineError, StoreError
from hookline.flows import journal, session_verbs
from hookline.flows.outcomes import (
    CONTROLS,
    INTERRUPT,
    WAITS,
    Done,
    Glance,
    Parked,
    Signalled,
    interrupted,
    only_waits,
    waits_for_person,
    what_waits,
)
from hookline.flows.stretch import Stretch
from hookline.flows.waits import is_over, next_moment, settle_waits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from hookline.flows.steering import Decision
    from hookline.ports.store import Transaction

    Result = tuple[str, str, Any, str | None, int]

IDLE_TICKS = 3
# A hook that asks for a longer pause than this has its run parked meanwhile.
SHORT_WAIT = 10.0
GLANCE = 1.0
MAX_CLOSINGS = 100


class Advance(Stretch):
    """Takes one run as far as it goes, under one token."""

    async def to_the_end(self) -> Done | Parked:
        """Advance until the run is over or has to wait."""
        if self.run.status in TERMINAL:
            return Done(self.run.status)
        if self.token == 0:
            return Parked(None, self.run.reason or "paused")
        try:
            return await self._loop()
        except Signalled:
            await self.hands.stop()  # a run that is over has nobody to look for its children
            self._flush()
            return self._take_signal()
        except (StoreError, Fenced):
            raise
        except HooklineError as problem:
            return self._give_up(problem.message, problem.help)
        except Exception as bug:  # noqa: BLE001  # a run never hangs on a lease nobody works under
            details = {"runId": self.run_id, "trace": traceback.format_exc()}
            self.engine.observe("engine-error", details)
            return self._give_up(f"an error inside Hookline: {type(bug).__name__}: {bug}")

    async def stop(self) -> None:
        """Nothing of this stretch goes on: children are killed, branches dropped."""
        await self.hands.stop()
        for _ in range(MAX_CLOSINGS):
            try:
                if self.driver is not None:
                    self.driver.close()
                break
            except RuntimeError:  # a flow that awaits in its `finally`: ask again from there
                continue

    async def _loop(self) -> Done | Parked:
        self._replay()
        idle, self.first = 0, self.run.iteration
        while True:
            ended = self._settle()
            if ended is not None:
                # The last result came in between two ticks; their hooks hear of the end as well.
                if self.run.iteration:
                    await self.engine.steering.end(self.run, self.run.iteration, ended.status)
                return ended
            if self._end_waits():
                continue
            if not self._may_tick():
                return self._give_up("the iteration limit was reached", at_limit=True)
            before = self.moves
            ended, decision, more = await self._tick()
            if ended is not None:
                return ended
            idle = 0 if self.moves != before or self.hands.running else idle + 1
            parked = self._should_park(idle, decision, more)
            if parked is not None:
                return parked

    def _should_park(self, idle: int, decision: Decision, more: bool) -> Parked | None:
        if self.hands.running:
            return None
        if not more:
            return self._park("on-iteration-end says that no more iterations are needed", None)
        pending = self.pending
        until = next_moment(pending, decision.wait_until, time.time())
        only_waits = decision.waits or all(
            e.kind in runs.WAITING or e.task or e.next_try for e in pending
        )
        if (only_waits and idle) or idle >= IDLE_TICKS:
            reason = decision.reason or what_waits(pending)
            return self._park(reason or f"no progress in {idle} iterations", until)
        return None

    def _end_waits(self) -> bool:
        """Resolve what has waited long enough; whether there was something."""
        now = time.time()
        signals = self._look().signals if any(e.kind == "signal" for e in self.pending) else ()
        if not any(is_over(effect, now, signals) for effect in self.pending):
            return False

        def end(tx: Transaction) -> None:
            self._check(tx)
            settle_waits(tx, self.run, self.engine.blobs, now)

        self.engine.change(end)
        return True

    async def _tick(self) -> tuple[Done | None, Decision, bool]:
        """One iteration: hooks choose, the engine carries out, hooks say whether to go on."""
        steering = self.engine.steering
        iteration = self._count()
        now_running = frozenset(self.hands.running)
        decision = await self._while_running(
            steering.begin(self.run, iteration, self.pending, now_running)
        )
        self.hands.begin(self._look().pending, decision.tasks)
        await self._wait_for_change(decision.wait_until)
        ended = self._settle()
        if ended is not None:
            await steering.end(self.run, iteration, ended.status)
            return ended, decision, False
        more = await self._while_running(steering.end(self.run, iteration, "waiting"))
        return None, decision, more

    def _count(self) -> int:
        def count(tx: Transaction) -> int:
            self._check(tx)
            return tx.runs.count_iteration(self.run_id)

        iteration: int = self.counted or self.engine.change(count)
        self.counted = None
        self.run = msgspec.structs.replace(self.run, iteration=iteration)
        return iteration

    async def _while_running(self, hooks: Awaitable[Any]) -> Any:
        """Await hooks; effects that they ask for meanwhile run here, outside of their timeout."""
        asked = asyncio.ensure_future(hooks)
        try:
            await asyncio.sleep(0)  # native hooks are over after their first step
            while not asked.done():
                await self._woken([asked, *self.hands.running.values()], GLANCE)
                self.hands.reap()
                self._flush()
                found = self._look()
                if found.controls:
                    raise Signalled
                self.hands.begin(found.pending)
            return asked.result()
        finally:
            if not asked.done():
                asked.cancel()
                await asyncio.gather(asked, return_exceptions=True)

    async def _woken(self, tasks: Iterable[asyncio.Future[Any]], timeout: float) -> None:
        """Wait until one of these is over, something was stored, or the time is over."""
        woken = asyncio.ensure_future(self.engine.wakeup.wait(timeout))
        try:
            await asyncio.wait({woken, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()

    async def _wait_for_change(self, until: float | None) -> None:
        """Wait until an effect ends, or something happens to the run."""
        short = until is not None and until - time.time() <= SHORT_WAIT
        idle = [effect for effect in self.pending if effect.effect_id not in self.hands.running]
        moment = next_moment(idle, until, time.time())
        while self.hands.running or short:
            left = GLANCE if moment is None else min(GLANCE, moment - time.time())
            if left <= 0:
                return
            await self._woken(self.hands.running.values(), left)
            found = self._look()
            if INTERRUPT in found.signals:
                await self._interrupt()
                return
            if self.hands.reap() or self._has_news(found):
                return

    async def _interrupt(self) -> None:
        """A person wants what goes on at the moment to end; its results say so."""
        with self.engine.store.read() as view:
            signals = view.runs.signals(self.run)
        asked = max((seq for seq, name, _ in signals if name == INTERRUPT), default=0)
        cut = {
            effect.effect_id: interrupted(effect)
            for effect in self._look().pending
            # A session that is stopped now has an ending; only what came during it ends that.
            if effect.effect_id in self.hands.running
            and (effect.args.get("point") != "session_end" or effect.requested_seq < asked)
        }
        await self.hands.drop([name for name, result in cut.items() if result is not None])

        def consume(tx: Transaction) -> None:
            self._check(tx)
            for seq, name, _ in tx.runs.signals(self.run):
                if name == INTERRUPT:
                    tx.runs.consume_signal(seq)

        self.engine.change(consume)
        for name, result in cut.items():
            if result is not None:
                began = self.begun.get(name)
                self.engine.resolve(self.run_id, self.token, name, result, began)

    def _has_news(self, found: Glance) -> bool:
        """Whether something came in that the flow, or the engine, has not acted on."""
        return bool(
            found.results
            or self.done
            or found.controls
            or any(e.chosen and self.hands.is_able(e) for e in found.pending)
            or any(e.kind == "signal" and e.args["name"] in found.signals for e in found.pending)
        )

    def _take_signal(self) -> Done | Parked:
        def take(tx: Transaction) -> tuple[str, str]:
            self._check(tx)
            wanted = [each for each in tx.runs.signals(self.run) if each[1] in CONTROLS]
            for seq, _, _ in wanted:  # one left over would stop the run again once it is resumed
                tx.runs.consume_signal(seq)
            _, name, value = next((s for s in wanted if s[1] == "cancel"), wanted[-1])
            reason = str((value or {}).get("reason") or name)
            if name == "cancel":
                session_verbs.break_off(tx, self.run, runs.CANCELLED, reason)
            journal.write(tx, CONTROLS[name], self.run_id, {"reason": reason})
            tx.runs.let_go(self.run_id, self.token, None)
            return name, reason

        name, reason = self.engine.change(take)
        if name == "cancel":
            return Done(runs.CANCELLED)
        return Parked(None, reason, needs_person=CONTROLS[name] == "run_parked")

    def _give_up(
        self, reason: str, help: str | None = None, *, at_limit: bool = False
    ) -> Done | Parked:
        """Park the run whatever has come in: only a person, or something new, gets it going."""
        details = {"reason": reason, **({"help": help} if help else {})}

        def park(tx: Transaction) -> str:
            self._check(tx)
            status = tx.runs.find(self.run_id).status
            if status not in TERMINAL:  # a hook at the end of a run cannot undo the end
                journal.write(tx, "run_parked", self.run_id, details)
                tx.runs.let_go(self.run_id, self.token, None)
            return status

        status: str = self.engine.change(park)
        if status in TERMINAL:
            return Done(status)
        return Parked(None, reason, True, problem=not at_limit, at_limit=at_limit)

    def _park(self, reason: str, until: float | None) -> Parked | None:
        """Park the run, unless something came in at the last moment."""
        details: dict[str, Any] = {"reason": reason}
        details |= {"until": iso(until)} if until is not None else {}

        def park(tx: Transaction) -> Parked | None:
            self._check(tx)
            found = self._glance(tx)
            if self._has_news(found):
                return None
            waits = {WAITS: True} if only_waits(found.pending) else {}
            journal.write(tx, "run_parked", self.run_id, {**details, **waits})
            tx.runs.let_go(self.run_id, self.token, until)
            return Parked(until, reason, waits_for_person(tx, tx.runs.find(self.run_id)))

        parked: Parked | None = self.engine.change(park)
        return parked
