"""One run under one lease: its code is replayed to the end of its journal, and continues there.

Results go in, requests come out, and both are recorded. `Advance` decides when.
"""

from __future__ import annotations

from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from hookline.domain.runs import model as runs
from hookline.domain.runs.model import (
    INSTANT,
    OK,
    PENDING,
    EffectResolved,
    FlowMistake,
    JournalDamaged,
    Resolution,
)
from hookline.errors import StoreLost
from hookline.flows import journal
from hookline.flows.context import Context
from hookline.flows.outcomes import Done, Result, RunSnapshot, Signalled, error_message
from hookline.flows.replay import Next, Stepper, digest
from hookline.flows.waits import instant_value

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from hookline.domain.events import Event
    from hookline.domain.runs.model import JournalEffect, Run
    from hookline.flows.definitions.finder import FlowDefinition
    from hookline.flows.engine import Engine
    from hookline.ports.store import Transaction, View

T = TypeVar("T")
MAX_CLOSINGS = 100
# How many steps of one of Hookline's own flows are recorded in one transaction.
MAX_STEPS = 50


class RunReplay:
    """One run under one token: its stepper, what it waits for, and what is done."""

    def __init__(self, engine: Engine, run_id: str, token: int) -> None:
        self.engine = engine
        self.run_id = run_id
        self.token = token
        self.moves = 0
        self.pending: list[JournalEffect] = []
        self.done: list[tuple[str, Resolution]] = []
        self.begun: dict[str, float] = {}
        with engine.store.read() as view:
            self.run: Run = view.runs.find(run_id)
        self._is_own = self.run.flow in engine.own
        self._stepper: Stepper | None = None
        self._seen = 0
        self._begins = False
        self._is_settled = False
        self._counted: int | None = None
        # Whether another iteration may follow: it is then counted with the flow's requests.
        self.may_iterate: Callable[[], bool] = lambda: True

    def look(self) -> RunSnapshot:
        """The current run; Fenced if we lost its lease."""
        with self.engine.store.read() as view:
            self.engine.check(view, self.run_id, self.token)
            return self.snapshot(view)

    def snapshot(self, view: View) -> RunSnapshot:
        """The current run."""
        return RunSnapshot(
            view.runs.pending(self.run),
            frozenset(name for _, name, _ in view.runs.signals(self.run)),
            view.runs.resolved_since(self.run, self._seen),
        )

    def replay(self) -> None:
        """Replay the flow's code to the end of its journal; the results in `done` are kept."""
        self.close()
        self._begins = self._is_settled = False
        self._counted = None
        with self.engine.store.read() as view:
            self.run = view.runs.find(self.run_id)
            effects = view.runs.effects(self.run)
            journal.prove(view.log, self.run, effects)
        blobs = self.engine.blobs
        fetched = [
            msgspec.structs.replace(effect, value=journal.inside(effect.value, blobs))
            for effect in effects
        ]
        self._seen = max((e.resolved_seq or 0 for e in effects), default=0)
        flow = self.engine.find_flow(self.run)
        self._note_code(flow.digest)
        is_older = self._is_own and flow.digest != self.run.code_digest
        old = [e for e in effects if e.status == PENDING] if is_older else []
        self.engine.vouch(self.run, flow, [journal.with_arguments(each, blobs) for each in old])
        self._stepper = Stepper(fetched, by_older_code=is_older)
        self._stepper.start(self._begin(flow, Context(self._stepper, self.run)))

    def _begin(self, flow: FlowDefinition, context: Context) -> Coroutine[Any, Any, Any]:
        try:
            return flow.begin(context, self.run)
        except TypeError as problem:
            given = ", ".join(self.run.input) or "nothing"
            raise FlowMistake(
                f"flow '{flow.name}' cannot be started: {problem}", help=f"its input holds {given}"
            ) from problem

    def _note_code(self, found: str) -> None:
        if self.run.code_digest and found != self.run.code_digest:
            self.engine.observe(
                "code-changed", {"runId": self.run_id, "was": self.run.code_digest, "is": found}
            )

    def refuse_other(self, effect: JournalEffect) -> None:
        """Refuse to carry out what the flow did not ask for, whatever the store says."""
        assert self._stepper is not None  # replayed before
        args = journal.with_arguments(effect, self.engine.blobs).args
        if self._stepper.asked.get(effect.effect_id) != digest(effect.kind, args):
            what = f"'{effect.effect_id}' of {self.run_id}"
            raise JournalDamaged(f"the flow did not ask for {what} as the store has it")

    def settle(self) -> Done | None:
        """Give every result to the flow, record what it asks for; its end, if it has one."""
        while True:
            assert self._stepper is not None  # replayed before
            found = self.look()
            if found.controls:
                raise Signalled
            if not self._is_own:  # no user's code runs under the lock of the store
                self._feed(found.results)
            if not (found.results or self.done or self._stepper.finished or self._stepper.requests):
                self.pending = found.pending
                return None
            ended = self._write_down()
            if ended is not None or self._is_settled:
                return ended

    def _feed(self, results: list[Result]) -> bool:
        """Give results to the flow; whether there were any."""
        assert self._stepper is not None
        for effect_id, status, value, error, seq in results:
            self._seen = seq
            self.moves += 1
            value = journal.inside(value, self.engine.blobs)
            self._stepper.resolve(effect_id, Resolution(status, value, error))
        return bool(results)

    def _write_down(self) -> Done | None:
        """Record what is done and what the flow asks for; one commit for as much as possible."""
        told: list[Event] = []
        over = [effect_id for effect_id, _ in self.done]
        is_ahead = False

        def write(tx: Transaction) -> Done | None:
            nonlocal is_ahead
            if is_ahead:  # what the flow's code did is not stored, and cannot be done once more
                raise StoreLost
            is_ahead = True
            self._record_done(tx)
            ended = self._record(tx)
            self._is_settled = False
            for _ in range(MAX_STEPS if self._is_own else 0):
                begun = self._begin_chapter(tx)
                if not self._feed(tx.runs.resolved_since(self.run, self._seen)) and not begun:
                    self._is_settled, self.pending = True, tx.runs.pending(self.run)
                    break
                ended = self._record(tx)
                if ended is not None:
                    break
            told.extend(tx.events if self._is_own else ())
            return ended

        ended = self.change(write)
        del self.done[: len(over)]
        for event in told:
            self.engine.tell(event)
        for effect_id in over:
            self.engine.observe("effect", {"runId": self.run_id, "effectId": effect_id})
        if ended is None and self._begins:
            with self.engine.store.read() as view:
                self._begin_chapter(view)
        return ended

    def _record_done(self, tx: Transaction) -> None:
        """Record our results; the first for an effect counts."""
        for effect_id, resolution in self.done:
            if resolution.also is not None:
                resolution.also(tx)
            with suppress(EffectResolved):
                began = self.begun.get(effect_id)
                journal.resolve(tx, self.run, effect_id, resolution, self.engine.blobs, began)

    def _record(self, tx: Transaction) -> Done | None:
        assert self._stepper is not None
        if self._stepper.finished:
            return self._finish(tx, self._stepper)
        if self._stepper.requests:
            self._record_requests(tx, self._stepper)
        return None

    def _record_requests(self, tx: Transaction, stepper: Stepper) -> None:
        asked, stepper.requests = stepper.requests, []
        self.moves += 1
        journal.request(tx, self.run, asked, self.engine.blobs)
        own = self.engine.own.of(self.run)
        for each in asked:
            if each.kind in INSTANT:
                result = Resolution(OK, instant_value(tx, self.run, each, own))
                journal.resolve(tx, self.run, each.effect_id, result, self.engine.blobs)
        waits = any(each.kind not in INSTANT for each in asked)
        if waits and self._counted is None and self.may_iterate():
            self._counted = tx.runs.count_iteration(self.run_id)  # one more follows; saves a commit

    def _finish(self, tx: Transaction, stepper: Stepper) -> Done | None:
        assert stepper.root is not None
        error, value = stepper.root.error, stepper.root.result
        if isinstance(error, Next):
            flow = self.engine.find_flow(self.run)
            chapter = {"chapter": self.run.chapter + 1, "state": error.state}
            pins = {"pins": flow.pins} if flow.pins else {}
            data = {**chapter, "codeDigest": flow.digest, **pins}
            journal.write(tx, "run_chapter", self.run_id, data)
            self._begins = True
            return None
        if error is None:
            data = {"value": self.engine.clean(value)}
            return self._end(tx, "run_completed", data, runs.COMPLETED)
        why = self.engine.clean(error_message(error))
        return self._end(tx, "run_failed", {"error": why}, runs.FAILED)

    def _begin_chapter(self, view: View) -> bool:
        """Begin the chapter that was written last; whether there is one to begin."""
        if not self._begins:
            return False
        self._begins = False
        self.begun.clear()  # its steps have the names of those before
        self.run = view.runs.find(self.run_id)
        flow = self.engine.find_flow(self.run)
        self._stepper = Stepper([])
        self._stepper.start(self._begin(flow, Context(self._stepper, self.run)))
        return True

    def _end(self, tx: Transaction, event_type: str, data: Mapping[str, Any], status: str) -> Done:
        self.leave(tx, event_type, data, None)
        return Done(status)

    def flush(self) -> None:
        """Record what is done, although the flow asks for nothing more now."""
        if over := len(self.done):
            self.change(self._record_done)
            del self.done[:over]

    def change(self, write: Callable[[Transaction], T]) -> T:
        """Store something about the run."""

        @wraps(write)
        def checked(tx: Transaction) -> T:
            self.check(tx)
            return write(tx)

        done: T = self.engine.change(checked)
        return done

    def count(self) -> int:
        """Another iteration begins; its number, unless it was counted before."""
        iteration = self._counted or self.change(lambda tx: tx.runs.count_iteration(self.run_id))
        self._counted = None
        self.run = msgspec.structs.replace(self.run, iteration=iteration)
        return iteration

    def leave(
        self, tx: Transaction, event_type: str, data: Mapping[str, Any], until: float | None
    ) -> None:
        """Record why the run does not continue under this lease, and release it."""
        journal.write(tx, event_type, self.run_id, data)
        tx.runs.leases.let_go(self.run_id, self.token, until)

    def close(self) -> None:
        """Drop the branches of the flow."""
        for _ in range(MAX_CLOSINGS):
            try:
                if self._stepper is not None:
                    self._stepper.close()
                return
            except RuntimeError:  # a flow that awaits in its `finally`: continue from there
                continue

    def check(self, tx: Transaction) -> None:
        """Refuse to act for a run whose lease we lost; events get the run's metadata."""
        self.engine.check(tx, self.run_id, self.token)
        tx.metadata = self.engine.own.origin(tx.metadata, self.run)
