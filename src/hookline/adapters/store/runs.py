"""The tables of runs, effects and sessions: reading them, leases, the journal's events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.store.statements import Table, load
from hookline.domain.runs.model import (
    ENDS,
    RUNNING,
    STATUS_AFTER,
    Caller,
    JournalEffect,
    Run,
    UnknownEffect,
    UnknownRun,
    run_id,
    run_number,
)
from hookline.domain.sessions.model import HeldOutput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hookline.adapters.store.statements import StatementRows, StatementRunner
    from hookline.domain.events import Event
    from hookline.domain.runs.projection import Columns

    Execute = Callable[..., StatementRows]

SQL = load("runs.sql") | load("sessions.sql")
_decode = msgspec.json.decode


class RunTables(Table):
    """Runs, effects and signals in one connection."""

    def __init__(self, connection: StatementRunner) -> None:
        super().__init__(connection)
        self.leases = LeaseTable(connection)
        self.attempts = AttemptTable(connection)
        self.journal = JournalTables(connection)

    def find(self, identifier: str) -> Run:
        return _build_run(_row(self._run, "run", identifier))

    def runs(self, *, status: str | None = None, limit: int = 100) -> list[Run]:
        where, values = ("", ()) if status is None else ("WHERE status = ?", (status,))
        return _newest(self._run, where, values, limit)

    def of_flow(self, flow: str, limit: int = 1000) -> list[Run]:
        return _newest(self._run, "WHERE flow = ?", (flow,), limit)[::-1]

    def effects(self, run: Run) -> list[JournalEffect]:
        return [_build_effect(row) for row in self._run(SQL["effects_of"], _chapter(run))]

    def pending(self, run: Run) -> list[JournalEffect]:
        return [_build_effect(row) for row in self._run(SQL["pending_of"], _chapter(run))]

    def effect(self, run: Run, effect_id: str) -> JournalEffect:
        row = self._run(SQL["effect"], (*_chapter(run), effect_id)).fetchone()
        if row is None:
            help = f"`hookline effect list {run.run_id}` shows them"
            raise UnknownEffect(f"{run.run_id} has no effect '{effect_id}'", help=help)
        return _build_effect(row)

    def resolved_since(self, run: Run, seq: int) -> list[tuple[str, str, Any, str | None, int]]:
        rows = self._run(SQL["resolved_since"], (*_chapter(run), seq))
        return [(e, s, _optional(v), error, at) for e, s, v, error, at in rows]

    def signals(self, run: Run) -> list[tuple[int, str, Any]]:
        rows = self._run(SQL["open_signals"], (_number(run),))
        return [(seq, name, _decode(value)) for seq, name, value in rows]

    def value(self, identifier: str, name: str) -> Any:
        row = self._run(SQL["get_value"], (run_number(identifier), name)).fetchone()
        return _decode(row[0]) if row else None

    def values_named(self, name: str) -> list[tuple[str, Any]]:
        rows = self._run(SQL["values_named"], (name,))
        return [(run_id(number), _decode(value)) for number, value in rows]

    def waiting_for_task(self, task: int) -> list[tuple[str, int, str]]:
        rows = self._run(SQL["waiting_for_task"], (task,))
        return [(run_id(number), chapter, effect) for number, chapter, effect in rows]

    def called_by(self, identifier: str) -> list[str]:
        rows = self._run(SQL["called_by"], (run_number(identifier),))
        return [run_id(number) for (number,) in rows]

    def caller_of(self, identifier: str) -> Caller | None:
        row = self._run(SQL["caller_of"], (run_number(identifier),)).fetchone()
        return Caller(run_id(row[0]), row[1], row[2]) if row is not None else None

    def rows(self, table: str) -> Iterator[Columns]:
        """Every row of `runs`, `effects` or `run_signals`, JSON decoded, to be checked."""
        cursor = self._run(SQL[f"all_{table}"])
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield _decoded(names, row)

    def count_iteration(self, identifier: str) -> int:
        return int(_row(self._run, "count_iteration", identifier)[0])

    def consume_signal(self, seq: int) -> None:
        self._run(SQL["consume_signal"], (seq,))

    def set_value(self, identifier: str, name: str, value: Any) -> None:
        self._run(SQL["set_value"], (run_number(identifier), name, _text(value)))


class LeaseTable(Table):
    """Who works on which run and when one has something to do; perishable, and not in the log."""

    def due(self, now: float, is_free: Callable[[str, float], bool]) -> list[str]:
        return _free(self._run(SQL["due"], (now,)).fetchall(), is_free)

    def parked_later(
        self, now: float, after: str, is_free: Callable[[str, float], bool]
    ) -> list[str]:
        return _free(self._run(SQL["parked_later"], (now, after)).fetchall(), is_free)

    def next_wake(self, now: float) -> float | None:
        found: float | None = self._run(SQL["next_wake"], (now,)).fetchone()[0]
        return found

    def holders(self) -> list[tuple[str, int, str]]:
        rows = self._run(SQL["holders"])
        return [(run_id(number), token, owner) for number, token, owner in rows]

    def holder(self, identifier: str) -> tuple[str | None, int, float]:
        owner, token, until = _row(self._run, "holder", identifier)
        return owner, int(token), float(until)

    def take(self, identifier: str, owner: str, token: int, until: float) -> None:
        """Lease a run; attempts that its last holder did not see end do not count."""
        self._run(SQL["take_run"], (owner, token, until, run_number(identifier)))
        self._run(SQL["forget_attempts"], (run_number(identifier),))

    def renew(self, owner: str, until: float, *, not_over: float = 0.0) -> None:
        self._run(SQL["renew_runs"], (until, owner, not_over))

    def let_go(self, identifier: str, token: int, wake_at: float | None) -> None:
        self._run(SQL["let_go"], (wake_at, run_number(identifier), token))


class AttemptTable(Table):
    """What is tried to get the results of effects; perishable, and not in the log."""

    def begin(self, run: Run, effect_id: str) -> None:
        self._run(SQL["begin_attempt"], (*_chapter(run), effect_id))

    def set_child(self, run: Run, effect_id: str, child: str | None) -> None:
        self._run(SQL["set_effect_child"], (child, *_chapter(run), effect_id))

    def set_conversation(self, run: Run, effect_id: str, conversation: str) -> None:
        self._run(SQL["set_conversation"], (conversation, *_chapter(run), effect_id))

    def postpone(self, run: Run, effect_id: str, until: float) -> None:
        self._run(SQL["postpone"], (until, *_chapter(run), effect_id))

    def choose(self, run: Run, effect_id: str) -> bool:
        cursor = self._run(SQL["choose"], (*_chapter(run), effect_id))
        if cursor.rowcount:
            self._run(SQL["stir"], (_number(run),))
        return cursor.rowcount == 1

    def bind_task(self, run: Run, effect_id: str, task: int) -> None:
        self._run(SQL["bind_task"], (task, *_chapter(run), effect_id))


class JournalTables(Table):
    """The events of the journal, brought into the tables."""

    def apply(self, event: Event, at: str) -> None:
        """Bring the tables up to date with an event of the journal."""
        number, data = run_number(event.node_id), event.data
        if event.type == "run_started":
            self._start(number, event, at)
        elif event.type == "effect_requested":
            self._request(number, event, at)
        elif event.type == "effect_resolved":
            self._resolve(number, event, at)
        elif event.type == "run_chapter":
            new = (data["chapter"], _text(data["state"]), data["codeDigest"], _pins(event))
            self._run(SQL["next_chapter"], (*new, at, number))
        elif event.type == "run_signalled":
            signal = (event.seq, number, data["name"], _text(data.get("value")))
            self._run(SQL["add_signal"], signal)
            self._run(SQL["wake"], (at, number))
        else:
            self._set_status(number, event, at)

    def _set_status(self, number: int, event: Event, at: str) -> None:
        data, reason = event.data, event.data.get("reason")
        if event.type in ENDS:
            value = _text(data["value"]) if "value" in data else None
            error = data.get("error") or reason
            self._run(SQL["finish_run"], (ENDS[event.type], value, error, at, number))
        else:
            status = STATUS_AFTER[event.type]
            self._run(SQL["set_status"], (status, reason, at, number))
            if status == RUNNING:
                self._run(SQL["wake"], (at, number))

    def _start(self, number: int, event: Event, at: str) -> None:
        data = event.data
        given = (data["flow"], _text(data["input"]), _text(data["metadata"]))
        code = (data.get("codeDigest", ""), _pins(event))
        self._run(SQL["insert_run"], (number, *given, *code, at, at))
        if by := data.get("calledBy"):
            caller = (run_number(by["runId"]), by["chapter"], by["effectId"])
            self._run(SQL["set_called"], (number, *caller))

    def _request(self, number: int, event: Event, at: str) -> None:
        data = event.data
        what = (data["chapter"], data["effectId"], data["step"], data["kind"])
        asked = (_text(data["args"]), data["digest"], _text(data["metadata"]))
        values = (number, *what, *asked, _text(data["policy"]), event.seq, at)
        self._run(SQL["insert_effect"], values)

    def _resolve(self, number: int, event: Event, at: str) -> None:
        data = event.data
        value = _text(data["value"]) if "value" in data else None
        how = (data["status"], value, data.get("error"), event.seq, at)
        self._run(SQL["resolve_effect"], (*how, number, data["chapter"], data["effectId"]))
        self._run(SQL["wake"], (at, number))


class SessionTables(Table):
    """Sessions and their held output in one connection."""

    def live(self) -> list[str]:
        return [run_id(number) for (number,) in self._run(SQL["live_sessions"])]

    def newest(self, limit: int = 100) -> list[str]:
        return [run_id(number) for (number,) in self._run(SQL["all_sessions"], (limit,))]

    def hold(self, identifier: str, held: HeldOutput) -> None:
        values = (held.event_seq, held.hook, held.point, held.text)
        self._run(SQL["hold"], (run_number(identifier), *values))

    def held(self, identifier: str) -> list[HeldOutput]:
        rows = self._run(SQL["held"], (run_number(identifier),))
        return [HeldOutput(seq, hook, point, text) for _, seq, hook, point, text in rows]

    def drain(self, identifier: str) -> list[HeldOutput]:
        found = self.held(identifier)
        if found:
            self._run(SQL["mark_delivered"], (run_number(identifier),))
        return found


_JSON = frozenset({"input", "metadata", "state", "value", "pins", "args", "policy"})
_RUN = (
    *("flow", "status", "input", "metadata", "chapter", "state", "reason", "value", "error"),
    *("code_digest", "pins", "created_at", "updated_at", "iteration", "wake_at"),
)


def _row(run: Execute, query: str, identifier: str) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = run(SQL[query], (run_number(identifier),)).fetchone()
    if row is None:
        raise UnknownRun(f"there is no run {identifier}")
    return row


def _newest(run: Execute, where: str, values: tuple[str, ...], limit: int) -> list[Run]:
    sql = SQL["run"].replace("WHERE number = ?", f"{where} ORDER BY number DESC LIMIT ?")
    return [_build_run(row) for row in run(sql, (*values, limit))]


def _free(
    rows: list[tuple[int, str | None, float]], is_free: Callable[[str, float], bool]
) -> list[str]:
    return [run_id(n) for n, owner, until in rows if owner is None or is_free(owner, until)]


def _number(run: Run) -> int:
    return run_number(run.run_id)


def _chapter(run: Run) -> tuple[int, int]:
    return _number(run), run.chapter


def _pins(event: Event) -> str:
    return _text({**event.data.get("pins", {}), "seq": event.seq})


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _optional(text: str | None) -> Any:
    return None if text is None else _decode(text)


def _build_run(row: tuple[Any, ...]) -> Run:
    number, *values = row
    return Run(run_id=run_id(number), **_decoded(_RUN, values))


def _decoded(names: Iterable[str], values: Iterable[Any]) -> Columns:
    pairs = zip(names, values, strict=True)
    return {name: _optional(value) if name in _JSON else value for name, value in pairs}


def _build_effect(row: tuple[Any, ...]) -> JournalEffect:
    values = list(row)
    for index in (4, 6, 7, 12):
        values[index] = _optional(values[index])
    return JournalEffect(*values)
