"""The embedded store: one SQLite file, and what it is before anything is written to it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookline.adapters.store.database import SqliteDatabase, expected_schema, schema_of
from hookline.adapters.store.store import TableStore
from hookline.errors import StoreCorrupt
from hookline.immutable import Immutable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable


class Identity(Immutable):
    """What a store is, without changing it."""

    store_id: str
    connection: sqlite3.Connection

    def is_empty(self) -> bool:
        """Whether it is a store of Hookline in which nothing was ever stored."""
        return not self.foreign_objects() and all(map(self._is_new, self._tables()))

    def foreign_objects(self) -> list[str]:
        """What the file's schema has that ours has not, or the other way round."""
        version = self.connection.execute("PRAGMA user_version").fetchone()[0]
        found = schema_of(self.connection) ^ expected_schema(version)
        return sorted({name for name, _ in found})

    def _tables(self) -> list[str]:
        rows = self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return [name for (name,) in rows.fetchall()]

    def _is_new(self, table: str) -> bool:
        found = self.connection.execute(f"SELECT * FROM {table} LIMIT 2")  # noqa: S608  # ours
        rows = found.fetchall()
        if table == "meta":
            return [key for key, _ in rows] == ["store_id"]
        if table == "counters":
            names = [column[0] for column in found.description]
            counted = [n for n, row in zip(names, rows[0], strict=True) if row] if rows else names
            return set(counted) <= {"id", "missed"}
        return not rows


def identify(connection: sqlite3.Connection) -> Identity:
    """Look at a store without changing it."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'store_id'").fetchone()
    return Identity(str(row[0]) if row else "", connection)


class SqliteStore(TableStore):
    """The embedded store of one project."""

    def __init__(
        self,
        path: str,
        *,
        read_only: bool = False,
        any_age: bool = False,
        clock: Callable[[], float] = time.time,
        admit: Callable[[Identity], None] | None = None,
    ) -> None:
        """Open a store; `admit` sees what it is before anything is written to it.

        With `any_age` one of an older version opens as well, to be identified and not more.
        """
        check = None if admit is None else lambda connection: admit(identify(connection))
        database = SqliteDatabase(path, read_only=read_only, any_age=any_age, admit=check)
        with database.snapshot() as connection:
            store_id = identify(connection).store_id
        if not store_id:
            raise StoreCorrupt(f"{path} has lost its identity")
        super().__init__(f"sqlite://{path}", database, store_id, clock)
