"""Where everything is kept: the task graph, the log, hook calls, runs and sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from hookline.domain.events import Event
    from hookline.domain.hooks.records import Delivery
    from hookline.domain.insights import Selection
    from hookline.domain.projection import Columns
    from hookline.domain.tasks import Edge, Task
    from hookline.domain.work.places import WorkPlace
    from hookline.files import Removed
    from hookline.ports.calls import Calls, Dispatches, Switches
    from hookline.ports.details import Details
    from hookline.ports.exports import Exports
    from hookline.ports.hosts import Hosts
    from hookline.ports.insights import InsightQueries
    from hookline.ports.notices import Announcements, Outbox
    from hookline.ports.runs import Runs, Sessions


class GraphView(Protocol):
    """Read access to the task graph, as hooks see it."""

    def task(self, identifier: str) -> Task:
        """The task, or UnknownTask."""

    def find(self, identifier: str) -> Task | None:
        """The task, or None."""

    def edges_to(self, identifier: str, edge_type: str | None = None) -> list[Edge]:
        """Edges that end at this task: who depends on it, what it spawned."""

    def edges_from(self, identifier: str, edge_type: str | None = None) -> list[Edge]:
        """Edges that start at this task: what it depends on, what spawned it."""

    def unmet(self, identifier: str) -> int:
        """How many dependencies still hold a task back."""


class EventLog(Protocol):
    """Read access to the log, as hooks see it."""

    def find(self, seq: int) -> Event | None:
        """The event at a position in the log."""

    def events(
        self,
        *,
        after: int = 0,
        types: Sequence[str] = (),
        node_id: str | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """Events in order, from `after` (exclusive)."""


class Log(EventLog, Protocol):
    """The whole log, to read."""

    def stream(
        self,
        *,
        after: int = 0,
        types: Sequence[str] = (),
        node_id: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Event]:
        """The same, one by one, however many they are."""

    def at(self, seq: int) -> Event:
        """The event at a place; UnknownEvent if there is none."""

    def latest(self, node_id: str, types: Sequence[str]) -> Event | None:
        """The newest event of these types about a task or a run."""

    def tail(self, count: int) -> list[Event]:
        """The newest events, oldest first."""

    def newest(self, node_id: str) -> Event | None:
        """The newest event about a task or a run."""

    def last(self) -> int:
        """The place of the newest event; 0 in an empty log."""

    def before(self, moment: str) -> int:
        """The place of the last event before a moment; 0 if there is none."""

    def gaps(self) -> int:
        """How many places of the log are missing; none, unless it was edited."""


class Graph(GraphView, Protocol):
    """The task graph inside a transaction."""

    def tasks(
        self,
        *,
        states: Iterable[str] = ...,
        label: str | None = None,
        task_type: str | None = None,
        limit: int = -1,
    ) -> list[Task]:
        """Tasks in the given states, by number; without any, those that are open."""

    def edges(self) -> list[Edge]:
        """Every edge."""

    def rows(self) -> Iterator[Columns]:
        """Every row as it lies, to be checked against the log."""

    def misranked(self) -> int:
        """How many edges break the maintained order; none, unless someone edited the file."""

    def stranded(self) -> list[str]:
        """Waiting tasks whose dependencies are all met: none, unless nobody made them ready."""

    def ready(self, limit: int, now: str) -> list[Task]:
        """The best tasks that anyone may take, those with an expired lease included."""

    def set_lease(self, identifier: str, until: str | None) -> None:
        """The perishable part of a claim; it is not in the log."""

    def any_lease_ends(self, after: str, until: str) -> bool:
        """Whether the lease of a claim ends after one moment, and not after another."""

    def make_room(self, from_id: str, to_id: str) -> None:
        """Keep every dependency ranked before its dependents, or refuse a cycle and show it."""


class Blobs(Protocol):
    """Large values, named by their content."""

    def put(self, data: bytes) -> str:
        """Keep bytes; the name they can be fetched by."""

    def get(self, name: str) -> bytes:
        """The bytes of that name."""

    def drop(self, name: str) -> None:
        """Remove what nothing needs any more, at once."""

    def names(self) -> list[str]:
        """The names of all."""

    def sweep(self, needed: Collection[str], before: float, *, dry: bool = False) -> Removed:
        """Remove what nothing needs and nobody has stored again since a moment."""

    def close(self) -> None:
        """Nobody keeps or fetches anything any more."""


class WorkPlaces(Protocol):
    """Where the work on each task is; perishable, and not in the log."""

    def find(self, task: str) -> WorkPlace | None:
        """Where the work on a task is; None if nobody has recorded it."""

    def set(self, task: str, place: WorkPlace) -> None:
        """Where it is now."""

    def remove(self, task: str) -> None:
        """Nobody needs to know any more."""

    def all(self) -> dict[str, WorkPlace]:
        """Where all work is, by task."""

    def over(self) -> dict[str, WorkPlace]:
        """Where the work on tasks was that are over."""


class PullRequests(Protocol):
    """The pull requests of the local forge, if several machines share the store."""

    def read(self, number: int) -> str | None:
        """One of them; None if there is none."""

    def open_of(self, branch: str, base: str) -> str | None:
        """The newest open one of a branch into a base."""

    def last(self) -> int:
        """The newest number; 0 if there is none."""

    def write(self, number: int, branch: str, base: str, *, is_open: bool, record: str) -> None:
        """One of them as it is now."""


class View(Protocol):
    """The store at one moment."""

    def time(self) -> float:
        """The time now that decides when leases end; all who share the store agree on it."""

    @property
    def graph(self) -> Graph:
        """The task graph."""

    @property
    def log(self) -> Log:
        """The event log."""

    @property
    def calls(self) -> Calls:
        """The record of hook calls."""

    @property
    def dispatches(self) -> Dispatches:
        """Events whose hooks still have to be called."""

    @property
    def switches(self) -> Switches:
        """Hooks switched on or off by hand."""

    @property
    def runs(self) -> Runs:
        """Runs of flows and their effects."""

    @property
    def sessions(self) -> Sessions:
        """Sessions and the output that waits for their agents."""

    @property
    def details(self) -> Details:
        """What is kept of finished work besides the log."""

    @property
    def work_places(self) -> WorkPlaces:
        """Where the work on tasks is, if several machines share the store."""

    @property
    def pull_requests(self) -> PullRequests:
        """The pull requests of the local forge, if several machines share the store."""

    @property
    def announcements(self) -> Announcements:
        """What people were told and still waits for them."""

    @property
    def hosts(self) -> Hosts:
        """The machines that advance runs."""

    @property
    def outbox(self) -> Outbox:
        """What waits to be sent to people."""

    @property
    def insights(self) -> InsightQueries:
        """What the log says about how work goes."""

    @property
    def exports(self) -> Exports:
        """How far telemetry was sent."""


class Transaction(View, Protocol):
    """A change in the making: events are appended, and the tables follow them at once."""

    # When it was this transaction's turn to write.
    now: str
    metadata: dict[str, Any]
    events: list[Event]
    missed: bool

    def expect(self, identifier: str) -> None:
        """The task will be asked for: a server finds it in one go with other questions."""

    def append(
        self,
        event_type: str,
        node_id: str,
        data: dict[str, Any],
        *,
        metadata: dict[str, Any] | None = None,
        timestamp: str | None = None,
    ) -> Event:
        """Write an event to the end of the log and bring the tables up to date with it.

        Without a `timestamp`, it is of now; no state follows from another one.
        """

    def waits_for_task(self, identifier: str) -> bool:
        """Whether a run waits for a task."""

    def nested(self) -> AbstractContextManager[None]:
        """A part that can fail alone: its events and rows vanish, the rest stays."""

    def next_task_id(self) -> str:
        """A task id that was never used."""

    def next_run(self) -> int:
        """A run number that was never used."""

    def next_token(self) -> int:
        """A token greater than every one before it."""


class Store(Protocol):
    """Where everything is kept."""

    id: str
    url: str
    # The dispatches that this process opened, the last event that it wrote of each node, who hears
    # of the calls that a commit recorded, who hears that the server is away or back, and what
    # whoever opened the store should hear.
    opened: dict[int, str]
    written: dict[str, int]
    told: Callable[[Sequence[Delivery]], None]
    away: Callable[[str], None]
    notices: list[str]

    @property
    def read_only(self) -> bool:
        """Whether it refuses to be written."""

    def close(self) -> None:
        """Let go of it."""

    def live(self) -> View:
        """A view that always shows what is stored now."""

    def now(self) -> str:
        """The time, as the log has it."""

    def time(self) -> float:
        """The time that decides when leases end; all who share the store agree on it."""

    def insight_statement(self, table: str, asked: Selection, now: str) -> str:
        """What finds the rows of a table of insights, as people can run it."""

    def size(self) -> int:
        """How many bytes it takes."""

    def compact(self) -> None:
        """Give the space that nothing uses any more back; whoever writes waits meanwhile."""

    def read(self) -> AbstractContextManager[View]:
        """A view of one moment."""

    def write(self, metadata: dict[str, Any]) -> AbstractContextManager[Transaction]:
        """A change that is stored whole or not at all."""
