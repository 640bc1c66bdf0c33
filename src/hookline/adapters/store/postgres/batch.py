"""Statements of one transaction on a server, sent together, and what they find."""

from __future__ import annotations

import re
import time
from functools import cache
from typing import TYPE_CHECKING, Any

import psycopg

from hookline import errors
from hookline.adapters.store.postgres.dialect import render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hookline.adapters.store.postgres.plans import Function
    from hookline.adapters.store.postgres.server import ServerAnswer, ServerConnection

# So much is sent at a time, if nobody asks for what it finds.
MOST_BYTES = 1 << 20
# So many questions, and so many rows of each, are remembered within a transaction.
MOST_KNOWN = 64
_CHANGED = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")


@cache
def _table_changed_by(sql: str) -> str | None:
    found = _CHANGED.match(sql)
    return found and found[1]


@cache
def _mentions(sql: str, table: str) -> bool:
    return re.search(rf"\b{table}\b", sql) is not None


class StatementAnswer:
    """What a statement finds or does, once it was sent."""

    def __init__(self, *, counts: bool = False) -> None:
        """`counts`: a function finds how many rows it has changed."""
        self._result: ServerAnswer | None = None
        self._rows: list[Any] | None = None
        self._counts = counts

    def take(self, result: ServerAnswer) -> None:
        """Take what came back."""
        self._result = result

    def give(self, rows: list[Any]) -> None:
        """Rows that were found in another way."""
        self._rows = rows

    @property
    def is_there(self) -> bool:
        """Whether it was sent."""
        return self._result is not None or self._rows is not None

    @property
    def rows(self) -> list[Any]:
        """What it found."""
        if self._rows is None:
            assert self._result is not None  # it was sent
            self._rows = [] if self._counts else self._result.rows()
        return self._rows

    @property
    def size(self) -> int:
        """How many rows it found, or changed."""
        assert self._result is not None  # it was sent
        return int(self._result.rows()[0][0]) if self._counts else self._result.size

    @property
    def columns(self) -> list[tuple[str]]:
        """The columns, each with its name in front."""
        assert self._result is not None  # it was sent
        return self._result.columns()

    def row(self) -> Any:
        """The one row of what always finds one."""
        return self.rows[0]


class PendingRows:
    """The rows of an answer, from the first one on; the statement is sent when someone asks."""

    def __init__(self, batch: Batch, answer: StatementAnswer) -> None:
        self._batch = batch
        self._answer = answer
        self._left: Iterator[Any] | None = None

    @property
    def rowcount(self) -> int:
        self._found()
        return self._answer.size

    @property
    def description(self) -> Any:
        self._found()
        return self._answer.columns

    @property
    def lastrowid(self) -> int | None:
        row = self.fetchone()
        return None if row is None else int(row[0])

    def __iter__(self) -> Iterator[Any]:
        return self._found()

    def fetchone(self) -> Any:
        return next(self._found(), None)

    def fetchmany(self, size: int) -> list[Any]:
        return [row for _, row in zip(range(size), self._found(), strict=False)]

    def fetchall(self) -> list[Any]:
        return list(self._found())

    def _found(self) -> Iterator[Any]:
        if self._left is None:
            if not self._answer.is_there:
                self._batch.flush()
            self._left = iter(self._answer.rows)
        return self._left


class Batch:
    """Statements of one transaction, sent together: each exchange with the server takes time.

    `begin` begins it, with the first statements that are sent, and finds one row; `begun` is shown
    that row before anyone sees an answer, and refuses to continue by raising an error. A batch that
    only reads is `resumable`: if the connection is lost in the middle, another one reads the rest,
    unless something was stored since.
    """

    def __init__(
        self,
        server: ServerConnection,
        project: int,
        begin: bytes,
        begun: Callable[[Any], None],
        *,
        functions: Mapping[str, Function],
        resumable: bool = False,
        patience: float = 0.0,
    ) -> None:
        """`functions` run some statements.

        `patience`: for how long it asks again for what another transaction has locked.
        """
        self._server = server
        self._project = project
        self._begin = begin
        self._begun = begun
        self._functions = functions
        self._resumable = resumable
        self._patience = patience
        self._texts = [begin]
        self._bytes = 0
        # What `begin` finds.
        self.first = StatementAnswer()
        self._waiting = [StatementAnswer(), self.first]
        # What was asked, and need not be asked again while its tables stay as they are.
        self._known: dict[tuple[Any, ...], StatementAnswer] = {}
        self.is_begun = False
        self._refused: BaseException | None = None

    def know(self, sql: str, answer: StatementAnswer) -> None:
        """What a statement would find, as soon as the transaction has begun."""
        self._known[sql,] = answer

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> PendingRows:
        """Run a statement, as soon as someone wants to know what it finds."""
        asked = (sql, *parameters)
        if (known := self._known.get(asked)) is not None:
            return PendingRows(self, known)
        if (function := self._functions.get(sql)) is None:
            answer = StatementAnswer()
            text = render(sql, parameters, self._server.quote, self._project)
        else:
            answer = StatementAnswer(counts=not function.finds)
            text = function.call(parameters, self._server.quote)
        if sql.startswith("SELECT"):
            self._known[asked] = answer
        else:
            if not self.is_begun:  # nothing is changed before it was admitted
                self.flush()
            self._forget(sql)
        if self._bytes + len(text) > MOST_BYTES:
            self.flush()
        self._texts.append(text)
        self._waiting.append(answer)
        self._bytes += len(text)
        return PendingRows(self, answer)

    def _forget(self, sql: str) -> None:
        """What is known of the table that a statement changes; everything, if that is not clear."""
        table = _table_changed_by(sql)
        self._known = {
            asked: answer
            for asked, answer in self._known.items()
            if table is not None and not _mentions(asked[0], table)
        }

    def flush(self) -> None:
        """Send what waits, and take what it finds."""
        if self._refused is not None:
            raise self._refused
        texts, self._texts = self._texts, []
        waiting, self._waiting = self._waiting, []
        self._bytes = 0
        if texts:
            is_first = not self.first.is_there
            results = self._sent(b";".join(texts))
            for answer, result in zip(waiting, results, strict=False):  # what ends it has no answer
                answer.take(result)
            if is_first:
                self._admit()
            if len(self._known) > MOST_KNOWN or any(each.size > MOST_KNOWN for each in results):
                self._known.clear()

    def _admit(self) -> None:
        try:
            self._begun(self.first.row())
        except BaseException as problem:
            self._refused = problem
            raise

    def _sent(self, script: bytes) -> list[ServerAnswer]:
        was_begun, self.is_begun = self.is_begun, True
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return self._server.exchange(script, first=not was_begun)
            except psycopg.errors.LockNotAvailable:
                if was_begun or time.monotonic() > deadline:
                    raise
                self._server.roll_back()
            except psycopg.OperationalError:
                if not self._resumable or not self._server.is_lost():
                    raise
                self._server.reconnect()
                begin = (self._project, self._begin, lambda row: None)
                again = Batch(self._server, *begin, functions={})
                again.flush()
                if again.first.rows != self.first.rows:
                    raise errors.StoreLost from None

    def end(self, ending: bytes) -> None:
        """Send what waits, followed by this; what changes something, only once it was begun."""
        if not (self.is_begun or self._resumable):
            self.flush()
        self._texts.append(ending)
        self.flush()
