"""One SQLite file: opening, migrating, transactions that wait their turn, errors in our words."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from hookline.errors import (
    BadInput,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreGone,
    StoreNewer,
    StoreOlder,
    StoreReadOnly,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

SCHEMA_VERSION = 4
PATIENCE = 60.0
_MIGRATIONS = os.path.join(os.path.dirname(__file__), "migrations")

_TRANSLATIONS: dict[int, type[StoreError]] = {
    sqlite3.SQLITE_BUSY: StoreBusy,
    sqlite3.SQLITE_LOCKED: StoreBusy,
    sqlite3.SQLITE_CORRUPT: StoreCorrupt,
    sqlite3.SQLITE_NOTADB: StoreCorrupt,
    sqlite3.SQLITE_FORMAT: StoreCorrupt,
    sqlite3.SQLITE_FULL: StoreFull,
    sqlite3.SQLITE_READONLY: StoreReadOnly,
    sqlite3.SQLITE_CANTOPEN: StoreReadOnly,
    sqlite3.SQLITE_PERM: StoreReadOnly,
}


class Database:
    """A connection to the store's file, with the schema this version knows."""

    def __init__(
        self,
        path: str,
        *,
        read_only: bool = False,
        any_age: bool = False,
        admit: Callable[[sqlite3.Connection], None] | None = None,
    ) -> None:
        self.path = path
        self.read_only = read_only
        self._any_age = any_age
        with self._translated():
            # While another process makes the store, even a look at it finds it locked.
            _patiently(lambda: self._open(admit))

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Everything inside is stored together, or not at all."""
        if self.read_only:
            raise StoreReadOnly(f"{self.path} is open for reading only")
        with self._translated():
            self._begin("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                # A failed COMMIT may have rolled back already; the first error is the one to tell.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
        # SQLite goes on writing to a file that has no name any more, and to nobody's use.
        if _identity(self.path) != self._file:
            raise StoreGone(f"the store was deleted or replaced while it was in use ({self.path})")

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Everything read inside is of one moment."""
        with self._translated():
            self._begin("BEGIN")
            try:
                yield self.connection
            finally:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")

    def _open(self, admit: Callable[[sqlite3.Connection], None] | None) -> None:
        self.connection = self._connect()
        self._file = _identity(self.path)
        try:
            self._refuse_unknown()
            if admit is not None and self._version() > 0:
                admit(self.connection)
            self._check_version()
        except BaseException:
            self.connection.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        if self.read_only:
            return self._connect_read_only()
        connection = sqlite3.connect(self.path, timeout=0.02, isolation_level=None)
        connection.execute("PRAGMA trusted_schema = OFF")
        # A change that was acknowledged must survive a power cut as well as a kill.
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _connect_read_only(self) -> sqlite3.Connection:
        # Without write access to its folder SQLite cannot share a WAL file; then nobody writes
        # here either, and the file can be read as it lies.
        address = "file:" + self.path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        for mode in ("?mode=ro", "?mode=ro&immutable=1"):
            connection = sqlite3.connect(address + mode, timeout=5, isolation_level=None, uri=True)
            try:
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            except sqlite3.OperationalError as problem:
                connection.close()
                if "immutable" in mode or _code(problem) == sqlite3.SQLITE_CORRUPT:
                    raise
                continue
            return connection
        raise AssertionError("unreachable")

    def _refuse_unknown(self) -> None:
        version = self._version()
        if version > SCHEMA_VERSION:
            raise StoreNewer(
                f"the store has schema {version}, this Hookline knows {SCHEMA_VERSION}"
            )
        if version < 0:
            raise StoreCorrupt(f"{self.path} has schema {version}, which never was one")

    def _check_version(self) -> None:
        version = self._version()
        if version < SCHEMA_VERSION and self.read_only:
            if self._any_age:
                return
            raise StoreOlder
        if not self.read_only:
            _patiently(lambda: _use_wal(self.connection))
        if version < SCHEMA_VERSION:
            self._migrate()

    def _version(self) -> int:
        row = self.connection.execute("PRAGMA user_version").fetchone()
        return int(row[0])

    def _migrate(self) -> None:
        with self.transaction() as connection:
            for number in range(self._version() + 1, SCHEMA_VERSION + 1):
                for statement in _statements(migration(number)):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")
            connection.execute(
                "INSERT OR IGNORE INTO meta VALUES ('store_id', ?)", (os.urandom(4).hex(),)
            )

    def _begin(self, statement: str) -> None:
        _patiently(lambda: self.connection.execute(statement))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            raise translate(problem, self.path) from problem
        except UnicodeEncodeError as problem:
            raise BadInput(f"{problem.object[:80]!r} is no text") from problem
        except msgspec.MsgspecError as problem:
            message = f"{self.path} holds a row that cannot be read: {problem}"
            raise StoreCorrupt(message) from problem


def _identity(path: str) -> tuple[int, int] | None:
    """Which file lies there, if any."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def schema_of(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Every object of the schema as (name, SQL): what a foreign file is compared by."""
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {(name, " ".join(sql.split())) for name, sql in rows}


def expected_schema(version: int = SCHEMA_VERSION) -> set[tuple[str, str]]:
    """The schema that the migrations up to a version make."""
    memory = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for number in range(1, version + 1):
            memory.executescript(migration(number))
        return schema_of(memory)
    finally:
        memory.close()


def migration(number: int) -> str:
    """The text of a migration."""
    (name,) = (n for n in os.listdir(_MIGRATIONS) if n.startswith(f"{number:04d}_"))
    with open(os.path.join(_MIGRATIONS, name), encoding="utf-8") as file:
        return file.read()


def translate(problem: sqlite3.Error, path: str) -> StoreError:
    """SQLite's error in our words."""
    code = _code(problem)
    kind = _TRANSLATIONS.get(code, StoreError)
    if kind is StoreError and code == sqlite3.SQLITE_IOERR:
        kind = StoreFull if _no_room(path) else StoreError
    if kind is StoreError and "file is not a database" in str(problem):
        kind = StoreCorrupt
    return kind(f"{(kind.__doc__ or '').rstrip('.')} ({path}: {problem})")


def _no_room(path: str) -> bool:
    try:
        stats = os.statvfs(os.path.dirname(path))
    except OSError:
        return False
    return stats.f_bavail == 0


def _code(problem: sqlite3.Error) -> int:
    return getattr(problem, "sqlite_errorcode", 0) & 0xFF


def _use_wal(connection: sqlite3.Connection) -> None:
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    if mode != "wal":
        connection.execute("PRAGMA journal_mode = WAL").fetchone()


def _patiently(step: Callable[[], Any]) -> None:
    """Repeat a step that finds the store locked, at random intervals so that all get a turn."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            step()
            return
        except sqlite3.OperationalError as problem:
            if _code(problem) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
            if time.monotonic() > deadline:
                raise
        time.sleep((1 + os.urandom(1)[0]) / 32_000)


def _statements(script: str) -> Iterator[str]:
    buffer = ""
    for line in script.splitlines(keepends=True):
        buffer += line
        if sqlite3.complete_statement(buffer):
            yield buffer
            buffer = ""
