"""After the commit: the hooks of an event are called, recorded, and their actions carried out.

If this process dies, the rows say what is left to do, and the next process does it.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from hookline.domain.events import SYSTEM_NODE, TOLD, Event
from hookline.domain.hooks.records import DEAD, OK, PENDING, Action, Delivery, Outcome
from hookline.domain.hosts import LEASE_HERE
from hookline.errors import Fenced, StoreCorrupt, StoreError
from hookline.hooks.calls.call import described
from hookline.hooks.calls.record import Recorder, stored_outcome
from hookline.hooks.calls.rows import caused_by, set_child, write
from hookline.hooks.calls.settle import Settling, carry_out, settle
from hookline.hooks.dispatch import dispatch
from hookline.hooks.frames import Frame, event_payload, timeout_of
from hookline.hooks.registry import Hook
from hookline.hooks.rules import RULES, fed_text
from hookline.immutable import Immutable
from hookline.points import FEED, REACT, rule_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from hookline.ports.processes import ProcessGroup
    from hookline.ports.store import Store, Transaction, View

MAX_ATTEMPTS = 3
LEASE_MARGIN = 60.0
# What a command delivers besides its own events: earlier calls of the same tasks, what its own
# hooks caused, and others.
MOST_EARLIER, MOST_CAUSED, MOST_OTHERS, LONGEST = 200, 1000, 50, 2.0


class _NothingFree(Exception):
    """Nothing waits, or other processes have it: nothing is stored, so no process is woken."""


class Owner(Immutable):
    """This process as a holder of leases, and how it tells which other holders are alive."""

    name: str
    is_free: Callable[[str, float], bool]
    end_child: Callable[[str], None]
    end_strays: Callable[[str], None]
    # How long a lease on a run lasts if it is not renewed.
    lease: float = LEASE_HERE

    def is_elsewhere(self, view: View, run_id: str) -> bool:
        """Whether another process that is alive advances a run."""
        holder, _, until = view.runs.leases.holder(run_id)
        return holder is not None and not self.is_free(holder, until)

    def not_over(self, now: float) -> float:
        """Until when a lease must have lasted at least, to be ours still if nobody has taken it.

        On a server, what was started under one is killed before its end, so the run has to be taken
        again, as after a crash. Here it is enough that nobody took it.
        """
        return 0.0 if self.lease == LEASE_HERE else now


class Deliverer:
    """Works through the dispatches that wait in a store."""

    def __init__(
        self,
        store: Store,
        settling: Settling,
        recorder: Recorder,
        owner: Owner,
        *,
        metadata: dict[str, Any],
        tell: Callable[[str], None],
    ) -> None:
        self.store, self.settling, self.recorder = store, settling, recorder
        self.owner, self.metadata, self._tell = owner, metadata, tell
        self._passed: set[int] = set()

    async def drain(self) -> int:
        """Deliver all that this process may take; return how many events it handled."""
        count = 0
        while await self._next() is not None:
            count += 1
        return count

    async def drain_own(self) -> Left:
        """Deliver what this process caused, and a little of what waits besides."""
        own, held = self.store.opened, set[str]()
        own |= self._without_hooks(own)
        first_ones, done = set(own), set[int]()
        earlier = caused = 0
        while own and earlier < MOST_EARLIER and caused < MOST_CAUSED:
            first = min(own)
            delivered = await self._next(own[first])
            if delivered is None:  # another process has it, or it was skipped
                held.add(own.pop(first))
            elif own.pop(delivered.event_seq, None) is None:
                earlier += delivered.calls
            else:
                done.add(delivered.event_seq)
                own |= self._caused_by(done, delivered.event_seq)
                caused += delivered.calls if delivered.event_seq not in first_ones else 0
        others, end = 0, time.monotonic() + LONGEST
        while not own and others < MOST_OTHERS and time.monotonic() < end:
            delivered = await self._next()
            if delivered is None:
                return Left(0, self._held(held))
            others += delivered.calls
        with self.store.read() as view:
            return Left(view.calls.waiting(), {})

    def held(self) -> dict[str, int]:
        """How many calls each other process holds."""
        return self._held(None)

    def _held(self, nodes: Iterable[str] | None) -> dict[str, int]:
        found: dict[str, int] = {}
        with self.store.read() as view:
            for node in view.dispatches.held_nodes() if nodes is None else nodes:
                owner, until = view.dispatches.holder(node)
                if owner is not None and not self.owner.is_free(owner, until):
                    found[owner] = found.get(owner, 0) + view.calls.waiting(node)
        return found

    def _without_hooks(self, own: Mapping[int, str]) -> dict[int, str]:
        """Our events that call no hook, of tasks for which earlier ones wait."""
        others = self.store.written.keys() - {*own.values(), SYSTEM_NODE}
        with self.store.read() as view:
            waiting = [node for node in others if view.dispatches.any_open(node)]
        return {self.store.written[node]: node for node in waiting}

    def _caused_by(self, done: set[int], after: int) -> dict[int, str]:
        """Events that processes inside our hooks recorded: we deliver them."""
        with self.store.read() as view:
            found = view.dispatches.after(after)
        return {seq: node for seq, node, cause in found if cause in done}

    async def _next(self, node_id: str | None = None) -> _Delivered | None:
        claimed = self._claim(node_id)
        if claimed is None:
            return None
        seq, token = claimed
        try:
            return _Delivered(seq, await self._deliver(seq, token))
        except Fenced:
            return _Delivered(seq, 0)
        except Exception as problem:
            if isinstance(problem, StoreError) and not isinstance(problem, StoreCorrupt):
                raise  # busy, full or read-only: no event can be handled now
            self._stumble(seq, token, problem)  # other events do not wait for this one
            return _Delivered(seq, 0)

    def _claim(self, node_id: str | None) -> tuple[int, int] | None:
        """(event, token) of a dispatch that is ours now."""
        try:
            with self.store.write(self.metadata) as tx:
                token, lease = tx.next_token(), self.store.time() + LEASE_MARGIN
                claim = (self.owner.name, token, lease, self.owner.is_free)
                seq = tx.dispatches.claim_next(*claim, node_id=node_id, passed=self._passed)
                if seq is None:
                    raise _NothingFree
        except _NothingFree:
            return None
        return seq, token

    async def _deliver(self, seq: int, token: int) -> int:
        with self.store.read() as view:
            event = view.log.find(seq)
            frozen = view.calls.payload(seq) or {}
            rows = view.calls.deliveries(seq)
            switches = view.switches.all()
        assert event is not None  # a dispatch is written with its event
        dispatched = _Dispatch(self, event, token, frozen, switches)
        await dispatched.call_all(rows)
        dispatched.carry_out()
        dispatched.close()
        return sum(row.status == PENDING for row in rows)

    def _stumble(self, seq: int, token: int, problem: Exception) -> None:
        """An error outside every hook: tried again by the next process, three times in all."""
        self._passed.add(seq)
        said = f"the hooks of event {seq} could not be called: {described(problem)}"
        with self.store.write(self.metadata) as tx:
            attempts = tx.dispatches.stumble(seq, token)
            if attempts >= MAX_ATTEMPTS:
                # Whatever is wrong with the event or its rows, they are not read again.
                for hook in tx.calls.give_up(seq, said):
                    data = {"hookName": hook, "error": said, "originalEvent": {"seq": seq}}
                    cause = {"cause": seq, "hook": hook, "depth": self.settling.depth_limit}
                    tx.append("hook_error", SYSTEM_NODE, data, metadata=cause)
                settle(tx, self.settling)
        again = "they are given up" if attempts >= MAX_ATTEMPTS else "the next command tries again"
        self._tell(f"{said}; {again}")


class Left(Immutable):
    """What a command leaves: calls that any process can make, and those that others hold."""

    calls: int
    held: Mapping[str, int]


class _Delivered(Immutable):
    """An event that was handled, and how many calls that took."""

    event_seq: int
    calls: int


class _Dispatch:
    """The calls of one event that this process has leased."""

    def __init__(
        self,
        deliverer: Deliverer,
        event: Event,
        token: int,
        frozen: dict[str, Any],
        switches: Mapping[str, bool],
    ) -> None:
        self.deliverer, self.event, self._token = deliverer, event, token
        self._frozen, self._switches = frozen, switches
        self._changes = deliverer.recorder.caller.changes(frozen)
        self._unwritten: list[tuple[Hook, Delivery, Outcome]] = []

    async def call_all(self, rows: list[Delivery]) -> None:
        """Call the hooks that wait, in order."""
        by_name = {row.hook: row for row in rows}
        hooks = [self._hook(row) for row in rows if row.kind != "built-in"]
        payload = event_payload(self.event, self._frozen)

        async def call(hook: Hook, payload: dict[str, Any]) -> Outcome:
            return await self._call(hook, by_name[hook.name], payload)

        for rule in (REACT, FEED):
            of_rule = [hook for hook in hooks if rule_of(by_name[hook.name].point) == rule]
            await dispatch(RULES[rule], of_rule, payload, call)

    def carry_out(self) -> None:
        """Do what the hooks asked for, each action in its own transaction."""
        settling = self.deliverer.settling
        if any(_wanted(row, outcome) for _, row, outcome in self._unwritten):
            self._flush()
        with self.deliverer.store.read() as view:
            waiting = view.calls.open_actions(self.event.seq)
        for stored in waiting:
            metadata = caused_by(self.deliverer.metadata, self.event, stored.hook)
            with self.deliverer.store.write(metadata) as tx:
                self.check(tx)
                carry_out(tx, self.event, stored, settling.start_flow)
                settle(tx, settling)

    def close(self) -> None:
        """Close the dispatch: every hook was called."""
        with self.change() as tx:
            tx.dispatches.close(self.event.seq, self._token)

    async def _call(self, hook: Hook, row: Delivery, payload: dict[str, Any]) -> Outcome:
        if row.status != PENDING:
            return stored_outcome(row, hook)
        owner, entry = self.deliverer.owner, _Waiting(self, hook, row)
        if row.child:
            owner.end_child(row.child)
        elif row.attempts:  # its process was started, and perhaps not yet recorded
            owner.end_strays(entry.key)
        if row.attempts >= MAX_ATTEMPTS:
            error = f"given up after {row.attempts} attempts that never finished"
            entry.end(outcome := Outcome(hook.name, DEAD, None, error))
            return outcome
        if hook.when is not None and row.condition_values is None and self._changes.found is None:
            self._flush()  # git may take its time
        frame = Frame(
            *(row.point, RULES[rule_of(row.point)], payload, entry.key),
            *(self.event, self.event.metadata.get("depth", 0) + 1),
            judged=row.condition_values,
            changes=self._changes,
        )
        try:
            return await self.deliverer.recorder.call(hook, frame, entry)
        except asyncio.CancelledError:  # asked to stop; the hook's process has ended
            entry.take_back()
            raise

    # The record

    @contextmanager
    def change(self) -> Iterator[Transaction]:
        """A transaction that also records the calls which are over; Fenced if this is not ours."""
        unwritten, self._unwritten = self._unwritten, []
        with self.deliverer.store.write(self.deliverer.metadata) as tx:
            self.check(tx)
            if self._changes.found is not None and "changed" not in self._frozen:
                self._frozen = {**self._frozen, "changed": self._changes.found}
                tx.calls.refreeze(self.event.seq, self._frozen)
            for hook, row, outcome in unwritten:
                write(tx, self.event, row, outcome, _wanted(row, outcome))
                self._hold(tx, hook, row, outcome)
            settle(tx, self.deliverer.settling)
            yield tx

    def keep(self, hook: Hook, row: Delivery, outcome: Outcome) -> None:
        """Record a call with what comes next: another call, an action or the end."""
        self._unwritten.append((hook, row, outcome))

    def check(self, tx: Transaction) -> None:
        """Fenced, if another process has taken the event over."""
        if not tx.dispatches.holds(self.event.seq, self._token):
            raise Fenced

    def _flush(self) -> None:
        if self._unwritten:
            with self.change():
                pass

    def _hold(self, tx: Transaction, hook: Hook, row: Delivery, outcome: Outcome) -> None:
        """Keep a hook's output for the session that it goes to."""
        told = self.event.data.get(TOLD)
        said = fed_text(outcome) if hook.pipe_output and rule_of(row.point) == FEED else ""
        if told and said:
            from hookline.domain.sessions.model import HeldOutput  # few hooks feed sessions

            tx.sessions.hold(told, HeldOutput(self.event.seq, row.hook, row.point, said))

    def _hook(self, row: Delivery) -> Hook:
        hook = self.deliverer.settling.scopes.find(row.hook)
        if hook is None:
            return gone(row, "the hook is no longer configured")
        if not self._switches.get(hook.name, hook.enabled):
            return gone(row, "the hook was switched off")
        return hook


class _Waiting:
    """The entry of a call whose row waits in the store."""

    def __init__(self, dispatch: _Dispatch, hook: Hook, row: Delivery) -> None:
        self._dispatch, self._hook, self._row = dispatch, hook, row
        self.key = f"{dispatch.event.id}:{row.id}"
        self._is_begun = False

    def begin(self) -> Callable[[ProcessGroup], None]:
        """An attempt more; the lease lasts for it."""
        row = self._row
        until = (
            self._dispatch.deliverer.store.time() + timeout_of(self._hook, row.point) + LEASE_MARGIN
        )
        with self._dispatch.change() as tx:
            tx.calls.start(row.id, tx.now)
            tx.dispatches.extend(row.event_seq, until)
        self._is_begun = True
        return self._born

    def end(self, outcome: Outcome) -> None:
        self._dispatch.keep(self._hook, self._row, outcome)

    def take_back(self) -> None:
        """A call that a person or a signal interrupted is not counted as an attempt."""
        if self._is_begun:
            with suppress(Fenced), self._dispatch.change() as tx:
                tx.calls.take_back(self._row.id)

    def _born(self, group: ProcessGroup) -> None:
        deliverer = self._dispatch.deliverer
        with deliverer.store.write(deliverer.metadata) as tx:
            set_child(tx, self._row, group)


def gone(row: Delivery, why: str) -> Hook:
    """A stand-in for a hook that is no longer called, so that its call can be closed."""
    return Hook(name=row.hook, points=(row.point,), kind="command", metadata={"gone": why})


def _wanted(row: Delivery, outcome: Outcome) -> Sequence[Action]:
    """What a hook asks for; only reactions ask for something."""
    reacted = outcome.status == OK and rule_of(row.point) == REACT
    return outcome.answer if reacted else ()
