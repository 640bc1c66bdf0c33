"""One SQLite file: opening, migrating, transactions that wait their turn, errors in our words."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
from contextlib import closing, contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from hookline import errors
from hookline.adapters.store.statements import SCHEMA_VERSION, migration, unusable
from hookline.files import FILE_MODE, entry_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from hookline.domain.events import Event

PATIENCE = 60.0
MEMORY = ":memory:"
_MARK = r"\?(\d+)"
_EMPTY = "restore it from a backup; to start over, remove it and run the command again"
_BESIDE = "if you did not put it there, remove it: SQLite would write its content into the store"

_TRANSLATIONS: dict[int, type[errors.StoreError]] = {
    sqlite3.SQLITE_BUSY: errors.StoreBusy,
    sqlite3.SQLITE_LOCKED: errors.StoreBusy,
    sqlite3.SQLITE_CORRUPT: errors.StoreCorrupt,
    sqlite3.SQLITE_NOTADB: errors.StoreCorrupt,
    sqlite3.SQLITE_FORMAT: errors.StoreCorrupt,
    sqlite3.SQLITE_FULL: errors.StoreFull,
    sqlite3.SQLITE_READONLY: errors.StoreReadOnly,
    sqlite3.SQLITE_CANTOPEN: errors.StoreReadOnly,
    sqlite3.SQLITE_PERM: errors.StoreReadOnly,
}


class SqliteDatabase:
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
            raise errors.StoreReadOnly(f"{self.path} is open for reading only")
        with self._translated():
            self._begin("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                # A failed COMMIT may have rolled back already; report the first error.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
        # SQLite keeps writing to a file that has no name any more, to no use.
        if _identity(self.path) != self._file:
            raise errors.StoreGone(
                f"the store was deleted or replaced while it was in use ({self.path})"
            )

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

    def time(self) -> float:
        """The time of this machine, on which the file is."""
        return time.time()

    first_token = 0

    def stored(self, last: Event) -> None:
        """Nothing: a file takes nothing back."""

    def shown(self, sql: str, values: Sequence[Any]) -> str:
        """A statement with its values, for the `sqlite3` program."""
        literal = self.connection.execute
        return re.sub(
            _MARK,
            lambda mark: str(literal("SELECT quote(?)", (values[int(mark[1]) - 1],)).fetchone()[0]),
            sql,
        )

    def size(self) -> int:
        """The bytes of the file and of what is still to be written into it."""
        found = (entry_at(f"{self.path}{beside}") for beside in ("", "-wal"))
        return sum(each.st_size for each in found if each is not None)

    def compact(self) -> None:
        """Give the space that nothing uses any more back to the disk; writers wait meanwhile."""
        with self._translated():
            self._begin("VACUUM")
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _open(self, admit: Callable[[sqlite3.Connection], None] | None) -> None:
        if not self.read_only and self.path != MEMORY and not os.path.lexists(self.path):
            _create(self.path)
        self._file = _examined(self.path, self.read_only)
        self.connection = self._connect()
        try:
            self._refuse_unknown()
            if _identity(self.path) != self._file:
                raise errors.StoreReplaced(f"{self.path} was replaced while it was opened")
            if admit is not None:
                admit(self.connection)
            self._check_version()
        except BaseException:
            self.connection.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        if self.read_only:
            return self._connect_read_only()
        connection = sqlite3.connect(self.path, timeout=0.02, isolation_level=None)
        if self.path == MEMORY:
            _fill(connection)
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
            known = f"this Hookline knows {SCHEMA_VERSION}"
            raise errors.StoreNewer(f"the store has schema {version}, {known}")
        if version <= 0:
            raise errors.StoreCorrupt(f"{self.path} has schema {version}, which never existed")

    def _check_version(self) -> None:
        version = self._version()
        if version < SCHEMA_VERSION and self.read_only:
            if self._any_age:
                return
            raise errors.StoreOlder
        if not self.read_only:
            _patiently(lambda: _use_wal(self.connection))
        if version < SCHEMA_VERSION:
            with self.transaction() as connection:
                _migrate(connection, self._version())

    def _version(self) -> int:
        return int(self.connection.execute("PRAGMA user_version").fetchone()[0])

    def _begin(self, statement: str) -> None:
        _patiently(lambda: self.connection.execute(statement))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            raise translate(problem, self.path) from problem
        except (UnicodeEncodeError, msgspec.MsgspecError) as problem:
            raise unusable(problem, self.path) from problem


def _identity(path: str) -> tuple[int, int] | None:
    """Which file is there, if any."""
    found = entry_at(path)
    return None if found is None else (found.st_dev, found.st_ino)


def _examined(path: str, read_only: bool) -> tuple[int, int] | None:
    """Which file is there, if it and those next to it can be a store of Hookline."""
    if path == MEMORY:
        return None
    for beside in ("-wal", "-shm"):
        if os.path.islink(path + beside):
            raise errors.StoreCorrupt(f"{path}{beside} is a link")
    # Hookline leaves none behind, and SQLite would do what it says before anyone can look.
    if not read_only and os.path.lexists(f"{path}-journal"):
        raise errors.StoreCorrupt(f"{path}-journal was put next to the store", help=_BESIDE)
    try:
        found = os.lstat(path)
    except OSError as problem:
        raise errors.StoreReadOnly(f"{path} cannot be opened: {problem.strerror}") from problem
    if not stat.S_ISREG(found.st_mode):
        raise errors.StoreError(f"{path} is not a regular file")
    if found.st_size == 0:
        raise errors.StoreCorrupt(f"{path} is empty: its data is gone", help=_EMPTY)
    return found.st_dev, found.st_ino


def _create(path: str) -> None:
    """Make a new store under a passing name, and give it its own when it is whole."""
    draft = f"{path}.{os.urandom(6).hex()}"
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        file = os.open(draft, flags, FILE_MODE)
    except OSError as problem:
        raise errors.StoreReadOnly(f"cannot write to {path}: {problem.strerror}") from problem
    try:
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            # It is written to the disk below, in one go.
            connection.execute("PRAGMA synchronous = OFF")
            _fill(connection)
        os.fsync(file)
        _give_name(draft, path)
    finally:
        os.close(file)
        for name in (draft, f"{draft}-wal", f"{draft}-shm"):
            with suppress(OSError):
                os.unlink(name)


def _fill(connection: sqlite3.Connection) -> None:
    """Make what is empty a store."""
    _blank().backup(connection)
    connection.execute("PRAGMA journal_mode = WAL").fetchone()
    _identify(connection)


def _give_name(draft: str, path: str) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:  # another process was faster, and its store is as good
        return
    except OSError:  # not every file system has links
        if not os.path.lexists(path):
            os.rename(draft, path)
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring a store of that version up to date, inside a transaction."""
    for number in range(version + 1, SCHEMA_VERSION + 1):
        for statement in _statements(migration(number)):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
    _identify(connection)


def _identify(connection: sqlite3.Connection) -> None:
    """Give a store the name by which it is told from others, if it has none."""
    store_id = os.urandom(4).hex()
    connection.execute("INSERT OR IGNORE INTO meta VALUES ('store_id', ?)", (store_id,))


def schema_of(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Every object of the schema as (name, SQL): what a foreign file is compared by."""
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {(name, " ".join(sql.split())) for name, sql in rows}


@cache
def expected_schema(version: int = SCHEMA_VERSION) -> frozenset[tuple[str, str]]:
    """The schema that the migrations up to a version make."""
    return frozenset(schema_of(_blank(version)))


@cache
def _blank(version: int = SCHEMA_VERSION) -> sqlite3.Connection:
    """A store as the migrations up to a version make it; to copy it is cheaper than they are."""
    # Whichever thread needs it first makes it, and SQLite lets others read it.
    memory = sqlite3.connect(MEMORY, isolation_level=None, check_same_thread=False)
    scripts = "".join(migration(number) for number in range(1, version + 1))
    memory.executescript(f"BEGIN; {scripts} PRAGMA user_version = {version}; COMMIT;")
    return memory


def translate(problem: sqlite3.Error, path: str) -> errors.StoreError:
    """SQLite's error in our words."""
    code = _code(problem)
    kind = _TRANSLATIONS.get(code, errors.StoreError)
    if kind is errors.StoreError and code == sqlite3.SQLITE_IOERR:
        kind = errors.StoreFull if _no_room(path) else errors.StoreError
    return kind(f"{(kind.__doc__ or '').rstrip('.')} ({path}: {problem})")


def _no_room(path: str) -> bool:
    with suppress(OSError):
        return os.statvfs(os.path.dirname(path)).f_bavail == 0
    return False


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
            is_locked = _code(problem) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not is_locked or time.monotonic() > deadline:
                raise
        time.sleep((1 + os.urandom(1)[0]) / 32_000)


def _statements(script: str) -> Iterator[str]:
    buffer = ""
    for line in script.splitlines(keepends=True):
        buffer += line
        if sqlite3.complete_statement(buffer):
            yield buffer
            buffer = ""
