"""Running a hook again, dry: its answer is shown and compared, never applied."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.events import FIRINGS, Event
from hookline.domain.tasks import CREATED, Task
from hookline.errors import BadInput
from hookline.hooks.calls.settle import point_of, run_builtin
from hookline.hooks.frames import DRY_RUN, Frame, event_payload
from hookline.hooks.rules import RULES
from hookline.points import rule_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from hookline.domain.hooks.records import Outcome
    from hookline.hooks.calls.call import HookCaller
    from hookline.hooks.registry import Hook
    from hookline.hooks.rules import PointRule
    from hookline.ports.store import GraphView, View

    Read = Callable[[], AbstractContextManager[View]]


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


async def replay(caller: HookCaller, read: Read, hook: Hook, event: Event) -> Replayed:
    """Run a hook again on an event as it was recorded, and compare."""
    with read() as view:
        recorded = next((c for c in view.calls.deliveries(event.seq) if c.hook == hook.name), None)
        frozen = view.calls.payload(event.seq)
    if frozen is None and recorded is not None:
        message = f"what hooks saw at event {event.seq} was pruned"
        raise BadInput(message, help=f"`hookline hook test {hook.name}` tries it on another event")
    payload = event_payload(event, frozen)
    outcome = await call_dry(caller, read, hook, event, payload)
    # As it would be recorded, where no actions and no answer are the same.
    answer = msgspec.json.decode(msgspec.json.encode(outcome.answer)) or None
    before = recorded.answer or None if recorded else None
    said = {**msgspec.structs.asdict(outcome), "answer": answer}
    del said["blob"]
    return Replayed(
        event_seq=event.seq,
        recorded_status=recorded.status if recorded else None,
        recorded_answer=before,
        same=recorded is not None and (recorded.status, before) == (outcome.status, answer),
        **said,
    )


async def call_dry(
    caller: HookCaller,
    read: Read,
    hook: Hook,
    event: Event | None,
    payload: dict[str, Any],
    point: str | None = None,
    rule: PointRule | None = None,
    *,
    values: Mapping[str, str] = MappingProxyType({}),
) -> Outcome:
    """Call a hook without recording anything or carrying anything out.

    No view of the store is open while it runs: what is called reads the store itself.
    """
    if hook.handler is not None and hook.kind == "built-in" and event is not None:
        then = _given_task(payload.get("task"))
        with read() as view:
            return run_builtin(hook, event, _FrozenGraph(view.graph, then))
    point = point or (point_of(hook, event) if event else hook.points[0])
    seen = event if event is None or event.type not in FIRINGS else None
    rule = rule or RULES[rule_of(point)]
    frame = Frame(point, rule, payload, DRY_RUN, seen, values=values)
    return await caller.call(hook, frame)


def _given_task(given: Any) -> Task | None:
    """The task of a payload; a person who typed it may leave out what they do not care about."""
    try:
        return typed.convert({"goal": "", "state": CREATED, **given}, Task) if given else None
    except (msgspec.ValidationError, TypeError) as problem:
        raise BadInput(f"the payload's task is not a task: {problem}") from problem


class _FrozenGraph:
    """The graph as it is now, but the event's own task as it was then."""

    def __init__(self, graph: GraphView, task: Task | None) -> None:
        self._graph, self._task = graph, task

    def task(self, identifier: str) -> Task:
        if self._task is not None and identifier == self._task.id:
            return self._task
        return self._graph.task(identifier)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)
