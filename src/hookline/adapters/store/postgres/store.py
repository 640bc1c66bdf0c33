"""Opening the store of a project on a PostgreSQL server: its schema, and its place in it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg

from hookline import errors
from hookline.adapters.store.postgres.database import ServerDatabase
from hookline.adapters.store.postgres.dialect import first_rows, schema
from hookline.adapters.store.postgres.losses import LossWatch
from hookline.adapters.store.postgres.patience import Patience
from hookline.adapters.store.postgres.plans import definitions, functions
from hookline.adapters.store.postgres.server import BACKUP, ServerConnection
from hookline.adapters.store.statements import COMPATIBLE_SCHEMA, SCHEMA_VERSION, migration
from hookline.adapters.store.store import TableStore
from hookline.domain.store_urls import read_store_url
from hookline.immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookline.adapters.store.statements import StatementRunner

# Whoever makes or changes the schema has this lock until the transaction is over.
_LOCK = b"SELECT pg_advisory_xact_lock(7210384)"
_LOOK = b"""
SELECT v.number, v.oldest, p.id, m.value, extract(epoch FROM clock_timestamp())::float8, b.value,
    to_regproc(%b) IS NOT NULL, has_schema_privilege('hookline', 'CREATE')
FROM hookline.version v
LEFT JOIN hookline.projects p ON p.name = %b
LEFT JOIN hookline.meta m ON m.project_id = p.id AND m.key = 'store_id'
LEFT JOIN hookline.meta b ON b.project_id = p.id AND b.key = 'behind'
"""
_ENTER = b"INSERT INTO hookline.projects (name) VALUES (%b) ON CONFLICT DO NOTHING RETURNING id"
_PLACE = (
    "SELECT set_config('search_path', 'hookline_rows', true),"
    " set_config('hookline.project', '%d', true)"
)
_LACKS_FUNCTIONS = b"SELECT to_regproc(%b) IS NULL AND has_schema_privilege('hookline', 'CREATE')"
_SEES = b"SET LOCAL search_path = hookline_rows, hookline, pg_catalog"
_NAME = "INSERT INTO meta VALUES ('store_id', '%s')"
_UPDATE = "UPDATE hookline.version SET number = %d, oldest = %d"
# What a migration meets in a database that has another schema than it says.
_UNLIKE = (
    *(psycopg.errors.DuplicateTable, psycopg.errors.DuplicateColumn),
    *(psycopg.errors.DuplicateObject, psycopg.errors.DuplicateFunction),
    *(psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn),
    psycopg.errors.UndefinedObject,
)
# Each table as one project sees it: without the column that tells projects apart.
_VIEWS = b"""
SELECT format('CREATE OR REPLACE VIEW hookline_rows.%I AS SELECT %s FROM hookline.%I'
    ' WHERE project_id = current_setting(''hookline.project'')::bigint', c.table_name,
    string_agg(quote_ident(c.column_name), ', ' ORDER BY c.ordinal_position), c.table_name)
FROM information_schema.columns c JOIN information_schema.columns p
ON p.table_schema = 'hookline' AND p.table_name = c.table_name AND p.column_name = 'project_id'
WHERE c.table_schema = 'hookline' AND c.column_name <> 'project_id' GROUP BY c.table_name
"""


_NUMBERED = ("deliveries", "held_output", "notifications")
_NEXT = (
    "SELECT setval(pg_get_serial_sequence('hookline.{0}', 'id'),"
    " greatest(1, (SELECT max(id) FROM hookline.{0})))"
)


class FoundProject(Immutable):
    """What a database has of a project."""

    project: int
    store_id: str
    behind: str | None
    has_functions: bool
    may_make_functions: bool


class PostgresStore(TableStore):
    """The store of one project on a server."""

    def __init__(
        self,
        url: str,
        *,
        read_only: bool = False,
        clock: Callable[[], float] | None = None,
        admit: Callable[[str], None] | None = None,
        waits: bool | None = None,
        history: LossWatch | None = None,
    ) -> None:
        """Open a project; `admit` hears the identity of one that was there before.

        A server that goes away is waited for. `waits`: also if it is away now; False: never.
        `history` compares it with what was seen of it before.
        """
        address = read_store_url(url)
        if address.project is None:
            raise errors.BadInput(
                f"{address.shown} names no project", help="add ?project=NAME to the URL"
            )
        server = ServerConnection(
            *(address.server, address.shown),
            patience=(patience := Patience(0 if waits is False else address.wait)),
            waits=bool(waits),
            tell=lambda said: self.away(said),
        )
        try:
            with server.translated():
                found = _opened(server, address.project, admit, read_only=read_only)
        except BaseException:
            server.close()
            raise
        history = history or LossWatch()
        history.watch(found.store_id)
        self.database = database = ServerDatabase(
            *(server, found.project, history),
            read_only=read_only,
            functions=functions() if found.has_functions else {},
        )
        self.project = found.project
        self.address, self._patience = address, patience
        # The URL by which changes are announced, if not that one.
        self.listen: str | None = None
        super().__init__(url, database, found.store_id, clock or database.time)
        if found.behind is not None:
            self.notices.append(f"{found.behind}; nothing is written until it is reconciled")

    @contextmanager
    def rows(self, *, writing: bool = False) -> Iterator[StatementRunner]:
        with super().rows(writing=writing) as connection:
            yield connection
            # Rows that came with their numbers used none of the server's.
            for table in _NUMBERED if writing else ():
                connection.execute(_NEXT.format(table))

    def connect(self, *, waits: bool = True) -> ServerConnection:
        """Another connection, which waits for a server that is away or goes away, or does not."""
        address = self.address
        patience = self._patience if waits else Patience(0)
        return ServerConnection(address.server, address.shown, patience=patience, waits=True)


def _opened(
    server: ServerConnection, name: str, admit: Callable[[str], None] | None, *, read_only: bool
) -> FoundProject:
    """A project as it is in the database; for writing it is made, or brought up to date."""
    version, found = _look(server, name)
    if found is not None and admit is not None:
        admit(found.store_id)
    if found is not None and version >= SCHEMA_VERSION:
        # Without its functions a statement takes longer, and finds the same.
        if found.has_functions or read_only or not found.may_make_functions:
            return found
    elif read_only:
        raise errors.StoreAbsent if found is None else errors.StoreOlder
    return _made(server, name)


def _look(server: ServerConnection, name: str) -> tuple[int, FoundProject | None]:
    """The version of the schema, and what it has of a project."""
    project = server.quote(name.encode())
    try:
        row = server.run(_LOOK % (_one_function(server), project), first=True).fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        return 0, None
    if row is None:
        return 0, None
    version, oldest, number, store_id, now, behind, *of_functions = row
    if oldest > SCHEMA_VERSION:
        raise errors.StoreNewer(f"the store has schema {version}, this Hookline {SCHEMA_VERSION}")
    server.keep_time(now)
    if number is None:
        return version, None
    if store_id is None:
        raise errors.StoreCorrupt(f"{server.place} has lost its identity")
    return version, FoundProject(number, store_id, behind, *of_functions)


def _made(server: ServerConnection, name: str) -> FoundProject:
    """Make what is missing, all or nothing; whoever comes second finds it made."""

    def run(script: bytes) -> tuple[object, ...] | None:
        cursor = server.run(script, first=False)
        row: tuple[object, ...] | None = cursor.fetchone() if cursor.description else None
        return row

    try:
        run(b"BEGIN")
        run(_LOCK)
        if run(b"SELECT to_regclass('hookline.version')") == (None,):
            _refuse_encoding(run(b"SHOW server_encoding"), server.place)
            run(_read("base.sql"))
        (version,) = run(b"SELECT number FROM hookline.version") or (0,)
        assert isinstance(version, int)
        _bring_up_to_date(server, version)
        _enter(server, name)
        run(b"COMMIT")
    except BaseException:
        server.roll_back()
        raise
    _, found = _look(server, name)
    assert found is not None  # it was made
    return found


def _bring_up_to_date(server: ServerConnection, version: int) -> None:
    if version < 0:
        raise _wrong_version(server, version)
    try:
        if version < SCHEMA_VERSION:
            _migrate(server, version)
        _make_functions(server)
    except _UNLIKE as problem:
        raise _wrong_version(server, version) from problem


def _wrong_version(server: ServerConnection, version: int) -> errors.StoreCorrupt:
    return errors.StoreCorrupt(
        f"{server.place} says that it has schema {version}, which its tables do not have",
        help=BACKUP,
    )


def _migrate(server: ServerConnection, version: int) -> None:
    scripts = [migration(number) for number in range(version + 1, SCHEMA_VERSION + 1)]
    statements = ["SET LOCAL search_path = hookline, pg_catalog"]
    statements += (statement for script in scripts for statement in schema(script))
    statements.append(_UPDATE % (SCHEMA_VERSION, COMPATIBLE_SCHEMA))
    server.run(_read("functions.sql"), first=False)
    server.run(";".join(statements).encode(), first=False)
    views = server.run(_VIEWS, first=False).fetchall()
    server.run(";".join(view for (view,) in views).encode(), first=False)


def _make_functions(server: ServerConnection) -> None:
    """Give this version its functions, if it has none and they may be made."""
    row = server.run(_LACKS_FUNCTIONS % _one_function(server), first=False).fetchone()
    if row == (True,):
        server.run(_SEES, first=False)
        server.run(";".join(definitions(server.describe)).encode(), first=False)


def _enter(server: ServerConnection, name: str) -> None:
    """Give a project its number, its first rows and its identity, if it has none."""
    project = server.quote(name.encode())
    row = server.run(_ENTER % project, first=False).fetchone()
    if row is None:
        return
    (number,) = row
    statements = [_PLACE % number]
    for each in range(1, SCHEMA_VERSION + 1):
        statements += first_rows(migration(each))
    statements.append(_NAME % os.urandom(4).hex())
    server.run(";".join(statements).encode(), first=False)


def _one_function(server: ServerConnection) -> bytes:
    """The name of one of the functions of this version: where it is, the others are."""
    *_, last = functions().values()
    return server.quote(b"hookline." + last.name)


def _refuse_encoding(row: tuple[object, ...] | None, place: str) -> None:
    if row != ("UTF8",):
        message = f"the database {place} has the encoding {row[0] if row else '?'}"
        raise errors.StoreError(message, help="create one with ENCODING 'UTF8' and use that")


def _read(name: str) -> bytes:
    with open(os.path.join(os.path.dirname(__file__), name), "rb") as file:
        return file.read()
