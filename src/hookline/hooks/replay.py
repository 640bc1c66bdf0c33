"""Running a hook again, dry: its answer is shown and compared, never applied."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.events import FIRINGS
from hookline.domain.records import FAILED, OK, Outcome
from hookline.domain.tasks import Edge, Task
from hookline.errors import HooklineError
from hookline.hooks.calls.settle import point_of
from hookline.hooks.frames import DRY_RUN, Frame, event_payload
from hookline.hooks.rules import RULES
from hookline.points import rule_of

if TYPE_CHECKING:
    from hookline.domain.events import Event
    from hookline.domain.records import Delivery
    from hookline.hooks.calls.call import Caller
    from hookline.hooks.registry import Hook
    from hookline.ports.store import GraphView, View


class Replayed(msgspec.Struct, rename="camel"):
    """A call as it was recorded, and as it went just now."""

    hook: str
    event_seq: int
    recorded_status: str | None
    recorded_answer: Any
    status: str
    answer: Any
    same: bool
    error: str | None = None
    exit_code: int | None = None
    duration_us: int = 0
    stdout: str = ""
    stderr: str = ""
    values: dict[str, Any] | None = None


async def replay(caller: Caller, view: View, hook: Hook, event: Event) -> Replayed:
    """Run a hook again on an event as it was recorded, and compare."""
    recorded = next((c for c in view.calls.deliveries(event.seq) if c.hook == hook.name), None)
    payload = event_payload(event, view.calls.payload(event.seq))
    outcome = await call_dry(caller, view.graph, hook, event, payload)
    # As the record would hold it; there no actions and no answer are the same.
    answer = msgspec.json.decode(msgspec.json.encode(outcome.answer)) or None
    before = _recorded_answer(recorded)
    return Replayed(
        hook=hook.name,
        event_seq=event.seq,
        recorded_status=recorded.status if recorded else None,
        recorded_answer=before,
        status=outcome.status,
        answer=answer,
        same=recorded is not None and (recorded.status, before) == (outcome.status, answer),
        error=outcome.error,
        exit_code=outcome.exit_code,
        duration_us=outcome.duration_us,
        stdout=outcome.stdout,
        stderr=outcome.stderr,
        values=outcome.values,
    )


async def call_dry(
    caller: Caller, graph: GraphView, hook: Hook, event: Event | None, payload: dict[str, Any]
) -> Outcome:
    """Call a hook without recording anything or carrying anything out."""
    if hook.handler is not None and hook.kind == "built-in" and event is not None:
        return _call_builtin(hook, event, graph, payload.get("task"))
    point = point_of(hook, event) if event else hook.points[0]
    seen = event if event is None or event.type not in FIRINGS else None
    frame = Frame(point, RULES[rule_of(point)], payload, DRY_RUN, seen)
    return await caller.call(hook, frame)


def _call_builtin(
    hook: Hook, event: Event, graph: GraphView, task: dict[str, Any] | None
) -> Outcome:
    start = perf_counter_ns()
    try:
        actions = tuple(hook.handler(event, _FrozenGraph(graph, task)))
    except HooklineError as problem:
        return Outcome(hook.name, FAILED, None, problem.message)
    return Outcome(hook.name, OK, actions, None, (perf_counter_ns() - start) // 1000)


class _FrozenGraph:
    """The graph as it is now, but the event's own task as it was then."""

    def __init__(self, graph: GraphView, task: dict[str, Any] | None) -> None:
        self._graph = graph
        self._task = msgspec.convert(task, Task) if task else None

    def task(self, identifier: str) -> Task:
        if self._task is not None and identifier == self._task.id:
            return self._task
        return self._graph.task(identifier)

    def find(self, identifier: str) -> Task | None:
        return self._graph.find(identifier)

    def edges_to(self, identifier: str, edge_type: str | None = None) -> list[Edge]:
        return self._graph.edges_to(identifier, edge_type)

    def edges_from(self, identifier: str, edge_type: str | None = None) -> list[Edge]:
        return self._graph.edges_from(identifier, edge_type)

    def unmet(self, identifier: str) -> int:
        return self._graph.unmet(identifier)


def _recorded_answer(recorded: Delivery | None) -> Any:
    return recorded.answer or None if recorded else None
