"""The rows of hook calls: dispatches, deliveries, actions and switches."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.store.statements import SQL, Table
from hookline.domain.hooks.records import (
    DEAD,
    FAILED,
    PENDING,
    QUEUED,
    SKIPPED,
    Action,
    Delivery,
    Outcome,
    StoredAction,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from hookline.adapters.store.statements import StatementRows, StatementRunner

    Run = Callable[..., StatementRows]

_decode = msgspec.json.decode
_encode = msgspec.json.encode
_PAGE = 64
_LOCAL_LEASE = 3600.0


class CallTables(Table):
    """Reading and writing the record of hook calls in one connection."""

    def __init__(self, connection: StatementRunner) -> None:
        super().__init__(connection)
        # What a transaction records; announced once it is committed.
        self.recorded: list[Delivery] = []

    # What must run

    def freeze(self, event_seq: int, payload: dict[str, Any]) -> None:
        self._run(SQL["freeze_payload"], (event_seq, _encode(payload).decode()))

    def refreeze(self, event_seq: int, payload: dict[str, Any]) -> None:
        self._run(SQL["refreeze_payload"], (_encode(payload).decode(), event_seq))

    def add(self, delivery: Delivery, actions: Sequence[Action] = ()) -> None:
        _insert(self._run, self.recorded, delivery)
        _add_actions(self._run, delivery, actions)

    def add_numbered(self, delivery: Delivery) -> int:
        return int(_insert(self._run, self.recorded, delivery).lastrowid or 0)

    def waiting(self, node_id: str | None = None) -> int:
        query, of = ("waiting_calls", ()) if node_id is None else ("waiting_calls_of", (node_id,))
        return int(self._run(SQL[query], of).fetchone()[0])

    # How it went

    def start(self, delivery_id: int, now: str) -> None:
        self._run(SQL["start_delivery"], (now, delivery_id))

    def take_back(self, delivery_id: int) -> None:
        self._run(SQL["take_back_delivery"], (delivery_id,))

    def set_child(self, delivery_id: int, child: str) -> None:
        self._run(SQL["set_child"], (child, delivery_id))

    def finish(self, delivery: Delivery, outcome: Outcome, actions: Sequence[Action] = ()) -> None:
        d = outcome.ends(delivery)
        how = (d.status, d.duration_us, d.exit_code, _optional(d.answer), d.error)
        kept = (d.stdout, d.stderr, d.blob, _optional(d.condition_values))
        self._run(SQL["finish_delivery"], (*how, *kept, d.id))
        _add_actions(self._run, d, actions)
        self.recorded.append(d)

    def open_actions(self, event_seq: int) -> list[StoredAction]:
        return [
            StoredAction(h, p, Action(t, _decode(given), why or msgspec.UNSET))
            for h, p, t, given, why in self._run(SQL["open_actions"], (event_seq,)).fetchall()
        ]

    def finish_action(
        self, event_seq: int, hook: str, position: int, *, error: str | None = None
    ) -> bool:
        status = "done" if error is None else "failed"
        values = (status, error, event_seq, hook, position)
        found = self._run(SQL["finish_action"], values).fetchone()
        if found and error is not None:
            self.recorded.append(_failed_action(event_seq, hook, found[0], error))
        return found is not None

    def complain(self, event_seq: int, hook: str, point: str, error: str) -> None:
        self.recorded.append(_complaint(event_seq, hook, point, error))

    def give_up(self, event_seq: int, error: str) -> list[str]:
        rows = self._run(SQL["give_up_deliveries"], (DEAD, error, event_seq)).fetchall()
        given_up = Outcome("", DEAD, None, error)
        self.recorded += [given_up.ends(Delivery(*row)) for row in rows]
        self._run(SQL["give_up_actions"], (error, event_seq))
        self._run(SQL["give_up_dispatch"], (event_seq,))
        return [row[2] for row in rows]

    def abandon(self, reason: str) -> int:
        cursor = self._run(SQL["abandon_deliveries"], (SKIPPED, reason, PENDING, QUEUED))
        self._run(SQL["abandon_actions"], (reason,))
        self._run(SQL["abandon_dispatches"])
        return int(cursor.rowcount)

    # Reading the record

    def payload(self, event_seq: int) -> dict[str, Any] | None:
        row = self._run(SQL["payload"], (event_seq,)).fetchone()
        return _decode(row[0]) if row else None

    def find(self, delivery_id: int) -> Delivery | None:
        row = self._run("SELECT * FROM deliveries WHERE id = ?", (delivery_id,)).fetchone()
        return delivery_of_row(row) if row else None

    def deliveries(self, event_seq: int) -> list[Delivery]:
        return [delivery_of_row(row) for row in self._run(SQL["deliveries_of"], (event_seq,))]

    def calls_of(self, hook: str, limit: int = 20) -> list[Delivery]:
        sql = "SELECT * FROM deliveries WHERE hook = ? ORDER BY event_seq DESC LIMIT ?"
        return [delivery_of_row(row) for row in self._run(sql, (hook, limit))]

    def last_failures(self, hook: str) -> list[Delivery]:
        calls = self._run(SQL["last_failure"], (hook,)).fetchall()
        actions = self._run(SQL["last_failed_action"], (hook,)).fetchall()
        return [*map(delivery_of_row, calls), *(_failed_action(*row) for row in actions)]

    def dead(self) -> list[Delivery]:
        sql = "SELECT * FROM deliveries WHERE status = ? ORDER BY id"
        return [delivery_of_row(row) for row in self._run(sql, (DEAD,))]

    def lost(self) -> tuple[int, int]:
        found: tuple[int, int] = self._run(SQL["lost_calls"]).fetchone()
        return found

    def actions(self, event_seq: int, hook: str) -> list[StoredAction]:
        rows = self._run(SQL["actions_of"], (event_seq, hook))
        return [
            StoredAction(hook, position, Action(kind, _decode(payload)), status, error)
            for position, kind, payload, status, error in rows
        ]

    def statistics(self) -> list[tuple[str, str, int, list[int]]]:
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
        sql = (
            "SELECT count(*) FROM (SELECT event_seq FROM deliveries"
            " WHERE point NOT IN (SELECT value FROM json_each(?))"
            " GROUP BY event_seq HAVING sum(duration_us) > ?) AS slow"
        )
        return int(self._run(sql, (_optional(but), limit_us)).fetchone()[0])


class DispatchTable(Table):
    """Events whose hooks still have to be called, and who calls them."""

    def __init__(self, connection: StatementRunner) -> None:
        super().__init__(connection)
        # What a transaction opens.
        self.opened: dict[int, str] = {}

    def open(self, event_seq: int, node_id: str, owner: str | None) -> None:
        lease = time.time() + _LOCAL_LEASE if owner else 0
        self._run(SQL["open_dispatch"], (event_seq, node_id, owner, lease))
        self.opened[event_seq] = node_id

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
        row = self._run(SQL["first_dispatch"], (node_id, 1)).fetchone()
        return (row[1], row[3]) if row else (None, 0.0)

    def holds(self, event_seq: int, token: int) -> bool:
        return self._run(SQL["holds_dispatch"], (event_seq, token)).fetchone() is not None

    def extend(self, event_seq: int, lease_until: float) -> None:
        self._run(SQL["extend_dispatch"], (lease_until, event_seq))

    def close(self, event_seq: int, token: int) -> None:
        self._run(SQL["close_dispatch"], (event_seq, token))

    def stumble(self, event_seq: int, token: int) -> int:
        row = self._run(SQL["stumble_dispatch"], (event_seq, token)).fetchone()
        return int(row[0]) if row else 0

    def after(self, event_seq: int) -> list[tuple[int, str, int | None]]:
        return self._run(SQL["dispatches_after"], (event_seq,)).fetchall()

    def any_open(self, node_id: str | None = None) -> bool:
        if node_id is not None:
            return self._run(SQL["first_dispatch"], (node_id, 1)).fetchone() is not None
        return self._run("SELECT 1 FROM dispatches LIMIT 1").fetchone() is not None

    def held_nodes(self) -> list[str]:
        return [node for (node,) in self._run(SQL["held_nodes"])]

    def leases(self) -> list[tuple[int, str | None, float]]:
        sql = "SELECT event_seq, owner, lease_until FROM dispatches ORDER BY event_seq"
        return self._run(sql).fetchall()


class SwitchTable(Table):
    """Hooks switched on or off by hand."""

    def all(self) -> dict[str, bool]:
        return {hook: bool(enabled) for hook, enabled in self._run(SQL["switches"])}

    def set(self, hook: str, enabled: bool) -> None:
        self._run(SQL["set_switch"], (hook, int(enabled)))

    def clear(self) -> tuple[str, ...]:
        cleared = tuple(sorted(self.all()))
        self._run(SQL["clear_switches"])
        return cleared


def _optional(value: Any) -> str | None:
    return None if value is None else _encode(value).decode()


def delivery_of_row(row: tuple[Any, ...]) -> Delivery:
    """A call as its row says."""
    values = list(row)
    values[12] = None if row[12] is None else _recorded(row[12])
    values[18] = None if row[18] is None else _decode(row[18])
    return Delivery(*values)


def _recorded(answer: str) -> Any:
    """An answer; a damaged one is none, and the rest of its row can still be shown."""
    try:
        return _decode(answer)
    except msgspec.DecodeError:
        return None


def _complaint(event_seq: int, hook: str, point: str, error: str) -> Delivery:
    return Delivery(0, event_seq, hook, point, "", "", FAILED, 0, error=error)


def _failed_action(event_seq: int, hook: str, action: str, error: str) -> Delivery:
    return _complaint(event_seq, hook, "action_error", f"action {action or '?'} failed: {error}")


def _insert(run: Run, recorded: list[Delivery], d: Delivery) -> StatementRows:
    values = (
        *(d.event_seq, d.hook, d.point, d.kind, d.origin, d.status, d.position),
        *(d.attempts, d.started_at, d.duration_us, d.exit_code, _optional(d.answer)),
        *(d.error, d.stdout, d.stderr, d.blob, d.condition, _optional(d.condition_values)),
    )
    if d.status not in (PENDING, QUEUED):
        recorded.append(d)
    return run(SQL["add_delivery"], values)


def _add_actions(run: Run, delivery: Delivery, actions: Sequence[Action]) -> None:
    for position, action in enumerate(actions):
        payload, why = _encode(action.payload).decode(), action.unwritable or None
        about = (delivery.event_seq, delivery.hook, position)
        run(SQL["add_action"], (*about, action.type, payload, PENDING, why))
