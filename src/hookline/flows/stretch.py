"""One stretch of one run: the flow's code is brought to where its journal ends, and on from there.

Results go in, requests come out, and both are written down. When to do what is up to `Advance`.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain import runs
from hookline.domain.events import SESSION_EVENTS
from hookline.domain.runs import INSTANT, OK, EffectResolved, FlowMistake, Resolution
from hookline.domain.sessions import FLOW as SESSION
from hookline.domain.submissions import MERGE, SUBMIT
from hookline.flows import journal, session_verbs
from hookline.flows.context import Context
from hookline.flows.hands import Hands
from hookline.flows.outcomes import Done, Glance, Signalled, told
from hookline.flows.replay import Driver, Next
from hookline.flows.waits import instant_value

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from hookline.domain.events import Event
    from hookline.domain.runs import JournalEffect, Run
    from hookline.flows.definitions import Flow
    from hookline.flows.engine import Engine
    from hookline.ports.store import Transaction, View

    Result = tuple[str, str, Any, str | None, int]

# So many steps of a flow of our own are recorded in one transaction.
MAX_STEPS = 50
OWN_FLOWS = frozenset({SESSION, SUBMIT, MERGE})


class Stretch:
    """One run under one token: its driver, what it waits for, and what is done."""

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
        self.begun: dict[str, float] = {}
        self.begins = False
        self.is_settled = False
        self.hands = Hands(self._carry_out)
        self.run: Run = self._load()
        self.is_own = self.run.flow in OWN_FLOWS

    def _may_tick(self) -> bool:
        limit = self.max_iterations
        return limit is None or self.run.iteration - self.first < limit

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
        flow = self.engine.find_flow(self.run)
        self._note_code(flow.digest)
        is_older = self.is_own and flow.digest != self.run.code_digest
        self.driver = Driver(fetched, by_older_code=is_older)
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
                began = self.begun.get(effect_id)
                journal.resolve(tx, self.run, effect_id, resolution, self.engine.blobs, began)

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
        journal.request(tx, self.run, asked, self.engine.blobs)
        for each in asked:
            if each.kind in INSTANT:
                result = Resolution(OK, instant_value(tx, self.run_id, each))
                journal.resolve(tx, self.run, each.effect_id, result, self.engine.blobs)
        waits = any(each.kind not in INSTANT for each in asked)
        if waits and self.counted is None and self._may_tick():
            self.counted = tx.runs.count_iteration(self.run_id)  # a tick follows; one commit less

    def _finish(self, tx: Transaction, driver: Driver) -> Done | None:
        assert driver.root is not None
        error, value = driver.root.error, driver.root.result
        if isinstance(error, Next):
            flow = self.engine.find_flow(self.run)
            chapter = {"chapter": self.run.chapter + 1, "state": error.state}
            pins = {"pins": flow.pins} if flow.pins else {}
            data = {**chapter, "codeDigest": flow.digest, **pins}
            journal.write(tx, "run_chapter", self.run_id, data)
            self.begins = True
            return None
        if error is None:
            data = {"value": self.engine.clean(value)}
            return self._end(tx, "run_completed", data, runs.COMPLETED)
        why = self.engine.clean(told(error))
        session_verbs.break_off(tx, self.run, runs.FAILED, why)
        return self._end(tx, "run_failed", {"error": why}, runs.FAILED)

    def _begin_chapter(self, view: View) -> bool:
        """Begin the chapter that was written last; whether there is one to begin."""
        if not self.begins:
            return False
        self.begins = False
        self.run = view.runs.find(self.run_id)
        flow = self.engine.find_flow(self.run)
        self.driver = Driver([])
        self.driver.start(self._begin(flow, Context(self.driver, self.run)))
        return True

    def _end(self, tx: Transaction, event_type: str, data: dict[str, Any], status: str) -> Done:
        journal.write(tx, event_type, self.run_id, data)
        tx.runs.let_go(self.run_id, self.token, None)
        return Done(status)

    async def _carry_out(self, effect: JournalEffect) -> None:
        engine = self.engine
        about = {"runId": self.run_id, "effectId": effect.effect_id}

        def begun() -> None:
            self.begun.setdefault(effect.effect_id, time.time())
            engine.observe("begun", about)

        resolution = await engine.executor.execute(self.run, effect, self._check, begun)
        if resolution is not None:
            self.done.append((effect.effect_id, resolution))
        else:
            engine.observe("effect", about)

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
