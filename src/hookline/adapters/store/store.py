"""The store that the rest of Hookline sees: read views, and writing transactions."""

from __future__ import annotations

import time
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hookline.adapters.store.calls import CallTables, DispatchTable
from hookline.adapters.store.graph import GraphTables
from hookline.adapters.store.log import LogTable
from hookline.adapters.store.statements import SQL
from hookline.domain.events import (
    MAX_EVENT_BYTES,
    MAX_EVENT_DEPTH,
    RUN_EVENTS,
    STATE_BEARING,
    Event,
    event_id,
)
from hookline.domain.tasks import task_id, task_number
from hookline.domain.timestamps import iso
from hookline.errors import BadInput, StoreCorrupt
from hookline.points import NOTIFYING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from hookline.adapters.store.calls import SwitchTable
    from hookline.adapters.store.details import DetailTables
    from hookline.adapters.store.exports import ExportTables
    from hookline.adapters.store.hosts import HostTables
    from hookline.adapters.store.insights import InsightTables
    from hookline.adapters.store.notices import AnnouncementTable, OutboxTable
    from hookline.adapters.store.pull_requests import PullRequestTable
    from hookline.adapters.store.runs import RunTables, SessionTables
    from hookline.adapters.store.statements import StatementRunner
    from hookline.adapters.store.work_places import WorkPlaceTable
    from hookline.domain.hooks.records import Delivery
    from hookline.domain.insights import Selection

_encode = msgspec.json.encode


class Database(Protocol):
    """The tables of one project, and the transactions on them."""

    @property
    def read_only(self) -> bool:
        """Whether it refuses to be written."""

    @property
    def connection(self) -> StatementRunner:
        """What runs statements, each in its own transaction."""

    def snapshot(self) -> AbstractContextManager[StatementRunner]:
        """Everything read inside is of one moment."""

    def transaction(self) -> AbstractContextManager[StatementRunner]:
        """Everything inside is stored together, or not at all."""

    def time(self) -> float:
        """The time, as all who share the database see it."""

    @property
    def first_token(self) -> int:
        """What the tokens of the transaction that has begun are greater than."""

    def stored(self, last: Event) -> None:
        """An event, the last of its transaction, was acknowledged."""

    def shown(self, sql: str, values: Sequence[Any]) -> str:
        """A statement with its values, as people can run it."""

    def size(self) -> int:
        """How many bytes they take."""

    def compact(self) -> None:
        """Give the space that nothing uses any more back."""

    def close(self) -> None:
        """Let go of it."""


class _LoadedTable:
    """A table whose module is loaded when it is asked for: most commands need few of them."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = f"hookline.adapters.store.{module}", name

    def __set_name__(self, owner: type, attribute: str) -> None:
        self._attribute = attribute

    def __get__(self, view: View, owner: type) -> Any:
        table = getattr(import_module(self._module), self._name)(view._connection)
        vars(view)[self._attribute] = table
        return table


def _loaded(module: str, name: str) -> Any:
    return _LoadedTable(module, name)


class View:
    """The store at one moment."""

    switches: SwitchTable = _loaded("calls", "SwitchTable")
    runs: RunTables = _loaded("runs", "RunTables")
    sessions: SessionTables = _loaded("runs", "SessionTables")
    details: DetailTables = _loaded("details", "DetailTables")
    hosts: HostTables = _loaded("hosts", "HostTables")
    work_places: WorkPlaceTable = _loaded("work_places", "WorkPlaceTable")
    pull_requests: PullRequestTable = _loaded("pull_requests", "PullRequestTable")
    announcements: AnnouncementTable = _loaded("notices", "AnnouncementTable")
    outbox: OutboxTable = _loaded("notices", "OutboxTable")
    insights: InsightTables = _loaded("insights", "InsightTables")
    exports: ExportTables = _loaded("exports", "ExportTables")

    def __init__(
        self,
        connection: StatementRunner,
        store_id: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.time = clock
        self.graph = GraphTables(connection)
        self.log = LogTable(connection, store_id)
        self.calls = CallTables(connection)
        self.dispatches = DispatchTable(connection)
        self._connection = connection


class _Counters(msgspec.Struct):
    """How far the log goes, and what numbers were given; `missed` is for hooks that were off."""

    seq: int
    task: int
    token: int
    run: int
    missed: int


class Transaction(View):
    """A change in the making: events are appended, and the tables follow them at once."""

    def __init__(
        self,
        connection: StatementRunner,
        store_id: str,
        now: Callable[[], str],
        metadata: dict[str, Any],
        clock: Callable[[], float],
        first_token: Callable[[], int] = lambda: 0,
    ) -> None:
        super().__init__(connection, store_id, clock)
        self.graph = GraphTables(connection, remembers=True)
        self.metadata = metadata
        self.events: list[Event] = []
        self._run = connection.execute
        self._store_id = store_id
        self._clock = now
        self._first_token = first_token
        self._before: tuple[int, ...] = ()
        self._found: _Counters | None = None
        self._now = ""

    # No `cached_property`: those of all transactions share a lock, and these wait for each other.

    @property
    def _counters(self) -> _Counters:
        # Asked for when they are needed: a server answers other questions in the same go.
        if self._found is None:
            self._found = self._begin()
        return self._found

    @property
    def now(self) -> str:
        """When it was this transaction's turn to write."""
        if self._found is None:
            self._found = self._begin()
        return self._now

    @now.setter
    def now(self, moment: str) -> None:
        self._found = self._counters  # which says what time it was
        self._now = moment

    def _begin(self) -> _Counters:
        self._before = self._run(SQL["counters"]).fetchone()
        if self._before is None:
            raise StoreCorrupt("the store has lost its counters")
        self._now = self._clock()  # whoever has them has waited for its turn to write
        found = _Counters(*self._before)
        found.token = max(found.token, self._first_token())
        return found

    @property
    def missed(self) -> bool:
        """Whether tasks may wait for nothing because the hook that makes them ready was off."""
        return bool(self._counters.missed)

    @missed.setter
    def missed(self, is_so: bool) -> None:
        self._counters.missed = int(is_so)

    def expect(self, identifier: str) -> None:
        self.graph.expect(identifier)

    def append(
        self,
        event_type: str,
        node_id: str,
        data: dict[str, Any],
        *,
        metadata: dict[str, Any] | None = None,
        timestamp: str | None = None,
    ) -> Event:
        moment = timestamp or self.now
        details = {**self.metadata, **metadata} if metadata else self.metadata
        encoded = _encoded(data, event_type)
        if len(encoded) > MAX_EVENT_BYTES:
            words = f"the data of this {event_type} event has {len(encoded):,} bytes"
            help = "put large content in a file and pass its name"
            raise BadInput(f"{words}; the limit is {MAX_EVENT_BYTES:,}", help=help)
        self._counters.seq = seq = self._counters.seq + 1
        name = event_id(self._store_id, seq)
        event = Event(seq, name, moment, event_type, node_id, data, details)
        texts = (encoded.decode(), _encode(details).decode())
        self._run(SQL["append_event"], (seq, moment, event_type, node_id, *texts))
        if event_type in STATE_BEARING:
            self.graph.projection.apply(event, self.now)
        elif event_type in RUN_EVENTS:
            self.runs.journal.apply(event, self.now)
        elif event_type in NOTIFYING:
            self.announcements.apply(event)
        self.events.append(event)
        return event

    @contextmanager
    def nested(self) -> Iterator[None]:
        before, count = msgspec.structs.replace(self._counters), len(self.events)
        recorded, opened = len(self.calls.recorded), dict(self.dispatches.opened)
        self._run("SAVEPOINT part")
        try:
            yield
        except BaseException:
            self._run("ROLLBACK TO part")
            self._found = before
            self.graph.forget()
            del self.events[count:]
            del self.calls.recorded[recorded:]
            self.dispatches.opened = opened
            raise
        finally:
            self._run("RELEASE part")

    def waits_for_task(self, identifier: str) -> bool:
        number = (task_number(identifier),)
        return self._run(SQL["waits_for_task"], number).fetchone() is not None

    def next_task_id(self) -> str:
        self._counters.task += 1
        return task_id(self._counters.task)

    def next_run(self) -> int:
        self._counters.run += 1
        return self._counters.run

    def next_token(self) -> int:
        self._counters.token += 1
        return self._counters.token

    def finish(self) -> None:
        """Store the counters; the last statement of the transaction."""
        if self._before and (now := msgspec.structs.astuple(self._counters)) != self._before:
            self._run(SQL["set_counters"], now)


class TableStore:
    """A store of one project, in whichever database its tables are."""

    def __init__(
        self, url: str, database: Database, store_id: str, clock: Callable[[], float]
    ) -> None:
        self.url = url
        self.id = store_id
        self._database = database
        self._clock = clock
        # Who hears about the calls that a commit recorded, and what was opened and written here.
        self.told: Callable[[Sequence[Delivery]], None] = lambda rows: None
        # Who hears that the server of the store is away, and that it is back.
        self.away: Callable[[str], None] = lambda message: None
        self.opened: dict[int, str] = {}
        self.written: dict[str, int] = {}
        # What whoever opened it should hear.
        self.notices: list[str] = []

    @property
    def read_only(self) -> bool:
        """Whether this store refuses to be written."""
        return self._database.read_only

    def now(self) -> str:
        return iso(self._clock())

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def time(self) -> float:
        return self._database.time()

    def size(self) -> int:
        return self._database.size()

    def compact(self) -> None:
        self._database.compact()

    @contextmanager
    def read(self) -> Iterator[View]:
        with self._database.snapshot() as connection:
            yield View(connection, self.id, self.time)

    def insight_statement(self, table: str, asked: Selection, now: str) -> str:
        from hookline.adapters.store.insights import statement  # few look at it

        return self._database.shown(*statement(table, asked, now))

    def rows(self, *, writing: bool = False) -> AbstractContextManager[StatementRunner]:
        """The bare tables, for copying them."""
        return self._database.transaction() if writing else self._database.snapshot()

    def live(self) -> View:
        return View(self._database.connection, self.id, self.time)

    @contextmanager
    def write(self, metadata: dict[str, Any]) -> Iterator[Transaction]:
        with self._database.transaction() as connection:
            about = (self.id, self.now, metadata, self.time)
            transaction = Transaction(connection, *about, lambda: self._database.first_token)
            yield transaction
            transaction.finish()
        if transaction.events:
            self._database.stored(transaction.events[-1])
        self.opened |= transaction.dispatches.opened
        self.written |= {event.node_id: event.seq for event in transaction.events}
        if transaction.calls.recorded:
            self.told(transaction.calls.recorded)


def _encoded(data: dict[str, Any], event_type: str) -> bytes:
    """The data of an event as JSON that every reader can decode, however deep its own stack is."""
    try:
        encoded = _encode(data)
        brackets = encoded.count(b"[") + encoded.count(b"{")
        if brackets < MAX_EVENT_DEPTH or _depth(data) < MAX_EVENT_DEPTH:
            return encoded
    except RecursionError:
        pass
    words = f"the data of this {event_type} event is nested too deeply"
    help = "put such content in a file and pass its name"
    raise BadInput(f"{words}; the limit is {MAX_EVENT_DEPTH} levels", help=help)


def _depth(value: Any) -> int:
    deep, level = 0, [value]
    while level:
        deep += 1
        level = [inner for each in level for inner in _parts(each)]
    return deep


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else ()
