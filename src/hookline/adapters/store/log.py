"""The event log's table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.events import Event, event_id

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_BATCH = 1000


class LogTable:
    """Reading the log in one connection."""

    def __init__(self, connection: sqlite3.Connection, store_id: str) -> None:
        self._run = connection.execute
        self._store_id = store_id

    def last(self) -> int:
        """The place of the newest event; 0 in an empty log."""
        return int(self._run("SELECT seq FROM counters").fetchone()[0])

    def find(self, seq: int) -> Event | None:
        """The event at a place in the log."""
        row = self._run("SELECT * FROM events WHERE seq = ?", (seq,)).fetchone()
        return self._event(row) if row else None

    def events(
        self,
        *,
        after: int = 0,
        types: Sequence[str] = (),
        node_id: str | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """Events in order, from `after` (exclusive)."""
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
            # A node has few events, a type many: the plus keeps SQLite from choosing by type.
            column = "type" if node_id is None else "+type"
            conditions.append(f"{column} IN ({', '.join('?' * len(types))})")
        if node_id is not None:
            conditions.append("node_id = ?")
            values.append(node_id)
        where = " AND ".join(conditions)  # made of the constants above; values stay parameters
        sql = f"SELECT * FROM events WHERE {where} ORDER BY seq LIMIT ?"  # noqa: S608
        cursor = self._run(sql, (*values, -1 if limit is None else limit))
        while rows := cursor.fetchmany(_BATCH):
            for row in rows:
                yield self._event(row)

    def tail(self, count: int) -> list[Event]:
        """The newest events, oldest first."""
        rows = self._run("SELECT * FROM events ORDER BY seq DESC LIMIT ?", (count,)).fetchall()
        return [self._event(row) for row in reversed(rows)]

    def gaps(self) -> int:
        """How many places of the log are missing; none, unless the file was tampered with."""
        (count,) = self._run("SELECT count(*) FROM events").fetchone()
        return int(self.last() - count)

    def _event(self, row: tuple[Any, ...]) -> Event:
        seq, timestamp, kind, node_id, data, metadata = row
        return Event(
            seq,
            event_id(self._store_id, seq),
            timestamp,
            kind,
            node_id,
            _decode(data),
            _decode(metadata),
        )
