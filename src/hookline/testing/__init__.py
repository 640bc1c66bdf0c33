"""Fakes for those who test their own hooks: a task graph made of dicts, a log, a clock, events.

Nothing here reads or writes a file, and none of it is used by Hookline itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hookline import typed
from hookline.domain.events import SYSTEM_NODE, Event, event_id
from hookline.domain.tasks import CREATED, DEPENDS_ON, SETTLED, SPAWNED_BY, Edge, Task
from hookline.domain.timestamps import iso, seconds
from hookline.errors import BadInput, UnknownTask
from hookline.hooks.registry import HookContext

START = "2026-01-17T12:00:00.000Z"
STORE_ID = "test"


class Clock:
    """A clock that does not move until it is told to; call it for the seconds since 1970."""

    def __init__(self, start: str = START) -> None:
        self._seconds = seconds(start)

    def __call__(self) -> float:
        return self._seconds

    @property
    def now(self) -> str:
        return iso(self._seconds)

    def advance(self, by: float) -> str:
        """Move the clock by some seconds; return the new time."""
        self._seconds = round(self._seconds + by, 3)
        return self.now


class FakeGraph:
    """A task graph to read, made of each task's fields by their names on the wire.

    `FakeGraph({"T-2": {"goal": "Test", "dependsOn": ["T-1"]}, "T-1": {"state": "completed"}})`:
    edges come from `dependsOn` and `parentTaskId`; a goal or state that is left out is made up.
    """

    def __init__(self, tasks: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._tasks = {name: _task(name, fields) for name, fields in (tasks or {}).items()}

    def task(self, identifier: str) -> Task:
        found = self.find(identifier)
        if found is None:
            raise UnknownTask(f"there is no task {identifier}")
        return found

    def find(self, identifier: str) -> Task | None:
        return self._tasks.get(identifier)

    def edges_to(self, identifier: str, edge_type: str | None = None) -> list[Edge]:
        return [edge for edge in self._edges(edge_type) if edge.to_id == identifier]

    def edges_from(self, identifier: str, edge_type: str | None = None) -> list[Edge]:
        return [edge for edge in self._edges(edge_type) if edge.from_id == identifier]

    def unmet(self, identifier: str) -> int:
        targets = (self.task(target) for target in self.task(identifier).depends_on)
        return sum(target.state not in SETTLED for target in targets)

    def _edges(self, edge_type: str | None) -> Iterable[Edge]:
        for task in self._tasks.values():
            if edge_type in (None, DEPENDS_ON):
                yield from (Edge(task.id, target) for target in task.depends_on)
            # A parent that is gone has no edge, though its child still names it.
            if edge_type in (None, SPAWNED_BY) and task.parent_task_id in self._tasks:
                yield Edge(task.id, task.parent_task_id, SPAWNED_BY)


class FakeLog:
    """An event log to read, made of events in their order."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events = sorted(events, key=lambda each: each.seq)

    def find(self, seq: int) -> Event | None:
        return next((each for each in self._events if each.seq == seq), None)

    def events(
        self,
        *,
        after: int = 0,
        types: Sequence[str] = (),
        node_id: str | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        found = [
            each
            for each in self._events
            if each.seq > after
            and (not types or each.type in types)
            and (node_id is None or each.node_id == node_id)
        ]
        return found[:limit]


class FakeFlows:
    """Starts no flow, and remembers which ones a hook asked for."""

    def __init__(self) -> None:
        self.started: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, workflow: str, context: dict[str, Any]) -> str:
        """Remember a flow; the id that its run would have."""
        self.started.append((workflow, context))
        return f"R-{len(self.started)}"


def event(
    event_type: str,
    node_id: str = SYSTEM_NODE,
    data: dict[str, Any] | None = None,
    *,
    seq: int = 1,
    timestamp: str = START,
    metadata: dict[str, Any] | None = None,
) -> Event:
    """An event as hooks receive it."""
    return Event(
        seq, event_id(STORE_ID, seq), timestamp, event_type, node_id, data or {}, metadata or {}
    )


def context(
    tasks: Mapping[str, Mapping[str, Any]] | None = None,
    events: Iterable[Event] = (),
    flows: FakeFlows | None = None,
) -> HookContext:
    """What a hook may look at, made of fakes.

    done = event("task_completed", "T-1", {"result": "fine"})
    actions = my_hook(done, context({"T-1": {"goal": "Ship it", "labels": ["agent"]}}))
    """
    return HookContext(FakeGraph(tasks), FakeLog(events), flows or FakeFlows())


def _task(identifier: str, fields: Mapping[str, Any]) -> Task:
    unknown = sorted(set(fields) - set(Task.__struct_encode_fields__))
    if unknown:
        raise BadInput(
            f"{identifier}: a task has no {', '.join(unknown)}",
            help=f"its fields are {', '.join(Task.__struct_encode_fields__)}",
        )
    return typed.convert({"goal": identifier, "state": CREATED, **fields, "id": identifier}, Task)
