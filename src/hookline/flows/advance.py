"""One stretch of one run, from taking its lease to letting it go. Used by the engine alone."""

from __future__ import annotations

import asyncio
import time
import traceback
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain import runs
from hookline.domain.moments import iso
from hookline.domain.runs import INSTANT, OK, TERMINAL, FlowMistake, Resolution
from hookline.errors import HooklineError, StoreError
from hookline.flows import journal
from hookline.flows.context import Context
from hookline.flows.hands import Hands
from hookline.flows.outcomes import (
    CONTROLS,
    Done,
    Fenced,
    Glance,
    Parked,
    Signalled,
    for_person,
    told,
    what_waits,
)
from hookline.flows.replay import Driver, Next
from hookline.flows.waits import instant_value, is_over, next_moment, settle_waits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable

    from hookline.domain.runs import JournalEffect, Run
    from hookline.flows.definitions import Flow
    from hookline.flows.engine import Engine
    from hookline.flows.steering import Decision
    from hookline.ports import Transaction, View

IDLE_TICKS = 3
# A hook that asks for a longer pause than this has its run parked meanwhile.
SHORT_WAIT = 10.0
GLANCE = 1.0
MAX_CLOSINGS = 100


class Advance:
    """Takes one run as far as it goes, under one token."""

    def __init__(self, engine: Engine, run_id: str, token: int, max_iterations: int | None) -> None:
        self.engine = engine
        self.run_id = run_id
        self.token = token
        self.max_iterations = max_iterations
        self.driver: Driver | None = None
        self.first = 0
        self.seen = 0
        self.moves = 0
        self.counted: int | None = None
        self.pending: list[JournalEffect] = []
        self.hands = Hands(self._carry_out)
        self.run: Run = self._load()

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
                return self._give_up("the iteration limit was reached", needs_person=False)
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
            return self._park(what_waits(pending, idle), until, for_person(pending))
        return None

    def _may_tick(self) -> bool:
        limit = self.max_iterations
        return limit is None or self.run.iteration - self.first < limit

    # Looking and replaying

    def _load(self) -> Run:
        with self.engine.store.read() as view:
            return view.runs.find(self.run_id)

    def _look(self) -> Glance:
        """The run as it stands; Fenced if it is no longer ours."""
        with self.engine.store.read() as view:
            self.engine.check(view, self.run_id, self.token)
            return self._glance(view)

    def _glance(self, view: View) -> Glance:
        return Glance(
            view.runs.pending(self.run),
            frozenset(name for _, name, _ in view.runs.signals(self.run)),
            view.runs.resolved_since(self.run, self.seen),
        )

    def _replay(self) -> None:
        """Bring the flow's code to where its journal ends."""
        with self.engine.store.read() as view:
            self.run = view.runs.find(self.run_id)
            effects = view.runs.effects(self.run)
            journal.prove(view.log, self.run, effects)
        blobs = self.engine.blobs
        fetched = [
            msgspec.structs.replace(effect, value=journal.inside(effect.value, blobs))
            for effect in effects
        ]
        self.seen = max((e.resolved_seq or 0 for e in effects), default=0)
        flow = self.engine.find_flow(self.run.flow)
        self._note_code(flow.digest)
        self.driver = Driver(fetched)
        self.driver.start(self._begin(flow, Context(self.driver, self.run)))

    def _begin(self, flow: Flow, context: Context) -> Coroutine[Any, Any, Any]:
        try:
            return flow.begin(context, self.run)
        except TypeError as problem:
            given = ", ".join(self.run.input) or "nothing"
            raise FlowMistake(
                f"flow '{flow.name}' cannot be begun: {problem}", help=f"its input holds {given}"
            ) from problem

    def _note_code(self, digest: str) -> None:
        if self.run.code_digest and digest != self.run.code_digest:
            self.engine.observe(
                "code-changed", {"runId": self.run_id, "was": self.run.code_digest, "is": digest}
            )

    def _settle(self) -> Done | None:
        """Hand every result to the flow, record what it asks for; its end, if it has one."""
        while True:
            assert self.driver is not None  # replayed before
            self.hands.reap()
            found = self._look()
            if found.controls:
                raise Signalled
            for effect_id, status, value, error, seq in found.results:
                self.seen = seq
                self.moves += 1
                value = journal.inside(value, self.engine.blobs)
                self.driver.resolve(effect_id, Resolution(status, value, error))
            if self.driver.finished:
                ended = self._finish()
                if ended is not None:
                    return ended
            elif self.driver.requests:
                self._record_requests(self.driver)
            elif not found.results:
                self.pending = found.pending
                return None

    def _record_requests(self, driver: Driver) -> None:
        asked, driver.requests = driver.requests, []
        self.moves += 1

        def record(tx: Transaction) -> int | None:
            self._check(tx)
            journal.request(tx, self.run, asked)
            for each in asked:
                if each.kind in INSTANT:
                    value = instant_value(tx, self.run_id, each)
                    result = Resolution(OK, value)
                    journal.resolve(tx, self.run, each.effect_id, result, self.engine.blobs)
            waits = any(each.kind not in INSTANT for each in asked)
            if waits and self.counted is None and self._may_tick():
                return tx.runs.count_iteration(self.run_id)  # a tick follows; one commit less
            return self.counted

        self.counted = self.engine.change(record)

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

    # Ticking

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
            if self.hands.reap() or self._has_news(self._look()):
                return

    def _has_news(self, found: Glance) -> bool:
        """Whether something came in that the flow, or the engine, has not acted on."""
        return bool(
            found.results
            or found.controls
            or any(e.chosen and self.hands.is_able(e) for e in found.pending)
            or any(e.kind == "signal" and e.args["name"] in found.signals for e in found.pending)
        )

    async def _carry_out(self, effect: JournalEffect) -> None:
        engine = self.engine
        resolution = await engine.executor.execute(self.run, effect, self._check)
        if resolution is not None:
            engine.resolve(self.run_id, self.token, effect.effect_id, resolution)
        engine.observe("effect", {"runId": self.run_id, "effectId": effect.effect_id})

    def _check(self, tx: Transaction) -> None:
        self.engine.check(tx, self.run_id, self.token)
        tx.metadata = journal.origin(tx.metadata, self.run)

    # Signals and ends

    def _take_signal(self) -> Done | Parked:
        def take(tx: Transaction) -> tuple[str, str]:
            self._check(tx)
            wanted = [each for each in tx.runs.signals(self.run) if each[1] in CONTROLS]
            for seq, _, _ in wanted:  # one left over would stop the run again once it is resumed
                tx.runs.consume_signal(seq)
            _, name, value = next((s for s in wanted if s[1] == "cancel"), wanted[-1])
            reason = str((value or {}).get("reason") or name)
            journal.write(tx, CONTROLS[name], self.run_id, {"reason": reason})
            tx.runs.let_go(self.run_id, self.token, None)
            return name, reason

        name, reason = self.engine.change(take)
        return Done(runs.CANCELLED) if name == "cancel" else Parked(None, reason)

    def _finish(self) -> Done | None:
        assert self.driver is not None
        assert self.driver.root is not None
        error, value = self.driver.root.error, self.driver.root.result
        if isinstance(error, Next):
            self._next_chapter(error.state)
            return None
        if error is None:
            return self._end("run_completed", {"value": value}, runs.COMPLETED)
        return self._end("run_failed", {"error": told(error)}, runs.FAILED)

    def _next_chapter(self, state: Any) -> None:
        flow = self.engine.find_flow(self.run.flow)
        data = {"chapter": self.run.chapter + 1, "state": state, "codeDigest": flow.digest}
        if flow.pins:
            data["pins"] = flow.pins
        self._write("run_chapter", data)
        self._replay()

    def _end(self, event_type: str, data: dict[str, Any], status: str) -> Done:
        self._write(event_type, data, lambda tx: tx.runs.let_go(self.run_id, self.token, None))
        return Done(status)

    def _give_up(
        self, reason: str, help: str | None = None, *, needs_person: bool = True
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
        return Done(status) if status in TERMINAL else Parked(None, reason, needs_person)

    def _park(self, reason: str, until: float | None, needs_person: bool = False) -> Parked | None:
        """Park the run, unless something came in at the last moment."""
        details = {"reason": reason, **({"until": iso(until)} if until is not None else {})}

        def park(tx: Transaction) -> bool:
            self._check(tx)
            if self._has_news(self._glance(tx)):
                return False
            journal.write(tx, "run_parked", self.run_id, details)
            tx.runs.let_go(self.run_id, self.token, until)
            return True

        return Parked(until, reason, needs_person) if self.engine.change(park) else None

    def _write(
        self,
        event_type: str,
        data: dict[str, Any],
        also: Callable[[Transaction], None] = lambda tx: None,
    ) -> None:
        def write(tx: Transaction) -> None:
            self._check(tx)
            journal.write(tx, event_type, self.run_id, data)
            also(tx)

        self.engine.change(write)
