"""Running hooks dry: they are called, but their answers are neither recorded nor carried out."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline import typed
from hookline.domain.events import Event
from hookline.domain.hooks.names import shown_hook
from hookline.domain.runs.model import UnknownRun
from hookline.domain.timestamps import iso
from hookline.errors import BadInput, ConfigError, Untrusted
from hookline.flows.builtin_steering import RunIteration, native_outcome, steering_values
from hookline.flows.steering import STEER_RULES, rule_at
from hookline.hooks.builtin import notifies
from hookline.hooks.builtin.notify.content import sample_for
from hookline.hooks.calls.settle import point_of
from hookline.hooks.dispatch import dispatch
from hookline.hooks.frames import event_payload, event_types
from hookline.hooks.history.replay import Replayed, call_dry, replay
from hookline.points import POINTS, REACT, rule_of
from hookline.trust.people import refuse_agents
from hookline.wiring.calling.calls import caller

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.app import App
    from hookline.domain.hooks.records import Outcome
    from hookline.domain.runs.model import Run
    from hookline.hooks.registry import Hook
    from hookline.ports.store import View


async def fire(
    app: App, point: str, payload: dict[str, Any], heard: Callable[[Outcome], None]
) -> Any:
    """Fire a point: the one answer of its hooks. `heard` is told what each of them said."""
    hooks = _hooks_at(app, point)
    rule = rule_at(point)
    event = None
    if rule.name == REACT:
        defaults = {"type": point, "nodeId": str(payload.get("runId", "system"))}
        event = _typed_event(defaults, payload.get("event", {"data": payload}))
        payload = {"task": None, **payload, "event": msgspec.to_builtins(event)}
    calls = caller(app)
    with app.read() as view:
        run = _named_run(view, payload) if point in STEER_RULES else None
        values = steering_values(run, app.project.runs) if run is not None else {}
        pending = view.runs.pending(run) if run is not None else []

    async def call(hook: Hook, given: dict[str, Any]) -> Outcome:
        status = str(given.get("status", "waiting"))
        iteration = RunIteration(pending, frozenset(), status, app.store.time())
        outcome = native_outcome(hook, given, iteration)
        if outcome is None:
            frame = (hook, event, given, point, rule)
            outcome = await call_dry(calls, app.read, *frame, values=values)
        heard(outcome)
        return outcome

    return await dispatch(rule, hooks, payload, call)


async def try_hook(
    app: App, name: str, *, seq: int | None = None, payload: dict[str, Any] | None = None
) -> Outcome:
    """Call a hook on a payload, on an event, or on the newest event that concerns it."""
    (hook,) = _runnable(app, app.scopes.meant(name))
    with app.read() as view:
        subject = _given(hook, payload) if payload is not None else _recorded(view, hook, seq)
    return await call_dry(caller(app), app.read, hook, *subject)


async def repeat(app: App, name: str, seq: int) -> Replayed:
    """Call a hook again on an event as it was recorded, and compare."""
    (hook,) = _runnable(app, app.scopes.meant(name))
    with app.read() as view:
        event = _event(view, hook, seq)
    return await replay(caller(app), app.read, hook, event)


# Which hooks


def _hooks_at(app: App, point: str) -> list[Hook]:
    with app.read() as view:
        switches = view.switches.all()
    subscribers = app.registry.subscribers(point)
    found = _runnable(app, *(h for h in subscribers if switches.get(h.name, h.enabled)))
    if point not in POINTS and not any(point in hook.points for hook in app.registry.list()):
        help = "`hookline points` lists every hook point"
        raise BadInput(f"there is no point '{point}'", help=help)
    return found


def _runnable(app: App, *hooks: Hook) -> list[Hook]:
    """Hooks that are about to run; refused where they may not, or the configuration is broken."""
    if app.settings is not None and app.settings.has_errors:
        raise ConfigError
    if any(map(notifies, hooks)):
        refuse_agents(app.environ, "hook test|replay|dispatch")
    for hook in hooks:
        if hook.name in app.suspended:
            raise Untrusted(f"{shown_hook(hook.name)} cannot run: {app.suspended[hook.name]}")
    return list(hooks)


def _named_run(view: View, payload: dict[str, Any]) -> Run | None:
    with suppress(UnknownRun):  # a payload may name one, or not
        return view.runs.find(str(payload.get("runId", "")))
    return None


# What a hook is called on


class _Subject(NamedTuple):
    """What a hook is shown: an event, if it reacts to them, and the payload."""

    event: Event | None
    payload: dict[str, Any]


def _given(hook: Hook, payload: dict[str, Any]) -> _Subject:
    if rule_of(hook.points[0]) != REACT:
        return _Subject(None, payload)
    defaults = {"id": "test", "type": hook.points[0], "nodeId": "system"}
    event = _typed_event(defaults, payload.get("event", {}))
    return _Subject(event, {"task": None, **payload, "event": msgspec.to_builtins(event)})


def _recorded(view: View, hook: Hook, seq: int | None) -> _Subject:
    if seq is None and notifies(hook):
        sample = sample_for(hook, iso(time.time()))
        return _Subject(sample, event_payload(sample, None))
    event = _event(view, hook, seq) if seq is not None else _newest(view, hook)
    task = view.graph.find(event.node_id) if event.node_id.startswith("T-") else None
    now = {"task": msgspec.to_builtins(task) if task else None}
    return _Subject(event, event_payload(event, view.calls.payload(event.seq) or now))


def _event(view: View, hook: Hook, seq: int) -> Event:
    event = view.log.at(seq)
    if point_of(hook, event) not in hook.points:
        raise BadInput(
            f"event {seq} is {event.type}; {shown_hook(hook.name)} is called at"
            f" {', '.join(hook.points)}",
            help=f"`hookline events --type {event_types(hook.points)[-1]}` shows such events",
        )
    return event


def _newest(view: View, hook: Hook) -> Event:
    for event in reversed(view.log.events(types=event_types(hook.points))):
        if point_of(hook, event) in hook.points:
            return event
    help = "pass --payload '{...}' or --event N"
    raise BadInput(f"there is no event of {', '.join(hook.points)} yet", help=help)


def _typed_event(defaults: dict[str, str], given: dict[str, Any]) -> Event:
    """The event of a payload that a person typed, who may leave out what they do not care about."""
    dry = {"seq": 0, "id": "dry-run", "timestamp": "1970-01-01T00:00:00.000Z"}
    try:
        return typed.convert({**dry, "data": {}, "metadata": {}, **defaults, **given}, Event)
    except (msgspec.ValidationError, TypeError) as problem:
        raise BadInput(f"the payload's event is not an event: {problem}") from problem
