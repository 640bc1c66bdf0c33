"""The local engine: advances runs over the store, one lease at a time.

`advance` is all that a scheduler needs: it takes a run as far as it goes and says whether the
run is done or until when, and for what, it is parked. The journal is always the store's.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.domain import runs
from hookline.domain.moments import iso
from hookline.domain.runs import (
    INSTANT,
    OK,
    TERMINAL,
    Divergence,
    EffectResolved,
    FlowMistake,
    JournalDamaged,
    Resolution,
)
from hookline.errors import HooklineError
from hookline.flows import journal
from hookline.flows.context import Context
from hookline.flows.replay import Driver, Next
from hookline.flows.waits import instant_value, next_moment, settle_waits

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.domain.runs import JournalEffect, Run
    from hookline.flows.definitions import Flow
    from hookline.flows.effects import Executor
    from hookline.flows.steering import Steering
    from hookline.hooks.delivery import Owner
    from hookline.ports import Blobs, Store, Transaction, Wakeup

LEASE = 3.0
IDLE_TICKS = 3


class Done(NamedTuple):
    """The run has ended."""

    status: str


class Parked(NamedTuple):
    """The run waits: until a moment, for something to happen, and why."""

    until: float | None
    reason: str
    needs_person: bool = False


class Fenced(Exception):
    """Another process advances this run now; what we still know about it no longer counts."""


class Engine:
    """Advances runs. One engine serves one process; leases keep processes apart."""

    def __init__(
        self,
        store: Store,
        blobs: Blobs,
        owner: Owner,
        *,
        find_flow: Callable[[str], Flow],
        executor: Executor,
        steering: Steering,
        wakeup: Wakeup,
        change: Callable[..., Any],
        observe: Callable[[str, dict[str, Any]], None] = lambda what, details: None,
    ) -> None:
        self.store = store
        self.blobs = blobs
        self.owner = owner
        self.find_flow = find_flow
        self.executor = executor
        self.steering = steering
        self.wakeup = wakeup
        self.change = change
        self.observe = observe

    async def advance(self, run_id: str, *, max_iterations: int | None = None) -> Done | Parked:
        """Take a run as far as it goes."""
        token = self._take(run_id)
        if token is None:
            return Parked(time.time() + 1, "another process advances it")
        advance = _Advance(self, run_id, token, max_iterations)
        try:
            return await advance.to_the_end()
        except Fenced:
            return Parked(time.time() + 1, "another process took it over")
        finally:
            await advance.stop()

    def _take(self, run_id: str) -> int | None:
        def take(tx: Transaction) -> tuple[int, list[JournalEffect]] | None:
            holder, _, until = tx.runs.holder(run_id)
            if holder is not None and not self.owner.is_free(holder, until):
                return None
            run = tx.runs.find(run_id)
            if run.status in TERMINAL or run.status == runs.PAUSED:
                return 0, []
            token = tx.next_token()
            if run.status == runs.PARKED:
                journal.write(tx, "run_resumed", run_id, {})
            tx.runs.take(run_id, self.owner.name, token, time.time() + LEASE)
            return token, tx.runs.pending(run)

        taken = self.change(take)
        if taken is None:
            return None
        token, pending = taken
        for effect in pending:
            if effect.child:
                self.owner.end_child(effect.child)
        if token:
            self._interrupt_agents(run_id, token, pending)
        return int(token)

    def _interrupt_agents(self, run_id: str, token: int, pending: list[JournalEffect]) -> None:
        """A turn that was under way cannot be repeated: the agent may have done half of it."""
        begun = [e for e in pending if e.kind == "agent" and e.attempts]
        for effect in begun:
            value = {"interrupted": True, "conversation": effect.conversation}
            self.resolve(run_id, token, effect.effect_id, Resolution(OK, value))

    def resolve(self, run_id: str, token: int, effect_id: str, resolution: Resolution) -> bool:
        """Record a result of our own; False if someone else's came first."""

        def record(tx: Transaction) -> None:
            self.check(tx, run_id, token)
            journal.resolve(tx, tx.runs.find(run_id), effect_id, resolution, self.blobs)

        try:
            self.change(record)
        except EffectResolved:
            return False
        return True

    def check(self, tx: Transaction, run_id: str, token: int) -> None:
        """Refuse to write for a run that is no longer ours."""
        if tx.runs.holder(run_id)[1] != token:
            raise Fenced


class _Advance:
    """One stretch of one run, from taking its lease to letting it go."""

    def __init__(self, engine: Engine, run_id: str, token: int, max_iterations: int | None) -> None:
        self.engine = engine
        self.run_id = run_id
        self.token = token
        self.max_iterations = max_iterations
        self.driver: Driver | None = None
        self.seen = 0
        self.running: dict[str, asyncio.Task[None]] = {}
        self.run: Run = self._load()

    async def to_the_end(self) -> Done | Parked:
        if self.run.status in TERMINAL:
            return Done(self.run.status)
        if self.token == 0:
            return Parked(None, self.run.reason or "paused")
        try:
            return await self._loop()
        except (Divergence, FlowMistake, JournalDamaged) as problem:
            return self._park(problem.message, None, needs_person=True, help=problem.help)

    async def stop(self) -> None:
        """Nothing of this stretch goes on: children are killed, branches dropped."""
        for task in self.running.values():
            task.cancel()
        await asyncio.gather(*self.running.values(), return_exceptions=True)
        if self.driver is not None:
            self.driver.close()

    async def _loop(self) -> Done | Parked:
        self._replay()
        idle = 0
        first = self.run.iteration
        while True:
            ended = self._settle()
            if ended is not None:
                return ended
            if (
                self.max_iterations is not None
                and self.run.iteration - first >= self.max_iterations
            ):
                return self._park("the iteration limit was reached", None)
            before = self._progress()
            iteration, wait_until = await self._begin_tick()
            ended = self._settle()
            status = ended.status if isinstance(ended, Done) else "waiting"
            more = await self._while_running(self.engine.steering.end(self.run, iteration, status))
            if ended is not None:
                return ended
            moved = self._progress() != before or bool(self.running)
            idle = 0 if moved else idle + 1
            parked = self._should_park(idle, wait_until, more)
            if parked is not None:
                return parked

    def _should_park(self, idle: int, wait_until: float | None, more: bool) -> Parked | None:
        if self.running:
            return None
        if not more:
            return self._park("on-iteration-end says that no more iterations are needed", None)
        pending = self._pending()
        until = next_moment(pending, wait_until)
        only_waits = all(e.kind in runs.WAITING or e.task or e.next_try for e in pending)
        if (only_waits and idle) or idle >= IDLE_TICKS:
            return self._park(_what_waits(pending, idle), until, _for_person(pending))
        return None

    # Replaying

    def _load(self) -> Run:
        with self.engine.store.read() as view:
            return view.runs.find(self.run_id)

    def _replay(self) -> None:
        """Bring the flow's code to where its journal ends."""
        self.run = self._load()
        with self.engine.store.read() as view:
            effects = view.runs.effects(self.run)
            self._verify(view.log)
        blobs = self.engine.blobs
        fetched = [_with_value(effect, journal.inside(effect.value, blobs)) for effect in effects]
        self.seen = max((e.resolved_seq or 0 for e in effects), default=0)
        flow = self.engine.find_flow(self.run.flow)
        self._note_code(flow.digest)
        self.driver = Driver(fetched)
        context = Context(self.driver, self.run)
        self.driver.start(flow.begin(context, self.run))

    def _verify(self, log: Any) -> None:
        begun = log.events(node_id=self.run_id, types=("run_started", "run_chapter"))
        after = begun[-1].seq - 1 if begun else 0
        types = ("run_chapter", "effect_requested", "effect_resolved")
        for _ in journal.verify(log.events(node_id=self.run_id, after=after, types=types)):
            pass

    def _note_code(self, digest: str) -> None:
        if self.run.code_digest and digest != self.run.code_digest:
            self.engine.observe(
                "code-changed", {"runId": self.run_id, "was": self.run.code_digest, "is": digest}
            )

    def _settle(self) -> Done | Parked | None:
        """Hand every result to the flow, record what it asks for; its end, if it has one."""
        assert self.driver is not None  # replayed before
        while True:
            signal = self._take_signals()
            if signal is not None:
                return signal
            self._record_requests()
            results = self._new_results()
            for effect_id, resolution in results:
                self.driver.resolve(effect_id, resolution)
            if self.driver.finished:
                ended = self._finish()
                if ended is not None:
                    return ended
                continue
            if not results and not self.driver.requests:
                return None

    def _record_requests(self) -> None:
        assert self.driver is not None  # replayed before
        asked, self.driver.requests = self.driver.requests, []
        if not asked:
            return

        def record(tx: Transaction) -> None:
            self.engine.check(tx, self.run_id, self.token)
            journal.request(tx, self.run, asked)
            for each in asked:
                if each.kind in INSTANT:
                    value = instant_value(tx, self.run_id, each)
                    result = Resolution(OK, value)
                    journal.resolve(tx, self.run, each.effect_id, result, self.engine.blobs)

        self.engine.change(record)

    def _new_results(self) -> list[tuple[str, Resolution]]:
        with self.engine.store.read() as view:
            found = view.runs.resolved_since(self.run, self.seen)
        blobs = self.engine.blobs
        if found:
            self.seen = found[-1][4]
        return [
            (effect_id, Resolution(status, journal.inside(value, blobs), error))
            for effect_id, status, value, error, _ in found
        ]

    # Ticking

    async def _begin_tick(self) -> tuple[int, float | None]:
        """The first half of an iteration: hooks choose, the engine carries out."""
        engine = self.engine

        def count(tx: Transaction) -> int:
            engine.check(tx, self.run_id, self.token)
            settle_waits(tx, self.run, engine.blobs, time.time())
            return tx.runs.count_iteration(self.run_id)

        iteration = engine.change(count)
        self.run = self._load()
        decision = await self._while_running(
            engine.steering.begin(self.run, iteration, self._pending(), frozenset(self.running))
        )
        for effect in self._chosen(decision.tasks):
            self._execute(effect)
        if self.running:
            await self._wait_for_change(decision.wait_until)
        return iteration, decision.wait_until

    async def _while_running(self, hooks: Any) -> Any:
        """Await hooks; effects that they ask for meanwhile run here, outside of their timeout."""
        asked = asyncio.ensure_future(hooks)
        try:
            while not asked.done():
                woken = asyncio.ensure_future(self.engine.wakeup.wait(1.0))
                await asyncio.wait({asked, woken}, return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
                for effect in self._pending():
                    if effect.chosen and effect.effect_id not in self.running:
                        self._execute(effect)
        finally:
            asked.cancel()
        return await asked

    def _chosen(self, tasks: tuple[str, ...]) -> list[JournalEffect]:
        now = time.time()
        return [
            effect
            for effect in self._pending()
            if (effect.effect_id in tasks or effect.chosen)
            and effect.effect_id not in self.running
            and effect.kind not in runs.WAITING
            and not effect.task
            and (effect.next_try or 0) <= now
        ]

    def _pending(self) -> list[JournalEffect]:
        with self.engine.store.read() as view:
            return view.runs.pending(self.run)

    def _progress(self) -> tuple[int, int]:
        with self.engine.store.read() as view:
            return self.seen, len(view.runs.pending(self.run))

    def _execute(self, effect: JournalEffect) -> None:
        self.running[effect.effect_id] = asyncio.ensure_future(self._carry_out(effect))

    async def _carry_out(self, effect: JournalEffect) -> None:
        engine = self.engine
        try:
            resolution = await engine.executor.execute(self.run, effect, self._guard())
            if resolution is not None:
                engine.resolve(self.run_id, self.token, effect.effect_id, resolution)
        finally:
            self.running.pop(effect.effect_id, None)
        engine.observe("effect", {"runId": self.run_id, "effectId": effect.effect_id})

    def _guard(self) -> Callable[[Transaction], None]:
        return lambda tx: self.engine.check(tx, self.run_id, self.token)

    async def _wait_for_change(self, until: float | None) -> None:
        """Wait until an effect ends, or something happens to the run."""
        if not self.running:
            return
        pending = {e.effect_id for e in self._pending()}
        while self.running:
            woken = asyncio.ensure_future(self.engine.wakeup.wait(1.0))
            tasks = set(self.running.values())
            done, _ = await asyncio.wait({*tasks, woken}, return_when=asyncio.FIRST_COMPLETED)
            woken.cancel()
            for task in done & tasks:
                task.result()
            now = self._pending()
            if {e.effect_id for e in now} != pending or any(e.chosen for e in now):
                return
            if done & tasks or (until is not None and time.time() >= until):
                return
            if self._signalled():
                return

    # Signals and ends

    def _signalled(self) -> bool:
        with self.engine.store.read() as view:
            return any(name in _CONTROLS for _, name, _ in view.runs.signals(self.run))

    def _take_signals(self) -> Done | Parked | None:
        if not self._signalled():
            return None

        def take(tx: Transaction) -> tuple[str, str | None]:
            self.engine.check(tx, self.run_id, self.token)
            waiting = tx.runs.signals(self.run)
            seq, name, value = next(s for s in waiting if s[1] in _CONTROLS)
            tx.runs.consume_signal(seq)
            reason = (value or {}).get("reason") or name
            journal.write(tx, _CONTROLS[name], self.run_id, {"reason": reason})
            tx.runs.let_go(self.run_id, self.token, None)
            return name, reason

        name, reason = self.engine.change(take)
        if name == "cancel":
            return Done(runs.CANCELLED)
        return Parked(None, reason or name)

    def _finish(self) -> Done | Parked | None:
        assert self.driver is not None
        assert self.driver.root is not None
        error, value = self.driver.root.error, self.driver.root.result
        if isinstance(error, Next):
            self._next_chapter(error.state)
            return None
        if error is None:
            return self._end("run_completed", {"value": value}, runs.COMPLETED)
        return self._end("run_failed", {"error": _told(error)}, runs.FAILED)

    def _next_chapter(self, state: Any) -> None:
        engine = self.engine
        digest = engine.find_flow(self.run.flow).digest
        data = {"chapter": self.run.chapter + 1, "state": state, "codeDigest": digest}

        def turn(tx: Transaction) -> None:
            engine.check(tx, self.run_id, self.token)
            journal.write(tx, "run_chapter", self.run_id, data)

        engine.change(turn)
        self._replay()

    def _end(self, event_type: str, data: dict[str, Any], status: str) -> Done:
        def end(tx: Transaction) -> None:
            self.engine.check(tx, self.run_id, self.token)
            journal.write(tx, event_type, self.run_id, data)
            tx.runs.let_go(self.run_id, self.token, None)

        self.engine.change(end)
        return Done(status)

    def _park(
        self, reason: str, until: float | None, needs_person: bool = False, help: str | None = None
    ) -> Parked:
        details: dict[str, Any] = {"reason": reason}
        if until is not None:
            details["until"] = iso(until)
        if help:
            details["help"] = help

        def park(tx: Transaction) -> None:
            self.engine.check(tx, self.run_id, self.token)
            journal.write(tx, "run_parked", self.run_id, details)
            tx.runs.let_go(self.run_id, self.token, until)

        self.engine.change(park)
        return Parked(until, reason, needs_person)


_CONTROLS = {"cancel": "run_cancelled", "pause": "run_paused", "stop": "run_parked"}


def _with_value(effect: JournalEffect, value: Any) -> JournalEffect:
    return msgspec.structs.replace(effect, value=value)


def _what_waits(pending: list[JournalEffect], idle: int) -> str:
    waits = [e for e in pending if e.kind in runs.WAITING or e.task]
    if not waits:
        return f"no progress in {idle} iterations" if pending else "nothing is pending"
    named = ", ".join(f"{e.kind} '{e.effect_id}'" for e in waits[:3])
    return f"waits for {named}" + (f" and {len(waits) - 3} more" if len(waits) > 3 else "")


def _for_person(pending: list[JournalEffect]) -> bool:
    return any(e.kind == "breakpoint" for e in pending)


def _told(error: BaseException) -> str:
    if isinstance(error, HooklineError | runs.EffectFailed):
        return str(error)
    return f"{type(error).__name__}: {error}"
