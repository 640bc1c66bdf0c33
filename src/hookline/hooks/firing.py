"""Firing a point by hand: its hooks are called in order, and each call leaves its record.

The event is written together with the first record, so that a point without hooks costs nothing.
Calls that follow each other quickly are recorded together: a commit each would cost more than
most hooks. A firing that was cut short and is made again under the same key goes on after the
hooks that have their record.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.domain.records import SKIPPED, Delivery, Outcome
from hookline.hooks.delivery import stored_outcome
from hookline.hooks.dispatch import dispatch
from hookline.hooks.frames import Frame, rule_of
from hookline.hooks.rules import RULES, failed
from hookline.hooks.settle import FIRED, report_hook_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.domain.events import Event
    from hookline.hooks.call import Caller
    from hookline.hooks.registry import Hook
    from hookline.hooks.rules import Called
    from hookline.ports.store import Store, Transaction


# Hooks that are over within this time are recorded together.
QUICK = 0.05


class Shot(NamedTuple):
    """One firing: where, what its hooks see, and under which keys they are called.

    `node` is the run or the task that it belongs to, `name` tells it from others of that node,
    `after` is a place in the log that it cannot be before. `guard` is called in each
    transaction, `on_record` in the one that records a call; `observe` is told of both ends.
    `later` is handed what is not recorded at the end, to be written with something else.
    """

    point: str
    payload: dict[str, Any]
    node: str
    name: str
    key: Callable[[Hook], str]
    after: int | None = None
    depth: int = 0
    guard: Callable[[Transaction], None] = lambda tx: None
    on_record: Callable[[Transaction, Event, Hook, Outcome], None] = lambda *details: None
    observe: Callable[[str, dict[str, Any]], None] = lambda what, details: None
    later: Callable[[Callable[[Transaction], None]], None] | None = None


class Firing:
    """Fires points and writes down what their hooks said."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        *,
        change: Callable[..., Any],
        suspended: Callable[[str], str | None],
    ) -> None:
        self._store = store
        self._caller = caller
        self._change = change
        self._suspended = suspended

    async def fire(self, shot: Shot, hooks: Sequence[Hook]) -> list[Called]:
        """Call hooks until the rule of the point has enough; each with what it said."""
        rule = RULES[rule_of(shot.point)]._replace(fold=list)
        event, known = self._earlier(shot) if hooks else (None, {})
        written = _Written(self, shot, event)

        async def call(hook: Hook, payload: Any) -> Outcome:
            if hook.name in known:
                return stored_outcome(known[hook.name], hook)
            return await written.call(hook, payload)

        try:
            called: list[Called] = await dispatch(rule, hooks, shot.payload, call)
        except BaseException:
            written.flush()
            raise
        written.hand_over()
        return called

    def enabled(self, hooks: Sequence[Hook]) -> list[Hook]:
        """Those that are not switched off."""
        if not hooks:
            return []
        with self._store.read() as view:
            switches = view.calls.switches()
        return [hook for hook in hooks if switches.get(hook.name, hook.enabled)]

    def _earlier(self, shot: Shot) -> tuple[Event | None, dict[str, Delivery]]:
        """What an attempt that was cut short has written."""
        if shot.after is None:
            return None, {}
        with self._store.read() as view:
            for event in view.log.events(node_id=shot.node, types=(FIRED,), after=shot.after):
                if (event.data["point"], event.data["name"]) == (shot.point, shot.name):
                    rows = view.calls.deliveries(event.seq)
                    return event, {row.hook: row for row in rows}
        return None, {}


class _Written:
    """The record of one firing."""

    def __init__(self, firing: Firing, shot: Shot, event: Event | None) -> None:
        self._firing = firing
        self._shot = shot
        self._event = event
        self._open: list[tuple[Hook, Outcome, str]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._trouble: Exception | None = None

    async def call(self, hook: Hook, payload: Any) -> Outcome:
        """Call a hook and write down how it went."""
        firing, shot = self._firing, self._shot
        told = {"point": shot.point, "hook": hook.name}
        shot.observe("hook_started", told)
        began = firing._store.now()
        reason = firing._suspended(hook.name)
        if reason is not None:
            outcome = Outcome(hook.name, SKIPPED, None, reason)
        else:
            rule = RULES[rule_of(shot.point)]
            frame = Frame(shot.point, rule, payload, shot.key(hook), depth=shot.depth)
            outcome = await firing._caller.call(hook, frame)
        self._open.append((hook, outcome, began))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(QUICK, self._flush_in_time)
        shot.observe("hook_ended", {**told, **_shown(hook, outcome)})
        return outcome

    def hand_over(self) -> None:
        """Everybody was asked: what is not recorded yet is, now or with what comes next."""
        if self._shot.later is None or self._trouble is not None:
            self.flush()
        elif self._open:
            self._stop_waiting()
            open_, self._open = self._open, []
            self._shot.later(lambda tx: self._write(tx, open_))

    def flush(self) -> None:
        """Record what is not recorded yet."""
        self._stop_waiting()
        if self._trouble is not None:
            raise self._trouble
        if self._open:
            open_, self._open = self._open, []
            self._firing._change(lambda tx: self._write(tx, open_))

    def _flush_in_time(self) -> None:
        """A hook takes its time: those before it are recorded meanwhile."""
        try:
            self.flush()
        except Exception as problem:  # noqa: BLE001  # raised where somebody waits for it
            self._trouble = problem

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _write(self, tx: Transaction, calls: list[tuple[Hook, Outcome, str]]) -> None:
        shot = self._shot
        shot.guard(tx)
        if self._event is None:
            self._event = tx.append(FIRED, shot.node, {"point": shot.point, "name": shot.name})
            tx.calls.freeze(self._event.seq, shot.payload)
        seq = self._event.seq
        position = len(tx.calls.deliveries(seq))
        for place, (hook, outcome, began) in enumerate(calls, start=position):
            about = (0, seq, hook.name, shot.point, hook.kind, hook.origin, "pending", place)
            row = Delivery(*about, attempts=1, started_at=began, condition=hook.when)
            row = msgspec.structs.replace(row, id=tx.calls.add(row))
            tx.calls.finish(row, self._firing._caller.recorded(outcome))
            if failed(outcome):
                report_hook_error(tx, self._event, hook.name, outcome.error or "failed")
            shot.on_record(tx, self._event, hook, outcome)


def _shown(hook: Hook, outcome: Outcome) -> dict[str, Any]:
    """What a person who watches is told about a call."""
    return {
        "status": outcome.status,
        "durationMs": outcome.duration_us / 1000,
        "exitCode": outcome.exit_code,
        "error": outcome.error,
        "answer": msgspec.to_builtins(outcome.answer) if outcome.answer is not None else None,
        "condition": hook.when,
        "values": outcome.values,
        "piped": hook.pipe_output,
    }
