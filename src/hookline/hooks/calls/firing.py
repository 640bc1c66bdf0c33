"""Firing a point by hand: its hooks are called in order, and each call leaves its record.

The event is written together with the first record, so that a point without hooks costs nothing.
Calls that follow each other quickly are recorded together: a commit each would cost more than
most hooks. A slow call is recorded before it ends. A firing that was interrupted
and is repeated continues after the hooks that have answered; the one that was cut is called again
under the same key.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.domain.events import FIRED, Event
from hookline.domain.hooks.records import CUT, PENDING, Delivery, Outcome
from hookline.domain.text.excerpts import last_line
from hookline.hooks.calls.record import Recorder, stored_outcome
from hookline.hooks.calls.rows import new_row, set_child, write
from hookline.hooks.dispatch import dispatch
from hookline.hooks.frames import Frame
from hookline.hooks.rules import RULES, Called, PointRule
from hookline.points import NOWHERE, delivery_of, rule_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookline.hooks.calls.call import ChangedFiles
    from hookline.hooks.registry import Hook
    from hookline.ports.processes import ProcessGroup
    from hookline.ports.store import Transaction


# Hooks that are over within this time are recorded together.
QUICK = 0.05


class Firing(NamedTuple):
    """One firing: where, what its hooks see, and under which keys they are called.

    `node` is the run or the task that it belongs to, `name` tells it from others of that node,
    `after` is a position in the log that it cannot be before. `guard` is called in each
    transaction, `on_record` in the one that records a call; `observe` is called at the start and
    the end of each call.
    `later` gets what is not recorded at the end, to be written with another change.
    `event` is what hooks that react to events are shown.
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
    event: Event | None = None


async def fire(recorder: Recorder, firing: Firing, hooks: Sequence[Hook]) -> list[Called]:
    """Call hooks until the rule of the point has enough; each with what it said."""
    rule = msgspec.structs.replace(RULES[rule_of(firing.point)], fold=list)
    event, known = _earlier(recorder, firing) if hooks else (None, {})
    written = _Written(recorder, firing, event)

    async def call(hook: Hook, payload: Any) -> Outcome:
        row = known.get(hook.name)
        if row is not None and row.status not in (PENDING, CUT):
            return stored_outcome(row, hook)
        return await written.call(hook, payload, row)

    try:
        called: list[Called] = await dispatch(rule, hooks, firing.payload, call)
    except BaseException:
        written.flush()
        raise
    written.hand_over()
    return called


def _earlier(recorder: Recorder, firing: Firing) -> tuple[Event | None, dict[str, Delivery]]:
    """What an attempt that was interrupted has written."""
    if firing.after is None:
        return None, {}
    with recorder.store.read() as view:
        for event in view.log.events(node_id=firing.node, types=(FIRED,), after=firing.after):
            if (event.data["point"], event.data["name"]) == (firing.point, firing.name):
                return event, {row.hook: row for row in view.calls.deliveries(event.seq)}
    return None, {}


class _Written:
    """The record of one firing, a few calls at a time."""

    def __init__(self, recorder: Recorder, firing: Firing, event: Event | None) -> None:
        self._recorder, self.firing, self._event = recorder, firing, event
        self._changes = recorder.caller.changes(firing.payload)
        self._open: list[_LateEntry] = []
        self._timer: asyncio.TimerHandle | None = None
        self._trouble: Exception | None = None

    async def call(self, hook: Hook, payload: Any, row: Delivery | None) -> Outcome:
        """Call a hook and record how it went, in the row of an attempt that was cut."""
        firing = self.firing
        told = {"point": firing.point, "hook": hook.name}
        firing.observe("hook_started", told)
        frame = Frame(
            *(firing.point, RULES[rule_of(firing.point)], payload, firing.key(hook)),
            *(firing.event, firing.depth),
            changes=self._changes,
            name=firing.name,
        )
        entry = _LateEntry(self, hook, self._recorder.store.now(), row)
        outcome = Outcome(hook.name, CUT)
        try:
            outcome = await self._recorder.call(hook, frame, entry)
        except asyncio.CancelledError:  # asked to stop; the hook's process has ended
            if entry.is_begun:
                entry.end(outcome)
            raise
        finally:
            firing.observe("hook_ended", {**told, **_shown(hook, outcome, firing.point)})
        return outcome

    def keep(self, entry: _LateEntry) -> None:
        """Record a call soon, with those that follow it at once."""
        if entry not in self._open:
            self._open.append(entry)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(QUICK, self._flush_in_time)

    def hand_over(self) -> None:
        """Every hook was called: record the rest, now or with the next change."""
        self.flush(self.firing.later)

    def flush(self, change: Callable[..., Any] | None = None) -> None:
        """Record what is not recorded yet, in its own transaction or a given one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._trouble is not None:
            raise self._trouble
        open_, self._open = self._open, []
        if open_:
            event, known = self._event, [(entry.row, entry.is_entered) for entry in open_]

            def write(tx: Transaction) -> None:
                # A change that was lost is written once more, from the beginning.
                self._event = event
                for entry, (row, is_entered) in zip(open_, known, strict=True):
                    entry.row, entry.is_entered = row, is_entered
                self._write(tx, open_)

            (change or self._recorder.change)(write)

    def _flush_in_time(self) -> None:
        """A hook is slow: record that it has started, and how those before it ended."""
        try:
            self.flush()
        except Exception as problem:  # noqa: BLE001  # raised where it is awaited
            self._trouble = problem

    def _write(self, tx: Transaction, entries: list[_LateEntry]) -> None:
        firing = self.firing
        firing.guard(tx)
        if self._event is None:
            data = {"point": firing.point, "name": firing.name}
            self._event = tx.append(FIRED, firing.node, data)
            found = self._changes.found
            seen = firing.payload if found is None else {**firing.payload, "changed": found}
            tx.calls.freeze(self._event.seq, seen)
        position = len(tx.calls.deliveries(self._event.seq))
        for entry in entries:
            if entry.row is None:
                about = (self._event, entry.hook, firing.point, position)
                entry.row = new_row(*about, attempts=1, started_at=entry.began)
                position += 1
            self._write_one(tx, self._event, entry)

    def _write_one(self, tx: Transaction, event: Event, entry: _LateEntry) -> None:
        row, outcome = entry.row, entry.outcome
        assert row is not None  # just made, or of an attempt that was cut
        if row.id and not entry.is_entered:
            tx.calls.start(row.id, entry.began)
            row = msgspec.structs.replace(row, attempts=row.attempts + 1, started_at=entry.began)
        entry.is_entered = True
        if outcome is None:
            entry.row = (
                row if row.id else msgspec.structs.replace(row, id=tx.calls.add_numbered(row))
            )
            return
        write(tx, event, row, outcome)
        if outcome.status != CUT:
            self.firing.on_record(tx, event, entry.hook, outcome)


class _LateEntry:
    """The entry of a call that is recorded when it ends, or before if it is slow."""

    def __init__(self, written: _Written, hook: Hook, began: str, row: Delivery | None) -> None:
        self._written = written
        self.hook, self.began, self.row = hook, began, row
        self.is_entered = self.is_begun = False
        self.outcome: Outcome | None = None

    def begin(self) -> None:
        """A process that repeats the firing finds this one's child by its key."""
        self.is_begun = True
        if self._written.firing.after is not None:  # it is made again if this process dies
            self._written.keep(self)

    def end(self, outcome: Outcome) -> None:
        """Kept, and recorded soon."""
        self.outcome = outcome
        self._written.keep(self)


class Tracked:
    """A firing whose every call is in the record before it begins, with its process.

    For points that no journal repeats: a successor has to find what a dead process left behind.
    `change` carries out one transaction, `on_begin` and `on_end` are called in those of a call.
    """

    def __init__(
        self,
        recorder: Recorder,
        event: Event,
        change: Callable[[Callable[[Transaction], Any]], Any],
        *,
        values: Mapping[str, str],
        on_begin: Callable[[Transaction, Delivery, str], None],
        on_end: Callable[[Transaction, Delivery], None],
    ) -> None:
        self.event, self.change = event, change
        self.on_begin, self.on_end = on_begin, on_end
        self._recorder, self._values, self._position = recorder, values, 0
        self._changes: ChangedFiles | None = None

    async def call(self, hook: Hook, rule: PointRule, payload: dict[str, Any]) -> Outcome:
        """Call a hook, in the record from its beginning."""
        entry = self._entry(hook)
        point, depth = self.event.data["point"], self.event.metadata.get("depth", 0) + 1
        self._changes = self._changes or self._recorder.caller.changes(payload)
        values, changes = self._values, self._changes
        frame = Frame(point, rule, payload, entry.key, None, depth, values, changes=changes)
        return await self._recorder.call(hook, frame, entry)

    def record(self, hook: Hook, outcome: Outcome) -> None:
        """Record what a hook that is a pure function has said."""
        self._entry(hook).end(outcome)

    def _entry(self, hook: Hook) -> _Now:
        row = new_row(self.event, hook, self.event.data["point"], self._position, attempts=1)
        self._position += 1
        return _Now(self, row)


class _Now:
    """The entry of a call that is recorded before it begins and when it is over."""

    def __init__(self, firing: Tracked, row: Delivery) -> None:
        self._firing = firing
        self._row = row
        self.key = f"{firing.event.id}:{row.position}"

    def begin(self) -> Callable[[ProcessGroup], None]:
        """A row that is pending, so that a successor knows what was under way."""

        def open_row(tx: Transaction) -> None:
            row = msgspec.structs.replace(self._row, started_at=tx.now)
            self._row = msgspec.structs.replace(row, id=tx.calls.add_numbered(row))
            self._firing.on_begin(tx, self._row, self.key)

        self._firing.change(open_row)
        return lambda group: self._firing.change(lambda tx: set_child(tx, self._row, group))

    def end(self, outcome: Outcome) -> None:
        """The row with how it went."""

        def close(tx: Transaction) -> None:
            row = self._row
            row = row if row.id else msgspec.structs.replace(row, started_at=tx.now)
            write(tx, self._firing.event, row, outcome)
            self._firing.on_end(tx, row)

        self._firing.change(close)


def _shown(hook: Hook, outcome: Outcome, point: str) -> dict[str, Any]:
    """What a view shows about a call."""
    return {
        "status": outcome.status,
        "durationMs": outcome.duration_us / 1000,
        "exitCode": outcome.exit_code,
        "error": outcome.error,
        "stderr": last_line(outcome.stderr) if outcome.exit_code else "",
        "answer": msgspec.to_builtins(outcome.answer) if outcome.answer is not None else None,
        "condition": hook.when,
        "values": outcome.values,
        "piped": hook.pipe_output and delivery_of(point) != NOWHERE,
    }
