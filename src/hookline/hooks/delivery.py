"""After the commit: the hooks of an event are called, recorded, and their actions carried out.

Whatever happens to this process, the rows say what is still to do, and the next one does it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.domain.records import DEAD, OK, PENDING, SKIPPED, Delivery, Outcome, Reply
from hookline.domain.sessions import HeldOutput
from hookline.hooks.dispatch import dispatch
from hookline.hooks.frames import Frame, event_payload, rule_of, timeout_of
from hookline.hooks.registry import Hook
from hookline.hooks.rules import RULES, failed, fed_text
from hookline.hooks.settle import (
    Settling,
    carry_out,
    caused_by,
    hooks_told,
    report_hook_error,
    settle,
)
from hookline.points import FEED, REACT

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.domain.events import Event
    from hookline.hooks.call import Caller
    from hookline.ports.processes import ProcessGroup
    from hookline.ports.store import Store, Transaction

MAX_ATTEMPTS = 3
LEASE_MARGIN = 60.0


class Fenced(Exception):
    """Another process took this dispatch over; what we still know about it no longer counts."""


class _NothingFree(Exception):
    """Nothing waits, or others work on it: nothing is stored, so nobody is woken by the look."""


class Owner(NamedTuple):
    """This process as a holder of leases, and how it judges other holders."""

    name: str
    is_free: Callable[[str, float], bool]
    end_child: Callable[[str], None]
    end_strays: Callable[[str], None]


class Deliverer:
    """Works through the dispatches that wait in a store."""

    def __init__(
        self,
        store: Store,
        settling: Settling,
        caller: Caller,
        owner: Owner,
        *,
        metadata: dict[str, Any],
        record: Callable[[Delivery, Outcome], None],
    ) -> None:
        self._store = store
        self._settling = settling
        self._caller = caller
        self._owner = owner
        self._metadata = metadata
        self._record = record

    async def drain(self) -> int:
        """Deliver until nothing is left that this process may take; how many events it saw to."""
        count = 0
        while True:
            claimed = self._claim()
            if claimed is None:
                return count
            try:
                await self._deliver(*claimed)
            except Fenced:
                continue
            count += 1

    def _claim(self) -> tuple[int, int] | None:
        """(event, token) of a dispatch that is ours now."""
        try:
            with self._store.write(self._metadata) as tx:
                token = tx.next_token()
                lease = time.time() + LEASE_MARGIN
                seq = tx.calls.claim_next(self._owner.name, token, lease, self._owner.is_free)
                if seq is None:
                    raise _NothingFree
        except _NothingFree:
            return None
        return seq, token

    async def _deliver(self, seq: int, token: int) -> None:
        with self._store.read() as view:
            event = view.log.find(seq)
            frozen = view.calls.payload(seq)
            rows = {row.hook: row for row in view.calls.deliveries(seq)}
        assert event is not None  # a dispatch is written with its event
        hooks = [self._hook(row) for row in rows.values() if row.kind != "built-in"]
        payload = event_payload(event, await self._with_changes(seq, frozen, hooks))

        async def call(hook: Hook, payload: dict[str, Any]) -> Outcome:
            return await self._call(hook, rows[hook.name], event, payload, token)

        for rule in (REACT, FEED):
            of_rule = [hook for hook in hooks if rule_of(rows[hook.name].point) == rule]
            await dispatch(RULES[rule], of_rule, payload, call)
        self._carry_out(event, token)
        with self._store.write(self._metadata) as tx:
            tx.calls.close_dispatch(seq, token)

    async def _with_changes(
        self, seq: int, frozen: dict[str, Any] | None, hooks: list[Hook]
    ) -> dict[str, Any]:
        seen = frozen or {}
        if "changed" in seen or not any("changed" in (hook.when or "") for hook in hooks):
            return seen
        seen = {**seen, "changed": await self._caller.changed_files()}
        with self._store.write(self._metadata) as tx:
            tx.calls.refreeze(seq, seen)
        return seen

    def _hook(self, row: Delivery) -> Hook:
        return self._settling.standing.find(row.hook) or gone(row)

    async def _call(
        self, hook: Hook, row: Delivery, event: Event, payload: dict[str, Any], token: int
    ) -> Outcome:
        if row.status != PENDING:
            return stored_outcome(row, hook)
        if row.child:
            self._owner.end_child(row.child)
        elif row.attempts:  # its process was started, and perhaps not yet recorded
            self._owner.end_strays(_key(row, event))
        if row.attempts >= MAX_ATTEMPTS:
            error = f"given up after {row.attempts} attempts that never ended"
            return self._finish(row, event, Outcome(hook.name, DEAD, None, error), token)
        reason = self._settling.suspended.get(hook.name) or hook.metadata.get("gone")
        if reason:
            return self._finish(row, event, Outcome(hook.name, SKIPPED, None, reason), token)
        with self._store.write(self._metadata) as tx:
            self._check(tx, event.seq, token)
            tx.calls.start(row.id, tx.now)
            tx.calls.extend(event.seq, time.time() + timeout_of(hook, row.point) + LEASE_MARGIN)
        frame = Frame(
            row.point,
            RULES[rule_of(row.point)],
            payload,
            _key(row, event),
            event,
            event.metadata.get("depth", 0) + 1,
        )
        outcome = await self._caller.call(hook, frame, lambda group: self._born(row, group))
        held = fed_text(outcome) if hook.pipe_output and frame.rule.name == FEED else ""
        return self._finish(row, event, outcome, token, held)

    def _born(self, row: Delivery, group: ProcessGroup) -> None:
        with self._store.write(self._metadata) as tx:
            tx.calls.set_child(row.id, msgspec.json.encode(group).decode())

    def _finish(
        self, row: Delivery, event: Event, outcome: Outcome, token: int, held: str = ""
    ) -> Outcome:
        reacted = outcome.status == OK and rule_of(row.point) == REACT
        with self._store.write(self._metadata) as tx:
            self._check(tx, event.seq, token)
            tx.calls.finish(row, self._caller.recorded(outcome), outcome.answer if reacted else ())
            if held:
                self._hold(tx, HeldOutput(event.seq, row.hook, row.point, held))
            if failed(outcome) or outcome.status == DEAD:
                report_hook_error(tx, event, row.hook, outcome.error or "failed")
            settle(tx, self._settling)
        self._record(row, outcome)
        return outcome

    def _hold(self, tx: Transaction, said: HeldOutput) -> None:
        """Keep what a hook said for each told session that it stands for."""
        seen = tx.calls.payload(said.event_seq) or {}
        kind = (seen.get("task") or {}).get("type")
        for session in seen.get("sessions", ()):
            told = hooks_told(self._settling.standing, tx.runs.find(session), kind)
            if any(hook.name == said.hook for hook in told):
                tx.sessions.hold(session, said)

    def _carry_out(self, event: Event, token: int) -> None:
        with self._store.read() as view:
            waiting = view.calls.open_actions(event.seq)
        for stored in waiting:
            metadata = caused_by(self._metadata, event, stored.hook)
            with self._store.write(metadata) as tx:
                self._check(tx, event.seq, token)
                start_flow = self._settling.start_flow
                carry_out(tx, event, stored.hook, stored.position, stored.action, start_flow)
                settle(tx, self._settling)

    def _check(self, tx: Transaction, seq: int, token: int) -> None:
        if not tx.calls.holds(seq, token):
            raise Fenced


def _key(row: Delivery, event: Event) -> str:
    return f"{event.id}:{row.id}"


def stored_outcome(row: Delivery, hook: Hook) -> Outcome:
    """The outcome of a call that an earlier process made and recorded."""
    answer: Any = row.answer
    if row.status == OK:
        answer = RULES[rule_of(row.point)].read(Reply(row.answer), hook)
    return Outcome(row.hook, row.status, answer, row.error, row.duration_us or 0, row.exit_code)


def gone(row: Delivery) -> Hook:
    """A stand-in for a hook that is no longer configured, so that its call can be closed."""
    return Hook(
        name=row.hook,
        points=(row.point,),
        kind="command",
        metadata={"gone": "the hook is no longer configured"},
    )
