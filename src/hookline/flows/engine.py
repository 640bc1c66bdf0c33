"""The local engine: advances runs in the store, one lease at a time.

`advance` is all that a scheduler needs: it takes a run as far as it goes and says whether the
run is done or until when, and for what, it is parked. The journal is always the store's.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.runs import model as runs
from hookline.domain.runs.due import was_parked_later
from hookline.domain.runs.model import (
    OK,
    PENDING,
    TERMINAL,
    EffectResolved,
    JournalEffect,
    Resolution,
    Run,
)
from hookline.errors import Fenced, HooklineError, StoreLost
from hookline.flows import journal
from hookline.flows.advance import Advance
from hookline.flows.outcomes import WAITS, Done, Observe, Parked, last_parked, waits_for_person
from hookline.flows.steering import SCHEDULE, Chooses
from hookline.flows.waits import has_come

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.domain.events import Event
    from hookline.flows.definitions.finder import FlowDefinition
    from hookline.flows.effects import Executor
    from hookline.flows.own_flows import OwnFlows
    from hookline.hooks.calls.delivery import Owner
    from hookline.ports.feeds import Wakeup
    from hookline.ports.store import Blobs, Store, Transaction, View

    Admits = Callable[[View, list[str]], list[str]]
    Vouches = Callable[[Run, FlowDefinition, list[JournalEffect]], None]

# How soon a run that another process advances is checked again.
LOOK_AGAIN = 0.5

__all__ = ["Done", "Engine", "Fenced", "Observe", "Parked"]


@dataclass
class Engine:
    """Advances runs. One engine serves one process; leases keep processes apart."""

    store: Store
    blobs: Blobs
    owner: Owner
    find_flow: Callable[[Run], FlowDefinition]
    executor: Executor
    steering: Chooses
    wakeup: Wakeup
    change: Callable[..., Any]
    own: OwnFlows
    tell: Callable[[Event], None] = lambda event: None
    observe: Observe = lambda what, details: None
    clean: Callable[[Any], Any] = lambda value: value
    # Raises if a run, or an effect that older code asked for, brings what nobody named here.
    vouch: Vouches = lambda run, flow, pending: None
    _advancing: set[str] = field(default_factory=set, init=False)

    async def advance(self, run_id: str, *, max_iterations: int | None = None) -> Done | Parked:
        """Advance a run as far as possible."""
        # A process may always take its own leases again, so it must not advance a run twice.
        if run_id in self._advancing:
            return self._held("this process advances it already")
        self._advancing.add(run_id)
        try:
            return await self._advance(run_id, max_iterations)
        except Fenced:
            return self._held("another process took it over")
        except StoreLost:  # before it began; nothing was changed
            return self._held("the connection to the store was lost")
        finally:
            self._advancing.discard(run_id)

    async def _advance(self, run_id: str, max_iterations: int | None) -> Done | Parked:
        waiting = self._without_news(run_id)
        if waiting is not None:
            return waiting
        with self.store.read() as view:
            if self.is_newer(view, run_id):
                return self._held("a newer Hookline advances it")
        token = self._take(run_id)
        if token is None:
            return self._held("another process advances it")
        advance = Advance(self, run_id, token, max_iterations)
        try:
            return await advance.to_the_end()
        finally:
            await advance.stop()

    def _without_news(self, run_id: str) -> Parked | None:
        """The end of a run that only waits and has no news, without taking its lease."""
        now = self.store.time()
        # Damaged or missing records are news as well: the run is parked for them.
        with self.store.read() as view, suppress(HooklineError, msgspec.MsgspecError):
            run = view.runs.find(run_id)
            if run.status != runs.PARKED or not last_parked(view, run).data.get(WAITS):
                return None
            effects = view.runs.effects(run)
            pending = [each for each in effects if each.status == PENDING]
            if has_come(run, pending, now):
                return None
            journal.prove(view.log, run, effects)
            if self.find_flow(run).digest == run.code_digest:
                asks = waits_for_person(view, run, self.own, pending)
                return Parked(run.wake_at, run.reason or "", asks)
        return None

    def admitting(self, admits: Admits) -> Admits:
        """The same choice of runs that are due, without those of a newer Hookline."""
        return lambda view, due: [
            each for each in admits(view, due) if not self.is_newer(view, each)
        ]

    def is_newer(self, view: View, run_id: str) -> bool:
        """Whether a newer Hookline has begun the chapter of a run: its code is not known here."""
        run = view.runs.find(run_id)
        if run.flow not in self.own or run.status in TERMINAL:
            return False
        theirs, ours = run.code_digest, self.find_flow(run).digest
        are_numbers = theirs.isdecimal() and ours.isdecimal()
        return are_numbers and int(theirs) > int(ours)

    def _held(self, reason: str) -> Parked:
        return Parked(self.store.time() + LOOK_AGAIN, reason, held=True)

    def _take(self, run_id: str) -> int | None:
        with self.store.read() as view:
            if self.owner.is_elsewhere(view, run_id):
                return None

        def take(tx: Transaction) -> tuple[int, list[JournalEffect]] | None:
            if self.owner.is_elsewhere(tx, run_id):
                return None
            run = tx.runs.find(run_id)
            if run.status in TERMINAL or run.status == runs.PAUSED:
                return 0, []
            token = tx.next_token()
            if run.status == runs.PARKED:
                self._try_now(tx, run)
                journal.write(tx, "run_resumed", run.run_id, {})
            begun = tx.runs.pending(run)
            tx.runs.leases.take(
                run_id, self.owner.name, token, self.store.time() + self.owner.lease
            )
            return token, begun

        taken: tuple[int, list[JournalEffect]] | None = self.change(take)
        if taken is None:
            return None
        token, begun = taken
        # The old holder is fenced now; what it started must be gone before anything starts.
        for effect in begun:
            self._end_processes(run_id, effect)
        self.interrupt_agents(run_id, token, begun)
        return token

    def _try_now(self, tx: Transaction, run: Run) -> None:
        """Try again at once what was scheduled before the clock was set back."""
        now = self.store.time()
        if not was_parked_later(run, now):
            return
        moments = tx.runs.value(run.run_id, SCHEDULE.format(run.chapter)) or {}
        for effect in tx.runs.pending(run):
            if effect.next_try is not None and effect.effect_id not in moments:
                tx.runs.attempts.postpone(run, effect.effect_id, now)

    def _end_processes(self, run_id: str, effect: JournalEffect) -> None:
        if effect.child:
            self.owner.end_child(effect.child)
        # Only agents are always recorded before they work; strays of all others are searched for.
        if effect.kind != "agent" or effect.attempts:
            with self.store.read() as view:
                run = view.runs.find(run_id)
            for key in self.executor.keys(run, effect):
                self.owner.end_strays(key)

    def interrupt_agents(self, run_id: str, token: int, begun: list[JournalEffect]) -> None:
        """Resolve turns that were under way as interrupted: an agent may have done half of one."""
        for effect in begun:
            if effect.kind == "agent" and effect.attempts:
                value = {"interrupted": True, "conversation": effect.conversation}
                self.resolve(run_id, token, effect.effect_id, Resolution(OK, value))

    def resolve(
        self,
        run_id: str,
        token: int,
        effect_id: str,
        resolution: Resolution,
        started: float | None = None,
    ) -> bool:
        """Record our result; False if another one came first."""

        def record(tx: Transaction) -> None:
            self.check(tx, run_id, token)
            run = tx.runs.find(run_id)
            tx.metadata = self.own.origin(tx.metadata, run)
            if resolution.also is not None:
                resolution.also(tx)
            journal.resolve(tx, run, effect_id, resolution, self.blobs, started)

        try:
            self.change(record)
        except EffectResolved:
            return False
        return True

    def release(self, run_id: str) -> None:
        """Release a run to other processes, as due as it was."""

        def release(tx: Transaction) -> None:
            holder, token, _ = tx.runs.leases.holder(run_id)
            if holder == self.owner.name:
                tx.runs.leases.let_go(run_id, token, 0.0)

        self.change(release)

    def check(self, view: View, run_id: str, token: int) -> None:
        """Refuse to act for a run whose lease we lost."""
        holder, found, until = view.runs.leases.holder(run_id)
        is_over = holder is not None and until < self.owner.not_over(self.store.time())
        if found != token or is_over:
            raise Fenced

    def prove(self, check: Callable[[Transaction], object]) -> None:
        """Refuse to act if `check` does; else nobody takes our leases for as long as one lasts."""
        with self.store.write({}) as tx:
            check(tx)
            now, leases = self.store.time(), tx.runs.leases
            over = self.owner.not_over(now)
            leases.renew(self.owner.name, now + self.owner.lease, not_over=over)
