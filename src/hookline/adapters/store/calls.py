"""The rows of hook calls: dispatches, deliveries, actions and switches."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.store.queries import SQL
from hookline.domain.records import (
    DEAD,
    FAILED,
    PENDING,
    SKIPPED,
    Action,
    Delivery,
    Outcome,
    StoredAction,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Sequence

_decode = msgspec.json.decode
_encode = msgspec.json.encode
_PAGE = 64
_LOCAL_LEASE = 3600.0


class CallTables:
    """Reading and writing the record of hook calls in one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._run = connection.execute
        # What a transaction records and opens; told once it is committed.
        self.recorded: list[Delivery] = []
        self.opened: dict[int, str] = {}

    # What must run

    def freeze(self, event_seq: int, payload: dict[str, Any]) -> None:
        """Keep what the hooks of an event will see."""
        self._run(SQL["freeze_payload"], (event_seq, _encode(payload).decode()))

    def refreeze(self, event_seq: int, payload: dict[str, Any]) -> None:
        """Add to what the hooks of an event see, before the first of them is called."""
        self._run(SQL["refreeze_payload"], (_encode(payload).decode(), event_seq))

    def open_dispatch(self, event_seq: int, node_id: str, owner: str | None) -> None:
        """Some hooks of this event have to run after the commit, perhaps in one process only."""
        lease = time.time() + _LOCAL_LEASE if owner else 0
        self._run(SQL["open_dispatch"], (event_seq, node_id, owner, lease))
        self.opened[event_seq] = node_id

    def add(self, delivery: Delivery, actions: Sequence[Action] = ()) -> int:
        """A call that has to be made, or one that is over already; the number of its row."""
        d = delivery
        cursor = self._run(
            SQL["add_delivery"],
            (
                *(d.event_seq, d.hook, d.point, d.kind, d.origin, d.status, d.position),
                *(d.attempts, d.started_at, d.duration_us, d.exit_code, _optional(d.answer)),
                *(d.error, d.stdout, d.stderr, d.blob, d.condition, _optional(d.condition_values)),
            ),
        )
        self._add_actions(d.event_seq, d.hook, actions)
        if d.status != PENDING:
            self.recorded.append(d)
        return int(cursor.lastrowid or 0)

    # Who runs it

    def claim_next(
        self,
        owner: str,
        token: int,
        lease_until: float,
        is_free: Callable[[str, float], bool],
        *,
        node_id: str | None = None,
        passed: Collection[int] = (),
    ) -> int | None:
        """Lease the oldest dispatch that nobody alive works on; its event's place in the log.

        With `node_id` only the oldest of that node is looked at; those in `passed` are left alone.
        """
        name, place = ("open_dispatches", 0) if node_id is None else ("first_dispatch", node_id)
        while True:
            rows = self._run(SQL[name], (place, _PAGE)).fetchall()
            for event_seq, holder, seen, until in rows:
                if event_seq not in passed and (holder is None or is_free(holder, until)):
                    self._run(SQL["take_dispatch"], (owner, token, lease_until, event_seq, seen))
                    return int(event_seq)
            if len(rows) < _PAGE:
                return None
            place = rows[-1][0]

    def holder(self, node_id: str) -> tuple[str | None, float]:
        """Who works on the oldest dispatch of a node, and until when."""
        row = self._run(SQL["first_dispatch"], (node_id, 1)).fetchone()
        return (row[1], row[3]) if row else (None, 0.0)

    def holds(self, event_seq: int, token: int) -> bool:
        """Whether a lease on a dispatch is still the current one."""
        return self._run(SQL["holds_dispatch"], (event_seq, token)).fetchone() is not None

    def extend(self, event_seq: int, lease_until: float) -> None:
        """Hold a dispatch for longer."""
        self._run(SQL["extend_dispatch"], (lease_until, event_seq))

    def close_dispatch(self, event_seq: int, token: int) -> None:
        """All hooks of the event ran and all their actions were carried out."""
        self._run(SQL["close_dispatch"], (event_seq, token))

    def stumble(self, event_seq: int, token: int) -> int:
        """The attempt to see to an event broke off; how many did, or 0 if it is not ours."""
        row = self._run(SQL["stumble_dispatch"], (event_seq, token)).fetchone()
        return int(row[0]) if row else 0

    def dispatches_after(self, event_seq: int) -> list[tuple[int, str, int | None]]:
        """(event, node, the event that caused it) of what waits after a place in the log."""
        return self._run(SQL["dispatches_after"], (event_seq,)).fetchall()

    def any_open(self) -> bool:
        """Whether an event still waits for its hooks."""
        return self._run("SELECT 1 FROM dispatches LIMIT 1").fetchone() is not None

    def waiting(self, node_id: str | None = None) -> int:
        """How many calls still have to be made, for all nodes or for one."""
        if node_id is None:
            return int(self._run(SQL["waiting_calls"]).fetchone()[0])
        return int(self._run(SQL["waiting_calls_of"], (node_id,)).fetchone()[0])

    def held_nodes(self) -> list[str]:
        """The nodes with an event that somebody works on, or did."""
        return [node for (node,) in self._run(SQL["held_nodes"])]

    # How it went

    def start(self, delivery_id: int, now: str) -> None:
        """An attempt begins."""
        self._run(SQL["start_delivery"], (now, delivery_id))

    def take_back(self, delivery_id: int) -> None:
        """The attempt that has begun does not count."""
        self._run(SQL["take_back_delivery"], (delivery_id,))

    def set_child(self, delivery_id: int, child: str) -> None:
        """The process group that works on a call, so that a successor can end it."""
        self._run(SQL["set_child"], (child, delivery_id))

    def finish(self, delivery: Delivery, outcome: Outcome, actions: Sequence[Action] = ()) -> None:
        """What the hook said and how it went, with the actions it asks for."""
        d = outcome.ends(delivery)
        self._run(
            SQL["finish_delivery"],
            (
                *(d.status, d.duration_us, d.exit_code, _optional(d.answer), d.error),
                *(d.stdout, d.stderr, d.blob, _optional(d.condition_values), d.id),
            ),
        )
        self._add_actions(d.event_seq, d.hook, actions)
        self.recorded.append(d)

    def open_actions(self, event_seq: int) -> list[StoredAction]:
        """Actions that still have to be carried out, in the order of their hooks."""
        rows = self._run(SQL["open_actions"], (event_seq,)).fetchall()
        return [
            StoredAction(h, p, Action(t, _decode(given), why or msgspec.UNSET))
            for h, p, t, given, why in rows
        ]

    def finish_action(
        self, event_seq: int, hook: str, position: int, *, error: str | None = None
    ) -> bool:
        """Mark an action as carried out, or as failed; False if it was no longer open."""
        status = "done" if error is None else "failed"
        values = (status, error, event_seq, hook, position)
        found = self._run(SQL["finish_action"], values).fetchone()
        if found and error is not None:
            self.recorded.append(_failed_action(event_seq, hook, found[0], error))
        return found is not None

    def complain(self, event_seq: int, hook: str, point: str, error: str) -> None:
        """Have something told of a hook that is no call of it and has no row of its own."""
        self.recorded.append(_complaint(event_seq, hook, point, error))

    def give_up(self, event_seq: int, error: str) -> list[str]:
        """Make no call of an event that still waits, without reading it; the hooks of those."""
        rows = self._run(SQL["give_up_deliveries"], (DEAD, error, event_seq)).fetchall()
        given_up = Outcome("", DEAD, None, error)
        self.recorded += [given_up.ends(Delivery(*row)) for row in rows]
        self._run(SQL["give_up_actions"], (error, event_seq))
        self._run(SQL["give_up_dispatch"], (event_seq,))
        return [row[2] for row in rows]

    def abandon(self, reason: str) -> int:
        """Make no call and carry out no action that still waits; how many calls those were."""
        cursor = self._run(SQL["abandon_deliveries"], (SKIPPED, reason, PENDING))
        self._run(SQL["abandon_actions"], (reason,))
        self._run(SQL["abandon_dispatches"])
        return int(cursor.rowcount)

    # Reading the record

    def payload(self, event_seq: int) -> dict[str, Any] | None:
        """What the hooks of an event saw."""
        row = self._run(SQL["payload"], (event_seq,)).fetchone()
        return _decode(row[0]) if row else None

    def deliveries(self, event_seq: int) -> list[Delivery]:
        """The calls of one event, in order."""
        return [_delivery(row) for row in self._run(SQL["deliveries_of"], (event_seq,))]

    def calls_of(self, hook: str, limit: int = 20) -> list[Delivery]:
        """The newest calls of one hook, newest first."""
        sql = "SELECT * FROM deliveries WHERE hook = ? ORDER BY event_seq DESC LIMIT ?"
        return [_delivery(row) for row in self._run(sql, (hook, limit))]

    def last_failures(self, hook: str) -> list[Delivery]:
        """The newest call and action of a hook that failed, unless a later one went well."""
        calls = self._run(SQL["last_failure"], (hook,)).fetchall()
        actions = self._run(SQL["last_failed_action"], (hook,)).fetchall()
        return [*map(_delivery, calls), *(_failed_action(*row) for row in actions)]

    def dead(self) -> list[Delivery]:
        """Calls that were given up after too many attempts."""
        sql = "SELECT * FROM deliveries WHERE status = ? ORDER BY id"
        return [_delivery(row) for row in self._run(sql, (DEAD,))]

    def actions(self, event_seq: int, hook: str) -> list[StoredAction]:
        """Every action that a hook asked for at an event, with what became of it."""
        rows = self._run(SQL["actions_of"], (event_seq, hook))
        return [
            StoredAction(hook, position, Action(kind, _decode(payload)), status, error)
            for position, kind, payload, status, error in rows
        ]

    def statistics(self) -> list[tuple[str, str, int, list[int]]]:
        """(hook, status, count, durations of the newest thousand) for each hook and status."""
        rows = self._run("SELECT hook, status, count(*) FROM deliveries GROUP BY hook, status")
        newest = (
            "SELECT duration_us FROM deliveries WHERE hook = ? AND status = ?"
            " AND duration_us IS NOT NULL ORDER BY event_seq DESC LIMIT 1000"
        )
        return [
            (hook, status, count, [us for (us,) in self._run(newest, (hook, status))])
            for hook, status, count in rows.fetchall()
        ]

    def slow_events(self, limit_us: int, but: Sequence[str]) -> int:
        """At how many events the hooks together took longer than the limit; `but` these points."""
        sql = (
            "SELECT count(*) FROM (SELECT event_seq FROM deliveries"
            " WHERE point NOT IN (SELECT value FROM json_each(?))"
            " GROUP BY event_seq HAVING sum(duration_us) > ?)"
        )
        return int(self._run(sql, (_optional(but), limit_us)).fetchone()[0])

    # Switches

    def switches(self) -> dict[str, bool]:
        """Hooks switched on or off by hand."""
        return {hook: bool(enabled) for hook, enabled in self._run(SQL["switches"])}

    def set_switch(self, hook: str, enabled: bool) -> None:
        """Switch a hook on or off by hand."""
        self._run(SQL["set_switch"], (hook, int(enabled)))

    def clear_switches(self) -> tuple[str, ...]:
        """Let every hook be on or off as the configuration says; those that were switched."""
        cleared = tuple(sorted(self.switches()))
        self._run(SQL["clear_switches"])
        return cleared

    def _add_actions(self, event_seq: int, hook: str, actions: Sequence[Action]) -> None:
        for position, action in enumerate(actions):
            payload, why = _encode(action.payload).decode(), action.unwritable or None
            kept = (event_seq, hook, position, action.type, payload, PENDING, why)
            self._run(SQL["add_action"], kept)


def _optional(value: Any) -> str | None:
    return None if value is None else _encode(value).decode()


def _delivery(row: tuple[Any, ...]) -> Delivery:
    values = list(row)
    values[12] = None if row[12] is None else _decode(row[12])
    values[18] = None if row[18] is None else _decode(row[18])
    return Delivery(*values)


def _complaint(event_seq: int, hook: str, point: str, error: str) -> Delivery:
    return Delivery(0, event_seq, hook, point, "", "", FAILED, 0, error=error)


def _failed_action(event_seq: int, hook: str, action: str, error: str) -> Delivery:
    return _complaint(event_seq, hook, "action_error", f"action {action or '?'} failed: {error}")
