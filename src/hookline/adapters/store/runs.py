"""The tables of runs and effects: reading them, leasing runs, applying the journal's events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.store.queries import load
from hookline.domain.runs import (
    CANCELLED,
    COMPLETED,
    FAILED,
    PARKED,
    PAUSED,
    RUNNING,
    JournalEffect,
    Run,
    UnknownEffect,
    UnknownRun,
    run_id,
    run_number,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator

SQL = load("runs.sql")
_decode = msgspec.json.decode


class RunTables:
    """Runs, effects and signals in one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._run = connection.execute

    # Reading

    def find(self, identifier: str) -> Run:
        """The run, or UnknownRun."""
        row = self._run(SQL["run"], (run_number(identifier),)).fetchone()
        if row is None:
            raise UnknownRun(f"there is no run {identifier}")
        return _build_run(row)

    def runs(self, *, status: str | None = None, limit: int = 100) -> list[Run]:
        """Runs, newest first."""
        sql = SQL["run"].replace("WHERE number = ?", "")
        if status is None:
            rows = self._run(sql + " ORDER BY number DESC LIMIT ?", (limit,))
        else:
            rows = self._run(
                sql + " WHERE status = ? ORDER BY number DESC LIMIT ?", (status, limit)
            )
        return [_build_run(row) for row in rows]

    def of_flow(self, flow: str, limit: int = 1000) -> list[Run]:
        """The newest runs of a flow, oldest first."""
        sql = SQL["run"].replace("WHERE number = ?", "WHERE flow = ?")
        rows = self._run(sql + " ORDER BY number DESC LIMIT ?", (flow, limit)).fetchall()
        return [_build_run(row) for row in reversed(rows)]

    def effects(self, run: Run) -> list[JournalEffect]:
        """Every effect of the current chapter, in the order in which they were asked for."""
        rows = self._run(SQL["effects_of"], _chapter(run))
        return [_build_effect(row) for row in rows]

    def pending(self, run: Run) -> list[JournalEffect]:
        """The effects that have no result yet."""
        return [_build_effect(row) for row in self._run(SQL["pending_of"], _chapter(run))]

    def effect(self, run: Run, effect_id: str) -> JournalEffect:
        """One effect of the current chapter, or UnknownEffect."""
        key = (_number(run), run.chapter, effect_id)
        row = self._run(SQL["effect"], key).fetchone()
        if row is None:
            raise UnknownEffect(
                f"{run.run_id} has no effect '{effect_id}'",
                help=f"`hookline effect list {run.run_id}` shows them",
            )
        return _build_effect(row)

    def resolved_since(self, run: Run, seq: int) -> list[tuple[str, str, Any, str | None, int]]:
        """(effect, status, value, error, place in the log) of results after a place, in order."""
        rows = self._run(SQL["resolved_since"], (_number(run), run.chapter, seq))
        return [(e, s, _optional(v), error, at) for e, s, v, error, at in rows]

    def signals(self, run: Run) -> list[tuple[int, str, Any]]:
        """(place in the log, name, value) of signals that nothing has taken yet."""
        rows = self._run(SQL["open_signals"], (_number(run),))
        return [(seq, name, _decode(value)) for seq, name, value in rows]

    def value(self, identifier: str, name: str) -> Any:
        """What hooks of a run remember under a name; None if nothing."""
        row = self._run(SQL["get_value"], (run_number(identifier), name)).fetchone()
        return _decode(row[0]) if row else None

    def waiting_for_task(self, task: int) -> list[tuple[str, int, str]]:
        """(run, chapter, effect) of effects that wait for a task."""
        rows = self._run(SQL["waiting_for_task"], (task,))
        return [(run_id(number), chapter, effect) for number, chapter, effect in rows]

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Every row of `runs`, `effects` or `run_signals`, JSON decoded, to be checked."""
        cursor = self._run(SQL[f"all_{table}"])
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield {
                name: _optional(value) if name in _JSON else value
                for name, value in zip(names, row, strict=True)
            }

    # Leases

    def due(self, now: float, is_free: Callable[[str, float], bool]) -> list[str]:
        """Runs that have something to do and that nobody alive works on."""
        rows = self._run(SQL["due"], (now,)).fetchall()
        return [run_id(n) for n, owner, until in rows if owner is None or is_free(owner, until)]

    def parked_later(
        self, now: float, after: str, is_free: Callable[[str, float], bool]
    ) -> list[str]:
        """Runs that wake after now, were parked after a moment, and that nobody alive works on."""
        rows = self._run(SQL["parked_later"], (now, after)).fetchall()
        return [run_id(n) for n, owner, until in rows if owner is None or is_free(owner, until)]

    def next_wake(self, now: float) -> float | None:
        """When the next parked run has something to do."""
        found: float | None = self._run(SQL["next_wake"], (now,)).fetchone()[0]
        return found

    def holder(self, identifier: str) -> tuple[str | None, int, float]:
        """(owner, token, lease) of a run."""
        row = self._run(SQL["holder"], (run_number(identifier),)).fetchone()
        if row is None:
            raise UnknownRun(f"there is no run {identifier}")
        return row[0], int(row[1]), float(row[2])

    def take(self, identifier: str, owner: str, token: int, until: float) -> None:
        """Lease a run; attempts that its last holder did not see end do not count."""
        self._run(SQL["take_run"], (owner, token, until, run_number(identifier)))
        self._run(SQL["forget_attempts"], (run_number(identifier),))

    def renew(self, owner: str, until: float) -> None:
        """Hold all runs of a process for longer."""
        self._run(SQL["renew_runs"], (until, owner))

    def let_go(self, identifier: str, token: int, wake_at: float | None) -> None:
        """End a lease; the run wakes at a moment, or when something happens to it."""
        self._run(SQL["let_go"], (wake_at, run_number(identifier), token))

    # Perishable details

    def count_iteration(self, identifier: str) -> int:
        """Count a tick."""
        row = self._run(SQL["count_iteration"], (run_number(identifier),)).fetchone()
        return int(row[0])

    def begin_attempt(self, run: Run, effect_id: str) -> None:
        """An attempt at an effect begins."""
        self._run(SQL["begin_attempt"], (_number(run), run.chapter, effect_id))

    def set_child(self, run: Run, effect_id: str, child: str | None) -> None:
        """The process group that works on an effect."""
        self._run(SQL["set_effect_child"], (child, _number(run), run.chapter, effect_id))

    def set_conversation(self, run: Run, effect_id: str, conversation: str) -> None:
        """The agent's conversation, known before the turn ends."""
        self._run(SQL["set_conversation"], (conversation, _number(run), run.chapter, effect_id))

    def postpone(self, run: Run, effect_id: str, until: float) -> None:
        """Try an effect again later."""
        self._run(SQL["postpone"], (until, _number(run), run.chapter, effect_id))

    def choose(self, run: Run, effect_id: str) -> bool:
        """Ask whoever advances the run to carry an effect out; False if it has its result."""
        cursor = self._run(SQL["choose"], (_number(run), run.chapter, effect_id))
        if cursor.rowcount:
            self._run(SQL["stir"], (_number(run),))
        return cursor.rowcount == 1

    def bind_task(self, run: Run, effect_id: str, task: int) -> None:
        """The task that an effect waits for."""
        self._run(SQL["bind_task"], (task, _number(run), run.chapter, effect_id))

    def consume_signal(self, seq: int) -> None:
        """A signal was taken."""
        self._run(SQL["consume_signal"], (seq,))

    def set_value(self, identifier: str, name: str, value: Any) -> None:
        """What hooks of a run remember under a name."""
        self._run(SQL["set_value"], (run_number(identifier), name, _text(value)))

    # The journal's events

    def apply(self, kind: str, node_id: str, data: dict[str, Any], at: str, seq: int) -> None:
        """Bring the tables up to date with an event of the journal."""
        number = run_number(node_id)
        if kind == "run_started":
            self._start(number, data, at, seq)
        elif kind == "effect_requested":
            self._request(number, data, at, seq)
        elif kind == "effect_resolved":
            self._resolve(number, data, at, seq)
        elif kind == "run_chapter":
            pins = _text({**data.get("pins", {}), "seq": seq})
            chapter = (data["chapter"], _text(data["state"]), data["codeDigest"], pins, at, number)
            self._run(SQL["next_chapter"], chapter)
        elif kind == "run_signalled":
            self._run(SQL["add_signal"], (seq, number, data["name"], _text(data.get("value"))))
            self._run(SQL["wake"], (at, number))
        else:
            self._standing(kind, number, data, at)

    def _standing(self, kind: str, number: int, data: dict[str, Any], at: str) -> None:
        if kind in _ENDS:
            value = _text(data["value"]) if "value" in data else None
            error = data.get("error") or data.get("reason")
            self._run(SQL["finish_run"], (_ENDS[kind], value, error, at, number))
        else:
            status = _STANDINGS[kind]
            self._run(SQL["set_status"], (status, data.get("reason"), at, number))
            if status == RUNNING:
                self._run(SQL["wake"], (at, number))

    def _start(self, number: int, data: dict[str, Any], at: str, seq: int) -> None:
        self._run(
            SQL["insert_run"],
            (
                number,
                data["flow"],
                _text(data["input"]),
                _text(data["metadata"]),
                data.get("codeDigest", ""),
                _text({**data.get("pins", {}), "seq": seq}),
                at,
                at,
            ),
        )

    def _request(self, number: int, data: dict[str, Any], at: str, seq: int) -> None:
        self._run(
            SQL["insert_effect"],
            (
                *(number, data["chapter"], data["effectId"], data["step"], data["kind"]),
                *(_text(data["args"]), data["digest"], _text(data["metadata"])),
                *(_text(data["policy"]), seq, at),
            ),
        )

    def _resolve(self, number: int, data: dict[str, Any], at: str, seq: int) -> None:
        value = _text(data["value"]) if "value" in data else None
        key = (number, data["chapter"], data["effectId"])
        self._run(SQL["resolve_effect"], (data["status"], value, data.get("error"), seq, at, *key))
        self._run(SQL["wake"], (at, number))


_JSON = frozenset({"input", "metadata", "state", "value", "pins", "args", "policy"})
_ENDS = {"run_completed": COMPLETED, "run_failed": FAILED, "run_cancelled": CANCELLED}
_STANDINGS = {"run_parked": PARKED, "run_paused": PAUSED, "run_resumed": RUNNING}


def _number(run: Run) -> int:
    return run_number(run.run_id)


def _chapter(run: Run) -> tuple[int, int]:
    return _number(run), run.chapter


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _optional(text: str | None) -> Any:
    return None if text is None else _decode(text)


def _build_run(row: tuple[Any, ...]) -> Run:
    (number, flow, status, given, metadata, chapter, state, reason, value, error, digest) = row[:11]
    pins, created_at, updated_at, iteration, wake_at = row[11:]
    return Run(
        run_id=run_id(number),
        flow=flow,
        status=status,
        input=_decode(given),
        metadata=_decode(metadata),
        chapter=chapter,
        state=_optional(state),
        iteration=iteration,
        reason=reason,
        value=_optional(value),
        error=error,
        code_digest=digest,
        pins=_decode(pins),
        wake_at=wake_at,
        created_at=created_at,
        updated_at=updated_at,
    )


def _build_effect(row: tuple[Any, ...]) -> JournalEffect:
    values = list(row)
    for index in (4, 6, 7, 12):
        values[index] = _optional(values[index])
    return JournalEffect(*values)
