"""A connection to a PostgreSQL server, made again when it is lost, and its errors in our words."""

from __future__ import annotations

import time
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import psycopg
from psycopg import generators
from psycopg.adapt import Transformer
from psycopg.pq import Conninfo, Escaping, ExecStatus, TransactionStatus
from psycopg.types.string import TextLoader

from hookline import errors
from hookline.adapters.store.postgres.dialect import decoded
from hookline.adapters.store.postgres.patience import Patience
from hookline.adapters.store.statements import unusable
from hookline.domain.store_urls import PARAMETER, WAIT
from hookline.domain.timestamps import elapsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from psycopg.abc import Buffer
    from psycopg.pq.abc import PGresult

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
# Nothing here outlives a transaction, so that a pooler may give each to another connection.
OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "prepare_threshold": None,
    "client_encoding": "utf8",
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
_RIGHTS = "ask the owner of the database for the rights that docs/fleet.md lists"
_REPLICA = "name the primary server: add ?target_session_attrs=read-write to the URL"
BACKUP = "restore that database's schema `hookline` from a backup, or use another database"
_KINDS: dict[str, tuple[type[errors.StoreError], str | None]] = {
    "25006": (errors.StoreReadOnly, _REPLICA),
    **dict.fromkeys(("42P01", "42703"), (errors.StoreCorrupt, BACKUP)),
    "42501": (errors.StoreReadOnly, _RIGHTS),
    "53100": (errors.StoreFull, None),
    "53200": (errors.StoreFull, "free some memory on the server and run the command again"),
    "40P01": (errors.StoreBusy, None),
    "55P03": (errors.StoreBusy, None),
    "57014": (errors.StoreBusy, None),
}
_CHECK = "check the URL of the store: `psql URL` has to connect with it from here"
# What servers and libpq say, as far as a remedy follows from it.
_REMEDIES = (
    ("no encryption", "the server wants TLS: add ?sslmode=require to the URL"),
    ("SSL connection is required", "the server wants TLS: add ?sslmode=require to the URL"),
    ("root certificate", "name the certificate of its authority: &sslrootcert=FILE in the URL"),
    ("certificate verify failed", "name the certificate of its authority: &sslrootcert=FILE"),
    ("does not support SSL", "the server has no TLS: the URL must not require it"),
    ("password", "check user and password: in the URL, in PGPASSWORD or in ~/.pgpass"),
    ("does not exist", "create it on the server, or correct the URL"),
    ("too many", "the server has no connection left: raise max_connections, or use a pooler"),
    ("Connection refused", "no server listens there: start it, or correct host and port"),
    ("Is the server running", "no server listens there: start it, or correct host and port"),
    ("starting up", "the server is starting: try again"),
    ("shutting down", "the server is being stopped: start it, and try again"),
    ("resolve host", "correct the host in the URL"),
    ("translate host name", "correct the host in the URL"),
)


class _Text(TextLoader):
    """Text as it was before it was encoded for PostgreSQL."""

    def load(self, data: Buffer) -> str:
        return decoded(bytes(data))


class ServerAnswer:
    """What came back for one statement; rows are decoded if someone asks for them."""

    def __init__(self, result: PGresult, decode: Callable[[PGresult], list[Any]]) -> None:
        self._result = result
        self._decode = decode

    @property
    def size(self) -> int:
        """How many rows it found, or changed."""
        return self._result.ntuples or self._result.command_tuples or 0

    def rows(self) -> list[Any]:
        """The rows that it found."""
        return self._decode(self._result)

    def columns(self) -> list[tuple[str]]:
        """The columns, each with its name in front."""
        names = (self._result.fname(place) for place in range(self._result.nfields))
        return [((name or b"").decode(),) for name in names]


class ServerConnection:
    """A server that this process talks to; if it goes away, it is waited for.

    `waits`: also if it is away from the beginning. `tell` hears that it is away, and that it is
    back.
    """

    def __init__(
        self,
        url: str,
        place: str,
        *,
        patience: Patience | None = None,
        waits: bool = False,
        tell: Callable[[str], None] = lambda message: None,
    ) -> None:
        self._url = url
        # The same without a password, to be shown.
        self.place = place
        self.tell = tell
        self._patience = patience or Patience()
        self._decoding = Lock()
        # How many connections there were.
        self.connections = 0
        self._connection = self._waited() if waits else self._connect()
        self._ahead = 0.0

    def __del__(self) -> None:
        # Who forgets a store closes it, as with one in a file.
        if connection := vars(self).get("_connection"):
            connection.close()

    def time(self) -> float:
        """The time of the server, which is the same for all."""
        return elapsed() + self._ahead

    def keep_time(self, now: float) -> None:
        """Remember what the server said just now."""
        self._ahead = now - elapsed()

    def run(self, script: bytes, *, first: bool) -> psycopg.Cursor[Any]:
        """Send statements in one go; `first`: nothing was said before that they rely on."""
        return self._again(lambda: self._connection.execute(script), first=first)

    def exchange(self, script: bytes, *, first: bool) -> list[ServerAnswer]:
        """The same, and what came back for each; a cursor would take several times as long."""
        return self._again(lambda: self._exchange(script), first=first)

    def _again(self, send: Callable[[], T], *, first: bool) -> T:
        while True:
            try:
                return send()
            except psycopg.OperationalError:
                if not (first and self.is_lost()):
                    raise
                self.reconnect()

    def _exchange(self, script: bytes) -> list[ServerAnswer]:
        connection = self._connection
        with connection.lock:
            connection.pgconn.send_query(script)
            results = connection.wait(generators.execute(connection.pgconn))
        for each in results:
            if each.status == ExecStatus.FATAL_ERROR:
                raise psycopg.errors.error_from_result(each)
        return [ServerAnswer(each, self._decoded) for each in results]

    def _decoded(self, result: PGresult) -> list[Any]:
        with self._decoding:
            self._transformer.set_pgresult(result)
            return self._transformer.load_rows(0, result.ntuples, tuple)

    def describe(self, statement: str) -> tuple[list[int], list[int]]:
        """The types of what a statement is given, and of what it finds."""
        connection = self._connection.pgconn
        for found in (
            connection.prepare(b"", statement.encode()),
            connection.describe_prepared(b""),
        ):
            if found.status != ExecStatus.COMMAND_OK:
                raise psycopg.errors.error_from_result(found)
        given = [found.param_type(place) for place in range(found.nparams)]
        return given, [found.ftype(place) for place in range(found.nfields)]

    def is_lost(self) -> bool:
        """Whether the connection ended."""
        return self._connection.broken or self._connection.closed

    def roll_back(self) -> None:
        """End a transaction, if there is one."""
        if not self.is_lost() and not self.is_idle():
            self._connection.execute(b"ROLLBACK")

    def reconnect(self) -> None:
        """Connect again, as soon as the server is there again."""
        self._connection.close()
        self._connection = self._waited()

    def _waited(self) -> psycopg.Connection[Any]:
        with self._patience.waiting(self.place):
            return self._wait()

    def _wait(self) -> psycopg.Connection[Any]:
        began, pause, is_told = time.monotonic(), FIRST_PAUSE, False
        while True:
            try:
                connection = self._connect()
            except errors.StoreUnreachable as problem:
                waited = time.monotonic() - began
                if waited + pause > self._patience.seconds:
                    said = f"{problem.message}; waited {waited:.0f} s for it"
                    raise errors.StoreUnreachable(said, help=problem.help) from problem
                if not is_told:
                    is_told = True
                    waits = f"waiting up to {self._patience.seconds:g} s, and agents continue"
                    self.tell(f"{problem.message}: {waits}")
            else:
                if is_told:
                    self.tell(f"the store answers again after {time.monotonic() - began:.0f} s")
                return connection
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def is_idle(self) -> bool:
        """Whether no transaction has begun."""
        return self._connection.info.transaction_status in _OVER

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Errors inside are told in our words."""
        try:
            yield
        except psycopg.Error as problem:
            raise self.translate(problem) from problem
        except (UnicodeEncodeError, msgspec.MsgspecError) as problem:
            raise unusable(problem, self.place) from problem

    def translate(self, problem: psycopg.Error) -> errors.StoreError:
        """An error of the server in our words."""
        if self.is_lost():
            return errors.StoreLost(f"{_doc(errors.StoreLost)} ({self.place})")
        kind, help = _KINDS.get(problem.sqlstate or "", (errors.StoreError, None))
        return kind(f"{_doc(kind)} ({self.place}: {_said(problem)})", help=help)

    def _connect(self) -> psycopg.Connection[Any]:
        try:
            connection = psycopg.connect(self._url, **OPTIONS)
        except psycopg.ProgrammingError as problem:  # what it says may repeat a password
            raise _unusable(self._url, self.place) from problem
        except psycopg.Error as problem:
            said, whole = _said(problem), str(problem)
            help = next((remedy for sign, remedy in _REMEDIES if sign in whole), _CHECK)
            kind = errors.StoreUnreachable
            raise kind(f"{_doc(kind)} ({self.place}: {said})", help=help) from problem
        self.connections += 1
        connection.adapters.register_loader("text", _Text)
        self._transformer = Transformer(connection)
        # Makes a literal, by PostgreSQL's own library for this connection.
        self.quote = Escaping(connection.pgconn).escape_literal
        return connection


def _unusable(url: str, place: str) -> errors.BadInput:
    """Why libpq does not take a URL: a parameter that it does not know, or another reason."""
    known = [PARAMETER, WAIT, *(each.keyword.decode() for each in Conninfo.get_defaults())]
    given = [each.partition("=") for each in url.partition("?")[2].split("&")]
    for name, sign, _ in given:
        if sign and name.isidentifier() and name not in known:
            help = errors.did_you_mean(name, known, "libpq's documentation lists them all")
            return errors.BadInput(f"{place} has an unknown parameter '{name[:40]}'", help=help)
    return errors.BadInput(f"{place} cannot be used", help=_CHECK)


_OVER = (TransactionStatus.IDLE, TransactionStatus.UNKNOWN)


def _doc(kind: type[errors.StoreError]) -> str:
    return (kind.__doc__ or "").rstrip(".")


def _said(problem: psycopg.Error) -> str:
    """The first line of what was said: the rest is about where in the statement."""
    said = problem.diag.message_primary or str(problem)
    return next(iter(said.splitlines()), type(problem).__name__)
