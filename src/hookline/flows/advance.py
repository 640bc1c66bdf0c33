"""Advances a run, from taking its lease to releasing it: iterations, waits, signals."""

from __future__ import annotations

import asyncio
import traceback
from functools import partial
from typing import TYPE_CHECKING, Any

from hookline.cancelling import end
from hookline.domain.runs import model as runs
from hookline.domain.runs.model import TERMINAL, JournalEffect
from hookline.domain.timestamps import iso
from hookline.errors import Fenced, HooklineError, StoreError, StoreLost
from hookline.flows.control import control_called
from hookline.flows.outcomes import (
    CONTROLS,
    INTERRUPT,
    WAITS,
    Done,
    Parked,
    RunSnapshot,
    Signalled,
    only_waits,
    waits_for_person,
    what_waits,
)
from hookline.flows.run_replay import RunReplay
from hookline.flows.waits import is_over, next_moment, settle_waits
from hookline.ports.leases import acting_under

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable

    from hookline.flows.engine import Engine
    from hookline.flows.steering import Decision
    from hookline.ports.store import Transaction


class RunningEffects:
    """Starts effects, and notices the end of each."""

    def __init__(
        self,
        carry_out: Callable[[JournalEffect], Coroutine[Any, Any, None]],
        now: Callable[[], float],
    ) -> None:
        self._carry_out, self._now = carry_out, now
        self.running: dict[str, asyncio.Task[None]] = {}

    def is_able(self, effect: JournalEffect) -> bool:
        """Whether an effect can be started now."""
        return (
            effect.effect_id not in self.running
            and not effect.waits
            and (effect.next_try or 0) <= self._now()
        )

    def begin(self, pending: list[JournalEffect], tasks: tuple[str, ...] = ()) -> None:
        """Start the chosen effects: those named, in that order, or those marked in the store."""
        places = {effect_id: place for place, effect_id in enumerate(tasks)}
        for effect in sorted(pending, key=lambda each: places.get(each.effect_id, len(places))):
            if (effect.chosen or effect.effect_id in places) and self.is_able(effect):
                self.running[effect.effect_id] = asyncio.ensure_future(self._carry_out(effect))

    def reap(self) -> bool:
        """Forget the effects that are over; raises what went wrong with one of them."""
        over = [effect_id for effect_id, task in self.running.items() if task.done()]
        for effect_id in over:
            self.running.pop(effect_id).result()
        return bool(over)

    async def drop(self, names: Iterable[str]) -> None:
        """Cancel these effects; their processes are killed."""
        await end(*[self.running.pop(name) for name in names if name in self.running])

    async def stop(self) -> None:
        """Cancel all effects; their processes are killed."""
        await self.drop(list(self.running))


IDLE_TICKS = 3
# A hook that asks for a longer pause than this has its run parked meanwhile.
SHORT_WAIT = 10.0
POLL_SECONDS = 1.0


class Advance:
    """Advances one run as far as possible, under one token."""

    def __init__(self, engine: Engine, run_id: str, token: int, max_iterations: int | None) -> None:
        self._engine = engine
        self._run_id = run_id
        self._token = token
        self._replay = RunReplay(engine, run_id, token)
        self._replay.may_iterate = self._may_iterate
        # Machines that share a store do not agree on the time, and who advances a run may change.
        self._now = engine.store.time
        self._effects = RunningEffects(self._carry_out, self._now)
        self._most = max_iterations
        self._first = 0

    def _may_iterate(self) -> bool:
        return self._most is None or self._replay.run.iteration - self._first < self._most

    async def to_the_end(self) -> Done | Parked:
        """Advance until the run is over or has to wait."""
        if self._replay.run.status in TERMINAL:
            return Done(self._replay.run.status)
        if self._token == 0:
            return Parked(None, self._replay.run.reason or "paused")
        try:
            return await self._undisturbed()
        except Signalled:
            await self._effects.stop()  # no one looks for the children of a run that is over
            self._replay.flush()
            return self._take_signal()
        except (StoreError, Fenced):
            raise
        except HooklineError as problem:
            return self._give_up(problem.message, problem.help)
        except Exception as bug:  # noqa: BLE001  # a run never keeps a lease that no process uses
            details = {"runId": self._run_id, "trace": traceback.format_exc()}
            self._engine.observe("engine-error", details)
            return self._give_up(f"an error inside Hookline: {type(bug).__name__}: {bug}")

    async def _undisturbed(self) -> Done | Parked:
        """Start again where the connection to the store is lost; what runs continues meanwhile."""
        was_lost = False
        while True:
            try:
                if was_lost:
                    self._interrupt_lost_turns()
                return await self._loop()
            except StoreLost:
                was_lost = True

    def _interrupt_lost_turns(self) -> None:
        """Turns whose ends could not be stored; an agent's turn is not repeated."""
        known = {*self._effects.running, *(effect_id for effect_id, _ in self._replay.done)}
        with self._engine.store.read() as view:
            pending = view.runs.pending(self._replay.run)
        lost = [effect for effect in pending if effect.effect_id not in known]
        self._engine.interrupt_agents(self._run_id, self._token, lost)

    async def stop(self) -> None:
        """Stop advancing: children are killed, branches dropped."""
        await self._effects.stop()
        self._replay.close()

    async def _carry_out(self, effect: JournalEffect) -> None:
        replay, about = self._replay, {"runId": self._run_id, "effectId": effect.effect_id}
        replay.refuse_other(effect)

        def begun() -> None:
            replay.begun.setdefault(effect.effect_id, self._now())
            self._engine.observe("begun", about)

        execute = self._engine.executor.execute
        with acting_under(partial(self._engine.prove, replay.check)):
            resolution = await execute(replay.run, effect, replay.check, begun)
        if resolution is not None:
            replay.done.append((effect.effect_id, resolution))
        else:
            self._engine.observe("effect", about)

    def _settle(self) -> Done | None:
        self._effects.reap()
        return self._replay.settle()

    async def _loop(self) -> Done | Parked:
        self._replay.replay()
        idle, self._first = 0, self._replay.run.iteration
        while True:
            ended = self._settle()
            if ended is not None:
                # The last result came between two iterations; hooks are told about the end as well.
                if self._replay.run.iteration:
                    await self._engine.steering.end(
                        self._replay.run, self._replay.run.iteration, ended.status
                    )
                return ended
            if self._end_waits():
                continue
            if not self._may_iterate():
                return self._give_up("the iteration limit was reached", at_limit=True)
            before = self._replay.moves
            ended, decision, more = await self._iterate()
            if ended is not None:
                return ended
            idle = 0 if self._replay.moves != before or self._effects.running else idle + 1
            parked = self._should_park(idle, decision, more)
            if parked is not None:
                return parked

    def _should_park(self, idle: int, decision: Decision, more: bool) -> Parked | None:
        if self._effects.running:
            return None
        if not more:
            return self._park("on-iteration-end says that no more iterations are needed", None)
        pending = self._replay.pending
        until = next_moment(pending, decision.wait_until, self._now())
        only_waits = decision.waits or all(e.waits or e.next_try for e in pending)
        if (only_waits and idle) or idle >= IDLE_TICKS:
            reason = decision.reason or what_waits(pending)
            return self._park(reason or f"no progress in {idle} iterations", until)
        return None

    def _end_waits(self) -> bool:
        """Resolve what has waited long enough; whether there was anything."""
        now = self._now()
        signals = (
            self._replay.look().signals
            if any(e.kind == "signal" for e in self._replay.pending)
            else ()
        )
        if not any(is_over(effect, now, signals) for effect in self._replay.pending):
            return False

        self._replay.change(lambda tx: settle_waits(tx, self._replay.run, self._engine.blobs, now))
        return True

    async def _iterate(self) -> tuple[Done | None, Decision, bool]:
        """One iteration: hooks choose, the engine carries out, hooks say whether to continue."""
        steering = self._engine.steering
        iteration = self._replay.count()
        now_running = frozenset(self._effects.running)
        decision = await self._while_running(
            steering.begin(self._replay.run, iteration, self._replay.pending, now_running)
        )
        self._effects.begin(self._replay.look().pending, decision.tasks)
        await self._wait_for_change(decision.wait_until)
        ended = self._settle()
        if ended is not None:
            await steering.end(self._replay.run, iteration, ended.status)
            return ended, decision, False
        more = await self._while_running(steering.end(self._replay.run, iteration, "waiting"))
        return None, decision, more

    async def _while_running(self, hooks: Awaitable[Any]) -> Any:
        """Await hooks; effects that they ask for meanwhile run here, outside their timeout."""
        asked = asyncio.ensure_future(hooks)
        try:
            await asyncio.sleep(0)  # built-in hooks are over after their first step
            while not asked.done():
                await self._woken([asked, *self._effects.running.values()], POLL_SECONDS)
                self._effects.reap()
                self._replay.flush()
                found = self._replay.look()
                if found.controls:
                    raise Signalled
                self._effects.begin(found.pending)
            return asked.result()
        finally:
            if not asked.done():
                await end(asked)

    async def _woken(self, tasks: Iterable[asyncio.Future[Any]], timeout: float) -> None:
        """Wait until one of these is over, something was stored, or the time is over."""
        woken = asyncio.ensure_future(self._engine.wakeup.wait(timeout))
        try:
            await asyncio.wait({woken, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()

    async def _wait_for_change(self, until: float | None) -> None:
        """Wait until an effect ends, or something happens to the run."""
        short = until is not None and until - self._now() <= SHORT_WAIT
        running = self._effects.running
        idle = [each for each in self._replay.pending if each.effect_id not in running]
        moment = next_moment(idle, until, self._now())
        while self._effects.running or short:
            left = POLL_SECONDS if moment is None else min(POLL_SECONDS, moment - self._now())
            if left <= 0:
                return
            await self._woken(self._effects.running.values(), left)
            found = self._replay.look()
            if INTERRUPT in found.signals:
                await self._interrupt()
                return
            if self._effects.reap() or self._has_news(found):
                return

    async def _interrupt(self) -> None:
        """End what runs now, as a person asked; its results say so."""
        with self._engine.store.read() as view:
            signals = view.runs.signals(self._replay.run)
        asked = max((seq for seq, name, _ in signals if name == INTERRUPT), default=0)
        cut = {
            effect.effect_id: self._engine.executor.cut(effect, asked)
            for effect in self._replay.look().pending
            if effect.effect_id in self._effects.running
        }
        await self._effects.drop([name for name, result in cut.items() if result is not None])

        def consume(tx: Transaction) -> None:
            for seq, name, _ in tx.runs.signals(self._replay.run):
                if name == INTERRUPT:
                    tx.runs.consume_signal(seq)

        self._replay.change(consume)
        for name, result in cut.items():
            if result is not None:
                began = self._replay.begun.get(name)
                self._engine.resolve(self._run_id, self._token, name, result, began)

    def _has_news(self, found: RunSnapshot) -> bool:
        """Whether something came in that the flow, or the engine, has not acted on."""
        return bool(
            found.results
            or self._replay.done
            or found.controls
            or any(e.chosen and self._effects.is_able(e) for e in found.pending)
            or any(e.kind == "signal" and e.args["name"] in found.signals for e in found.pending)
        )

    def _take_signal(self) -> Done | Parked:
        def take(tx: Transaction) -> tuple[str, str]:
            wanted = [each for each in tx.runs.signals(self._replay.run) if each[1] in CONTROLS]
            for seq, _, _ in wanted:  # one left over would stop the run again once it is resumed
                tx.runs.consume_signal(seq)
            _, name, value = next((s for s in wanted if s[1] == "cancel"), wanted[-1])
            reason = str((value or {}).get("reason") or name)
            self._replay.leave(tx, CONTROLS[name], {"reason": reason}, None)
            control_called(tx, self._engine.owner, self._run_id, name, reason)
            return name, reason

        name, reason = self._replay.change(take)
        if name == "cancel":
            return Done(runs.CANCELLED)
        return Parked(None, reason, needs_person=CONTROLS[name] == "run_parked")

    def _give_up(
        self, reason: str, help: str | None = None, *, at_limit: bool = False
    ) -> Done | Parked:
        """Park the run whatever has come in, until a person acts or something new happens."""
        details = {"reason": reason, **({"help": help} if help else {})}

        def park(tx: Transaction) -> str:
            status = tx.runs.find(self._run_id).status
            if status not in TERMINAL:  # a hook at the end of a run cannot undo the end
                self._replay.leave(tx, "run_parked", details, None)
            return status

        status = self._replay.change(park)
        if status in TERMINAL:
            return Done(status)
        return Parked(None, reason, True, problem=not at_limit, at_limit=at_limit)

    def _park(self, reason: str, until: float | None) -> Parked | None:
        """Park the run, unless something came in at the last moment."""
        details: dict[str, Any] = {"reason": reason}
        details |= {"until": iso(until)} if until is not None else {}

        def park(tx: Transaction) -> Parked | None:
            found = self._replay.snapshot(tx)
            if self._has_news(found):
                return None
            waits = {WAITS: True} if only_waits(found.pending) else {}
            self._replay.leave(tx, "run_parked", {**details, **waits}, until)
            return Parked(
                until, reason, waits_for_person(tx, tx.runs.find(self._run_id), self._engine.own)
            )

        return self._replay.change(park)
