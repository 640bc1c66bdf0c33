"""A store as `hookline doctor` looks at it: whatever is wrong is reported, nothing is touched."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from hookline.adapters.store.database import SqliteDatabase
from hookline.adapters.store.sqlite import Identity, identify
from hookline.adapters.store.statements import SCHEMA_VERSION
from hookline.adapters.store.store import View

OLDEST = (3, 35, 0)  # the first with RETURNING


class StoreEngine(NamedTuple):
    """The program that keeps stores on this machine, and the oldest version that will do."""

    name: str
    version: str
    oldest: str
    is_supported: bool


def store_engine() -> StoreEngine:
    """What stores are kept by here."""
    is_supported = sqlite3.sqlite_version_info >= OLDEST
    return StoreEngine("SQLite", sqlite3.sqlite_version, "3.35", is_supported)


class StoreInspection:
    """One moment of a store that may be damaged, foreign or someone else's."""

    schema = SCHEMA_VERSION

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def damage(self) -> list[str]:
        """What is wrong with the file; nothing where it is sound."""
        found = [str(row[0]) for row in self._connection.execute("PRAGMA integrity_check(3)")]
        return found if found != ["ok"] else []

    def foreign_objects(self) -> list[str]:
        """The names in the schema that should not be there, or are missing."""
        return Identity("", self._connection).foreign_objects()

    def store_id(self) -> str | None:
        """The identity of the store, unless it has lost it."""
        return identify(self._connection).store_id or None

    def view(self, store_id: str) -> View:
        """What is stored."""
        return View(self._connection, store_id)

    def children(self) -> list[str]:
        """The process groups that were at work on calls and effects."""
        running = (
            "SELECT child FROM deliveries WHERE child IS NOT NULL"
            " UNION ALL SELECT child FROM effects WHERE child IS NOT NULL"
        )
        return [str(row[0]) for row in self._connection.execute(running)]


@contextmanager
def inspected(path: str) -> Iterator[StoreInspection]:
    """A store, opened for reading only."""
    database = SqliteDatabase(path, read_only=True)
    try:
        with database.snapshot() as connection:
            yield StoreInspection(connection)
    finally:
        database.close()
