"""Where everything is kept: the task graph, the log, hook calls, runs and sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from contextlib import AbstractContextManager

    from hookline.domain.events import Event
    from hookline.domain.records import Action, Delivery, Outcome, StoredAction
    from hookline.domain.runs import JournalEffect, Run
    from hookline.domain.sessions import HeldOutput
    from hookline.domain.tasks import Edge, Task


class GraphView(Protocol):
    """Read access to the task graph, as hooks see it."""

    def task(self, identifier: str) -> Task:
        """The task, or UnknownTask."""
        ...

    def find(self, identifier: str) -> Task | None:
        """The task, or None."""
        ...

    def edges_to(self, identifier: str, edge_type: str | None = None) -> list[Edge]:
        """Edges that end at this task: who depends on it, what it spawned."""
        ...

    def edges_from(self, identifier: str, edge_type: str | None = None) -> list[Edge]:
        """Edges that start at this task: what it depends on, what spawned it."""
        ...

    def unmet(self, identifier: str) -> int:
        """How many dependencies still hold a task back."""
        ...


class EventLog(Protocol):
    """Read access to the log, as hooks see it."""

    def find(self, seq: int) -> Event | None:
        """The event at a place in the log."""
        ...

    def events(
        self,
        *,
        after: int = 0,
        types: Sequence[str] = (),
        node_id: str | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """Events in order, from `after` (exclusive)."""
        ...


class Graph(GraphView, Protocol):
    """The task graph inside a transaction."""

    def stranded(self) -> list[str]:
        """Waiting tasks whose dependencies are all met: none, unless nobody made them ready."""
        ...

    def ready(self, limit: int, now: str) -> list[Task]:
        """The best tasks that anyone may take, those with an expired lease included."""
        ...

    def set_lease(self, identifier: str, until: str | None) -> None:
        """The perishable part of a claim; it is not in the log."""
        ...

    def any_lease_ends(self, after: str, until: str) -> bool:
        """Whether the lease of a claim ends after one moment, and not after another."""
        ...

    def make_room(self, from_id: str, to_id: str) -> None:
        """Keep every dependency ranked before its dependents, or refuse a cycle and show it."""
        ...


class Calls(Protocol):
    """The record of hook calls."""

    def freeze(self, event_seq: int, payload: dict[str, Any]) -> None:
        """Keep what the hooks of an event will see."""
        ...

    def open_dispatch(self, event_seq: int, node_id: str, owner: str | None) -> None:
        """Some hooks of this event have to run after the commit, perhaps in one process only."""
        ...

    def add(self, delivery: Delivery, actions: Sequence[Action] = ()) -> int:
        """A call that has to be made, or one that is over already; the number of its row."""
        ...

    def claim_next(
        self,
        owner: str,
        token: int,
        lease_until: float,
        is_free: Callable[[str, float], bool],
        *,
        node_id: str | None = None,
        passed: Collection[int] = (),
    ) -> int | None:
        """Lease the oldest dispatch that nobody alive works on; its event's place in the log.

        With `node_id` only the oldest of that node is looked at; those in `passed` are left alone.
        """
        ...

    def holder(self, node_id: str) -> tuple[str | None, float]:
        """Who works on the oldest dispatch of a node, and until when."""
        ...

    def give_up(self, event_seq: int, error: str) -> list[str]:
        """Make no call of an event that still waits, without reading it; the hooks of those."""
        ...

    def stumble(self, event_seq: int, token: int) -> int:
        """The attempt to see to an event broke off; how many did, or 0 if it is not ours."""
        ...

    def dispatches_after(self, event_seq: int) -> list[tuple[int, str, int | None]]:
        """(event, node, the event that caused it) of what waits after a place in the log."""
        ...

    def last_failures(self, hook: str) -> list[Delivery]:
        """The newest call and action of a hook that failed, unless a later one went well."""
        ...

    def held_nodes(self) -> list[str]:
        """The nodes with an event that somebody works on, or did."""
        ...

    def waiting(self, node_id: str | None = None) -> int:
        """How many calls still have to be made, for all nodes or for one."""
        ...

    def holds(self, event_seq: int, token: int) -> bool:
        """Whether a lease on a dispatch is still the current one."""
        ...

    def close_dispatch(self, event_seq: int, token: int) -> None:
        """All hooks of the event ran and all their actions were carried out."""
        ...

    def extend(self, event_seq: int, lease_until: float) -> None:
        """Hold a dispatch for longer."""
        ...

    def start(self, delivery_id: int, now: str) -> None:
        """An attempt begins."""
        ...

    def take_back(self, delivery_id: int) -> None:
        """The attempt that has begun does not count."""
        ...

    def set_child(self, delivery_id: int, child: str) -> None:
        """The process group that works on a call, so that a successor can end it."""
        ...

    def finish(self, delivery: Delivery, outcome: Outcome, actions: Sequence[Action] = ()) -> None:
        """What the hook said and how it went, with the actions it asks for."""
        ...

    def complain(self, event_seq: int, hook: str, point: str, error: str) -> None:
        """Have something told of a hook that is no call of it and has no row of its own."""
        ...

    def open_actions(self, event_seq: int) -> list[StoredAction]:
        """Actions that still have to be carried out, in the order of their hooks."""
        ...

    def finish_action(
        self, event_seq: int, hook: str, position: int, *, error: str | None = None
    ) -> bool:
        """Mark an action as carried out, or as failed; False if it was no longer open."""
        ...

    def abandon(self, reason: str) -> int:
        """Make no call and carry out no action that still waits; how many calls those were."""
        ...

    def payload(self, event_seq: int) -> dict[str, Any] | None:
        """What the hooks of an event saw."""
        ...

    def deliveries(self, event_seq: int) -> list[Delivery]:
        """The calls of one event, in order."""
        ...

    def calls_of(self, hook: str, limit: int = 20) -> list[Delivery]:
        """The newest calls of one hook, newest first."""
        ...

    def actions(self, event_seq: int, hook: str) -> list[StoredAction]:
        """Every action that a hook asked for at an event, with what became of it."""
        ...

    def refreeze(self, event_seq: int, payload: dict[str, Any]) -> None:
        """Add to what the hooks of an event see, before the first of them is called."""
        ...

    def switches(self) -> dict[str, bool]:
        """Hooks switched on or off by hand."""
        ...

    def set_switch(self, hook: str, enabled: bool) -> None:
        """Switch a hook on or off by hand."""
        ...

    def clear_switches(self) -> tuple[str, ...]:
        """Let every hook be on or off as the configuration says; those that were switched."""
        ...


class Runs(Protocol):
    """Runs of flows and their effects."""

    def find(self, identifier: str) -> Run:
        """The run, or UnknownRun."""
        ...

    def runs(self, *, status: str | None = None, limit: int = 100) -> list[Run]:
        """Runs, newest first."""
        ...

    def of_flow(self, flow: str, limit: int = 1000) -> list[Run]:
        """The newest runs of a flow, oldest first."""
        ...

    def effects(self, run: Run) -> list[JournalEffect]:
        """Every effect of the current chapter, in the order in which they were asked for."""
        ...

    def pending(self, run: Run) -> list[JournalEffect]:
        """The effects that have no result yet."""
        ...

    def effect(self, run: Run, effect_id: str) -> JournalEffect:
        """One effect of the current chapter, or UnknownEffect."""
        ...

    def resolved_since(self, run: Run, seq: int) -> list[tuple[str, str, Any, str | None, int]]:
        """(effect, status, value, error, place in the log) of results after a place, in order."""
        ...

    def signals(self, run: Run) -> list[tuple[int, str, Any]]:
        """(place in the log, name, value) of signals that nothing has taken yet."""
        ...

    def waiting_for_task(self, task: int) -> list[tuple[str, int, str]]:
        """(run, chapter, effect) of effects that wait for a task."""
        ...

    def due(self, now: float, is_free: Callable[[str, float], bool]) -> list[str]:
        """Runs that have something to do and that nobody alive works on."""
        ...

    def parked_later(
        self, now: float, after: str, is_free: Callable[[str, float], bool]
    ) -> list[str]:
        """Runs that wake after now, were parked after a moment, and that nobody alive works on."""
        ...

    def next_wake(self, now: float) -> float | None:
        """When the next parked run has something to do."""
        ...

    def holder(self, identifier: str) -> tuple[str | None, int, float]:
        """(owner, token, lease) of a run."""
        ...

    def take(self, identifier: str, owner: str, token: int, until: float) -> None:
        """Lease a run."""
        ...

    def renew(self, owner: str, until: float) -> None:
        """Hold all runs of a process for longer."""
        ...

    def let_go(self, identifier: str, token: int, wake_at: float | None) -> None:
        """End a lease; the run wakes at a moment, or when something happens to it."""
        ...

    def count_iteration(self, identifier: str) -> int:
        """Count a tick."""
        ...

    def begin_attempt(self, run: Run, effect_id: str) -> None:
        """An attempt at an effect begins."""
        ...

    def set_child(self, run: Run, effect_id: str, child: str | None) -> None:
        """The process group that works on an effect."""
        ...

    def set_conversation(self, run: Run, effect_id: str, conversation: str) -> None:
        """The agent's conversation, known before the turn ends."""
        ...

    def postpone(self, run: Run, effect_id: str, until: float) -> None:
        """Try an effect again later."""
        ...

    def choose(self, run: Run, effect_id: str) -> bool:
        """Ask whoever advances the run to carry an effect out; False if it has its result."""
        ...

    def bind_task(self, run: Run, effect_id: str, task: int) -> None:
        """The task that an effect waits for."""
        ...

    def consume_signal(self, seq: int) -> None:
        """A signal was taken."""
        ...

    def value(self, identifier: str, name: str) -> Any:
        """What hooks of a run remember under a name; None if nothing."""
        ...

    def set_value(self, identifier: str, name: str, value: Any) -> None:
        """What hooks of a run remember under a name."""
        ...


class Sessions(Protocol):
    """Sessions and the output that waits for their agents."""

    def live(self) -> list[str]:
        """The runs of sessions that are not over, the oldest first."""
        ...

    def newest(self, limit: int = 100) -> list[str]:
        """The runs of all sessions, the newest first."""
        ...

    def hold(self, identifier: str, held: HeldOutput) -> None:
        """Keep a hook's output for a session's next prompt; the same one is kept once."""
        ...

    def held(self, identifier: str) -> list[HeldOutput]:
        """What a session's agent has not been told yet, in the order in which it came."""
        ...

    def drain(self, identifier: str) -> list[HeldOutput]:
        """Take all that is held: from now on it stands in a prompt."""
        ...


class Blobs(Protocol):
    """Large values, named by their content."""

    def put(self, data: bytes) -> str:
        """Keep bytes; the name they can be fetched by."""
        ...

    def get(self, name: str) -> bytes:
        """The bytes of that name."""
        ...


class Wakeup(Protocol):
    """Learning that something may have been stored."""

    async def wait(self, timeout: float) -> bool:
        """Return when something may have been stored, or the time is over."""
        ...


class View(Protocol):
    """The store at one moment."""

    @property
    def graph(self) -> Graph:
        """The task graph."""
        ...

    @property
    def log(self) -> EventLog:
        """The event log."""
        ...

    @property
    def calls(self) -> Calls:
        """The record of hook calls."""
        ...

    @property
    def runs(self) -> Runs:
        """Runs of flows and their effects."""
        ...

    @property
    def sessions(self) -> Sessions:
        """Sessions and the output that waits for their agents."""
        ...


class Transaction(View, Protocol):
    """A change in the making: events are appended, and the tables follow them at once."""

    now: str
    metadata: dict[str, Any]
    events: list[Event]
    missed: bool

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
        ...

    def waits_for_task(self, identifier: str) -> bool:
        """Whether a run waits for a task."""
        ...

    def nested(self) -> AbstractContextManager[None]:
        """A part that can fail alone: its events and rows vanish, the rest stays."""
        ...

    def next_task_id(self) -> str:
        """A task id that was never used."""
        ...

    def next_run(self) -> int:
        """A run number that was never used."""
        ...

    def next_token(self) -> int:
        """A token greater than every one before it."""
        ...


class Store(Protocol):
    """Where everything is kept."""

    id: str
    opened: dict[int, str]

    def now(self) -> str:
        """The time, as it stands in the log."""
        ...

    def read(self) -> AbstractContextManager[View]:
        """A view of one moment."""
        ...

    def write(self, metadata: dict[str, Any]) -> AbstractContextManager[Transaction]:
        """A change that is stored whole or not at all."""
        ...
