"""The tables of one project on a server, and the transactions on them."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg

from hookline import errors
from hookline.adapters.store.postgres.batch import Batch, StatementAnswer
from hookline.adapters.store.postgres.dialect import render
from hookline.adapters.store.postgres.losses import LossWatch, TurnState
from hookline.adapters.store.statements import SQL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hookline.adapters.store.postgres.batch import PendingRows
    from hookline.adapters.store.postgres.plans import Function
    from hookline.adapters.store.postgres.server import ServerConnection
    from hookline.domain.events import Event

_PLACES = "hookline_rows, hookline, pg_catalog, pg_temp"
# Whoever is cut off in the middle of a change holds up all others of the project for so long. Who
# waits for a turn asks again now and then, so that those who are cut off are not given one each.
LONGEST_SILENCE_MS = 3000
ASK_AGAIN_MS = 750
LONGEST_WAIT = 60.0
LAST_WAIT = 15.0
KEEP_AGAIN = 1.0
# How many of the columns of a turn are counters; the number of the transaction comes next.
_COUNTERS = 5
# A server has no function that says which it is, or nobody may call it.
_NAMELESS = frozenset({"42883", "42501", "0A000"})
_LOOK = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT * FROM hookline.look(%d)"
# Waits for the turn to write.
_TURN = b"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT * FROM hookline.turn(%d, %b, %d, %d, %d)"
_UNKNOWN = "the server was replaced by another one in the middle of a change; it may be stored"
# The next change may begin before the disk has this one, so that several share a write to the disk.
# What follows waits for it: nothing is acknowledged before it is there, with all that came before.
_HAND_ON = b"SET LOCAL synchronous_commit TO off; COMMIT; "
_WAIT_FOR_DISK = b"SELECT pg_logical_emit_message(true, 'hookline', '')"
_SIZE = b"""
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relnamespace = 'hookline'::regnamespace AND relkind = 'r'
"""


class SingleStatements:
    """Statements that each see what is stored now."""

    def __init__(self, snapshot: Callable[[], Any]) -> None:
        self._snapshot = snapshot

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> PendingRows:
        with self._snapshot() as batch:
            rows: PendingRows = batch.execute(sql, parameters)
            batch.end(b"COMMIT")
        return rows


class ServerDatabase:
    """The tables of one project, in a database that it shares with others."""

    def __init__(
        self,
        server: ServerConnection,
        project: int,
        history: LossWatch,
        *,
        read_only: bool,
        functions: Mapping[str, Function],
    ) -> None:
        self.read_only = read_only
        self.project = project
        self.history = history
        self.found = TurnState(0, 0, None, 0, 0)
        self._server = server
        self._functions = functions
        self._open: Batch | None = None
        self._keep_after = 0.0

    @property
    def connection(self) -> SingleStatements:
        """What runs statements, each in its own transaction."""
        return SingleStatements(self.snapshot)

    def close(self) -> None:
        """Let go of the connection."""
        self.history.keep()
        self._server.close()

    @property
    def first_token(self) -> int:
        """What the tokens of the transaction that has begun are greater than."""
        return self.found.first_token

    def stored(self, last: Event) -> None:
        """An event was acknowledged; for the next process that is remembered now and then."""
        self.history.stored(last)
        if time.monotonic() >= self._keep_after:
            self.history.keep()
            self._keep_after = time.monotonic() + KEEP_AGAIN

    def repaired(self) -> None:
        """In a transaction: what the server had lost is repaired with it."""
        assert self._open is not None  # in a transaction
        self.history.repaired(self._open, self.found)

    def shown(self, sql: str, values: Sequence[Any]) -> str:
        """A statement with its values, for `psql`."""
        text = render(sql, values, self._server.quote, self.project).decode()
        return f"SET search_path = {_PLACES};\nSET hookline.project = '{self.project}';\n{text}"

    def size(self) -> int:
        """The bytes of all projects: their rows are in the same tables."""
        with self._server.translated():
            row = self._server.run(_SIZE, first=True).fetchone()
        return int(row[0]) if row else 0

    def compact(self) -> None:
        """Nothing: the server makes room for new rows by itself."""

    def time(self) -> float:
        """The time of the server, which is the same for all."""
        return self._server.time()

    @contextmanager
    def snapshot(self) -> Iterator[Batch]:
        """Everything read inside is of one moment."""
        with self._server.translated():
            begin = _LOOK % self.project
            batch = Batch(
                *(self._server, self.project, begin, self._refuse_older),
                functions=self._functions,
                resumable=True,
            )
            try:
                yield batch
            finally:
                self._server.roll_back()

    @contextmanager
    def transaction(self) -> Iterator[Batch]:
        """Everything inside is stored together, or not at all; others wait for their turn."""
        if self.read_only:
            raise errors.StoreReadOnly(f"{self._server.place} is open for reading only")
        with self._server.translated():
            try:
                batch = self._open = self._new_turn()
                yield batch
                self._commit(batch)
            except BaseException:
                self._server.roll_back()
                raise

    def _refuse_older(self, position: Any) -> None:
        """Refuse to continue from less than what was seen here; who only looks may see it."""
        seq, epoch = position
        seen = self.history.seen
        may_look = self.read_only or self.history.is_repaired
        if not may_look and int(epoch or 0) <= seen.epoch and seq < seen.seq:
            raise errors.StoreSteppedBack(self.history.told(self._server.place, seq))

    def _new_turn(self) -> Batch:
        """A transaction that begins with the first question, or at once on a new connection."""
        while True:
            batch = self._batch()
            if self.history.is_proved_by(self._server.connections):
                return batch
            self.history.ask(batch)
            try:
                batch.flush()
            except psycopg.Error as problem:
                if not self.history.is_named or problem.sqlstate not in _NAMELESS:
                    raise
                self.history.is_named = False
                self._server.roll_back()
            else:
                return batch

    def _batch(self) -> Batch:
        named = b"true" if self.history.is_named else b"false"
        limits = (LONGEST_SILENCE_MS, ASK_AGAIN_MS, int(LONGEST_WAIT * 1000))
        begin = _TURN % (self.project, named, *limits)
        counters = StatementAnswer()

        def begun(row: Any) -> None:
            counters.give([row[:_COUNTERS]] if row[0] is not None else [])
            self._begun(batch, row[0] or 0, *row[_COUNTERS + 1 :])

        batch = Batch(
            *(self._server, self.project, begin, begun),
            functions=self._functions,
            patience=LONGEST_WAIT,
        )
        batch.know(SQL["counters"], counters)
        batch.execute(SQL["switches"])  # nearly every change asks for them
        return batch

    def _begun(
        self,
        batch: Batch,
        seq: int,
        now: float,
        timeline: int,
        epoch: str | None,
        behind: str | None,
    ) -> None:
        """Begin a change, unless the server has lost some."""
        self._server.keep_time(now)
        self.found = TurnState(timeline, int(epoch or 0), behind, seq, self._server.connections)
        lost = self.history.find_loss(batch, self.found, self._server.place)
        if lost is not None and not self.history.is_repaired:
            batch.end(b"COMMIT")
            raise errors.StoreSteppedBack(lost)

    def _commit(self, batch: Batch) -> None:
        """Commit, and wake whoever waits; if the answer is lost, find out how it ended."""
        if self.history.is_named:
            told = b", pg_notify('%b', '')" % channel_of(self.project).encode()
            ending = _HAND_ON + _WAIT_FOR_DISK + told
        else:
            ending = b"COMMIT; " + news_of(self.project)
        try:
            batch.end(ending)
        except psycopg.Error as problem:
            is_lost = self._server.is_lost()
            if not batch.first.is_there or not (is_lost or self._server.is_idle()):
                raise
            if is_lost:
                self._server.reconnect()
            if not self._is_committed(batch.first.row()[_COUNTERS]):
                raise (errors.StoreLost if is_lost else problem) from problem
            if self.history.is_named:
                self._server.run(_WAIT_FOR_DISK, first=True)
        self.history.kept(self.found)

    def _is_committed(self, number: str) -> bool:
        query = b"SELECT pg_xact_status('%b'::xid8), %b" % (number.encode(), self.history.timeline)
        deadline = time.monotonic() + LAST_WAIT
        while True:
            try:
                row = self._server.run(query, first=True).fetchone()
            except psycopg.DataError:  # the server went down before it knew of it
                return False
            if row is not None and row[1] != self.found.timeline:  # its numbers mean others now
                raise errors.StoreError(_UNKNOWN, help="`hookline events` shows what is stored")
            if row is None or row[0] != "in progress" or time.monotonic() > deadline:
                return row is not None and row[0] == "committed"
            time.sleep(0.05)


def news_of(project: int) -> bytes:
    """What tells those who wait for news, in its own transaction."""
    return b"SELECT hookline.tell('%b')" % channel_of(project).encode()


def channel_of(project: int) -> str:
    """Where it is told that something of a project was stored."""
    return f"hookline_{project}"
