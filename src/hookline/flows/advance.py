"""One stretch of one run, from taking its lease to letting it go. Used by the engine alone."""

from __future__ import annotations

import asyncio
import time
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain import runs
from hookline.domain.events import SESSION_EVENTS
from hookline.domain.moments import iso
from hookline.domain.runs import (
    INSTANT,
    OK,
    TERMINAL,
    EffectResolved,
    FlowMistake,
    Resolution,
)
from hookline.domain.sessions import FLOW as SESSION
from hookline.domain.submissions import MERGE, SUBMIT
from hookline.errors import HooklineError, StoreError
from hookline.flows import journal
from hookline.flows.context import Context
from hookline.flows.hands import Hands
from hookline.flows.outcomes import (
    CONTROLS,
    INTERRUPT,
    Done,
    Fenced,
    Glance,
    Parked,
    Signalled,
    for_person,
    interrupted,
    told,
    what_waits,
)
from hookline.flows.replay import Driver, Next
from hookline.flows.waits import instant_value, is_over, next_moment, settle_waits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Iterable

    from hookline.domain.events import Event
    from hookline.domain.runs import JournalEffect, Run
    from hookline.flows.definitions import Flow
    from hookline.flows.engine import Engine
    from hookline.flows.steering import Decision
    from hookline.ports import Transaction, View

    Result = tuple[str, str, Any, str | None, int]

IDLE_TICKS = 3
# A hook that asks for a longer pause than this has its run parked meanwhile.
SHORT_WAIT = 10.0
GLANCE = 1.0
MAX_CLOSINGS = 100
# So many steps of a flow of our own are recorded in one transaction.
MAX_STEPS = 50
OWN_FLOWS = frozenset({SESSION, SUBMIT, MERGE})


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
        self.done: list[tuple[str, Resolution]] = []
        self.begins = False
        self.is_settled = False
        self.hands = Hands(self._carry_out)
        self.run: Run = self._load()
        self.is_own = self.run.flow in OWN_FLOWS

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
            if not self.is_own:  # nobody else's code runs under the lock of the store
                self._feed(found.results)
            if not (found.results or self.done or self.driver.finished or self.driver.requests):
                self.pending = found.pending
                return None
            ended = self._write_down()
            if ended is not None or self.is_settled:
                return ended

    def _feed(self, results: list[Result]) -> bool:
        """Hand results to the flow; whether there were some."""
        assert self.driver is not None
        for effect_id, status, value, error, seq in results:
            self.seen = seq
            self.moves += 1
            value = journal.inside(value, self.engine.blobs)
            self.driver.resolve(effect_id, Resolution(status, value, error))
        return bool(results)

    def _write_down(self) -> Done | None:
        """Record what is done and what the flow asks for; one commit for as much as possible."""
        told: list[Event] = []
        over = [effect_id for effect_id, _ in self.done]

        def write(tx: Transaction) -> Done | None:
            self._check(tx)
            self._record_done(tx)
            ended = self._record(tx)
            self.is_settled = False
            for _ in range(MAX_STEPS if self.is_own else 0):
                begun = self._begin_chapter(tx)
                if not self._feed(tx.runs.resolved_since(self.run, self.seen)) and not begun:
                    self.is_settled, self.pending = True, tx.runs.pending(self.run)
                    break
                ended = self._record(tx)
                if ended is not None:
                    break
            told.extend(event for event in tx.events if event.type in SESSION_EVENTS)
            return ended

        ended: Done | None = self.engine.change(write)
        for event in told:
            self.engine.tell(event)
        for effect_id in over:
            self.engine.observe("effect", {"runId": self.run_id, "effectId": effect_id})
        if ended is None and self.begins:
            with self.engine.store.read() as view:
                self._begin_chapter(view)
        return ended

    def _record_done(self, tx: Transaction) -> None:
        """Results of our own; whoever came first is right."""
        done, self.done = self.done, []
        for effect_id, resolution in done:
            if resolution.also is not None:
                resolution.also(tx)
            with suppress(EffectResolved):
                journal.resolve(tx, self.run, effect_id, resolution, self.engine.blobs)

    def _record(self, tx: Transaction) -> Done | None:
        assert self.driver is not None
        if self.driver.finished:
            return self._finish(tx, self.driver)
        if self.driver.requests:
            self._record_requests(tx, self.driver)
        return None

    def _record_requests(self, tx: Transaction, driver: Driver) -> None:
        asked, driver.requests = driver.requests, []
        self.moves += 1
        journal.request(tx, self.run, asked)
        for each in asked:
            if each.kind in INSTANT:
                result = Resolution(OK, instant_value(tx, self.run_id, each))
                journal.resolve(tx, self.run, each.effect_id, result, self.engine.blobs)
        waits = any(each.kind not in INSTANT for each in asked)
        if waits and self.counted is None and self._may_tick():
            self.counted = tx.runs.count_iteration(self.run_id)  # a tick follows; one commit less

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
        running = {
            e.effect_id: e for e in self._look().pending if e.effect_id in self.hands.running
        }
        cut = {
            # A session that is stopped has an ending: its hooks run to their own end.
            name: interrupted(effect) if effect.args.get("point") != "session_end" else None
            for name, effect in running.items()
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
                self.engine.resolve(self.run_id, self.token, name, result)

    def _has_news(self, found: Glance) -> bool:
        """Whether something came in that the flow, or the engine, has not acted on."""
        return bool(
            found.results
            or self.done
            or found.controls
            or any(e.chosen and self.hands.is_able(e) for e in found.pending)
            or any(e.kind == "signal" and e.args["name"] in found.signals for e in found.pending)
        )

    async def _carry_out(self, effect: JournalEffect) -> None:
        engine = self.engine
        resolution = await engine.executor.execute(self.run, effect, self._check)
        if resolution is not None:
            self.done.append((effect.effect_id, resolution))
        else:
            engine.observe("effect", {"runId": self.run_id, "effectId": effect.effect_id})

    def _flush(self) -> None:
        """Record what is done, although nobody asks for more at the moment."""
        if not self.done:
            return

        def write(tx: Transaction) -> None:
            self._check(tx)
            self._record_done(tx)

        self.engine.change(write)

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

    def _finish(self, tx: Transaction, driver: Driver) -> Done | None:
        assert driver.root is not None
        error, value = driver.root.error, driver.root.result
        if isinstance(error, Next):
            flow = self.engine.find_flow(self.run.flow)
            chapter = {"chapter": self.run.chapter + 1, "state": error.state}
            pins = {"pins": flow.pins} if flow.pins else {}
            data = {**chapter, "codeDigest": flow.digest, **pins}
            journal.write(tx, "run_chapter", self.run_id, data)
            self.begins = True
            return None
        if error is None:
            return self._end(tx, "run_completed", {"value": value}, runs.COMPLETED)
        return self._end(tx, "run_failed", {"error": told(error)}, runs.FAILED)

    def _begin_chapter(self, view: View) -> bool:
        """Begin the chapter that was written last; whether there is one to begin."""
        if not self.begins:
            return False
        self.begins = False
        self.run = view.runs.find(self.run_id)
        flow = self.engine.find_flow(self.run.flow)
        self.driver = Driver([])
        self.driver.start(self._begin(flow, Context(self.driver, self.run)))
        return True

    def _end(self, tx: Transaction, event_type: str, data: dict[str, Any], status: str) -> Done:
        journal.write(tx, event_type, self.run_id, data)
        tx.runs.let_go(self.run_id, self.token, None)
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
