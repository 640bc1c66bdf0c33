"""The event log's table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.events import RESERVED, Event, event_id
from hookline.errors import UnknownEvent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookline.adapters.store.statements import StatementRunner

_decode = typed.decoder(dict[str, Any])
_BATCH = 1000
_OWN_TYPES = msgspec.json.encode(sorted(RESERVED)).decode()


class LogTable:
    """Reading the log in one connection."""

    def __init__(self, connection: StatementRunner, store_id: str) -> None:
        self._run = connection.execute
        self._store_id = store_id

    def last(self) -> int:
        return int(self._run("SELECT seq FROM counters").fetchone()[0])

    def find(self, seq: int) -> Event | None:
        row = self._run("SELECT * FROM events WHERE seq = ?", (seq,)).fetchone()
        return self._event(row) if row else None

    def at(self, seq: int) -> Event:
        event = self.find(seq)
        if event is None:
            raise UnknownEvent(f"there is no event {seq}; the log ends at {self.last()}")
        return event

    def events(
        self,
        *,
        after: int = 0,
        types: Sequence[str] = (),
        node_id: str | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        return list(self.stream(after=after, types=types, node_id=node_id, limit=limit))

    def stream(
        self,
        *,
        after: int = 0,
        types: Sequence[str] = (),
        node_id: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Event]:
        """Events in order, read as they are asked for."""
        conditions, values = ["seq > ?"], [after, *types]
        if types:
            conditions.append(f"type IN ({', '.join('?' * len(types))})")
        if node_id is not None:
            conditions.append("node_id = ?")
            values.append(node_id)
        where = " AND ".join(conditions)  # made of the constants above; values stay parameters
        if node_id is not None:
            # The index has a node's events by type: their places are sorted, not their data.
            where = f"seq IN (SELECT seq FROM events WHERE {where})"  # noqa: S608
        sql = f"SELECT * FROM events WHERE {where} ORDER BY seq LIMIT ?"  # noqa: S608
        cursor = self._run(sql, (*values, -1 if limit is None else limit))
        while rows := cursor.fetchmany(_BATCH):
            for row in rows:
                yield self._event(row)

    def tail(self, count: int) -> list[Event]:
        rows = self._run("SELECT * FROM events ORDER BY seq DESC LIMIT ?", (count,)).fetchall()
        return [self._event(row) for row in reversed(rows)]

    def latest(self, node_id: str, types: Sequence[str]) -> Event | None:
        marks = ", ".join("?" * len(types))
        newest = f"SELECT max(seq) FROM events WHERE node_id = ? AND type IN ({marks})"  # noqa: S608
        sql = f"SELECT * FROM events WHERE seq = ({newest})"  # noqa: S608  # of constants
        row = self._run(sql, (node_id, *types)).fetchone()
        return self._event(row) if row else None

    def before(self, moment: str) -> int:
        # Only events of our own are looked at: others may have a time that their sender chose.
        sql = (
            "SELECT seq, timestamp FROM events WHERE seq BETWEEN ? AND ? AND +type IN"
            " (SELECT value FROM json_each(?)) ORDER BY seq LIMIT 1"
        )
        low, high = 0, self.last()
        while low < high:
            middle = (low + high + 1) // 2
            row = self._run(sql, (middle, high, _OWN_TYPES)).fetchone()
            if row is not None and row[1] < moment:
                low = row[0]
            else:
                high = middle - 1
        return low

    def newest(self, node_id: str) -> Event | None:
        sql = "SELECT * FROM events WHERE node_id = ? ORDER BY seq DESC LIMIT 1"
        row = self._run(sql, (node_id,)).fetchone()
        return self._event(row) if row else None

    def gaps(self) -> int:
        """How many places of the log are missing; none, unless the file was tampered with."""
        (count,) = self._run("SELECT count(*) FROM events").fetchone()
        return int(self.last() - count)

    def _event(self, row: tuple[Any, ...]) -> Event:
        seq, timestamp, kind, node_id, data, metadata = row
        name = event_id(self._store_id, seq)
        return Event(seq, name, timestamp, kind, node_id, _decode(data), _decode(metadata))
