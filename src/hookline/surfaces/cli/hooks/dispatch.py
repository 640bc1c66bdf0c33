"""`hookline hook dispatch`: fire a point by hand and see the one answer of its hooks, dry."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.events import Event
from hookline.domain.records import OK, Outcome
from hookline.domain.runs import UnknownRun
from hookline.errors import BadInput, ConfigError, Untrusted
from hookline.flows.builtin_steering import NATIVE, RunIteration, run_folder
from hookline.hooks.builtin import notifies
from hookline.hooks.dispatch import dispatch
from hookline.hooks.frames import Frame
from hookline.hooks.history.replay import call_dry
from hookline.hooks.rules import RULES, failed
from hookline.points import POINTS, REACT, STEER, rule_of
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import note, paint, say_json, untrusted
from hookline.surfaces.cli.values import parse_object, read_text
from hookline.trust.people import refuse_agents
from hookline.wiring.calls import caller

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.hooks.registry import Hook
    from hookline.ports.store import View


def _arguments(p: ArgumentParser) -> None:
    p.add_argument("point", help="the point; its payload is JSON on stdin")


def _dispatch(args: Namespace) -> None:
    payload = parse_object(read_text("-"), "the payload on stdin")
    with reading() as app:
        hooks = _hooks(app, args.point)
        with app.read() as view:
            answer = asyncio.run(_fire(app, view, args, hooks, payload))
    say_json(answer)


def _hooks(app: App, point: str) -> list[Hook]:
    with app.read() as view:
        switches = view.switches.all()
    subscribers = app.registry.subscribers(point)
    found = runnable(app, *(h for h in subscribers if switches.get(h.name, h.enabled)))
    if point not in POINTS and not any(point in hook.points for hook in app.registry.list()):
        help = "`hookline points` lists every hook point"
        raise BadInput(f"there is no point '{point}'", help=help)
    return found


def runnable(app: App, *hooks: Hook) -> list[Hook]:
    """Hooks that are about to run; refused where they may not, or the configuration is broken."""
    if app.settings is not None and app.settings.has_errors:
        raise ConfigError
    if any(map(notifies, hooks)):
        refuse_agents(app.environ, "hook test|replay|dispatch")
    for hook in hooks:
        if hook.name in app.suspended:
            raise Untrusted(f"{untrusted(hook.name)} cannot run: {app.suspended[hook.name]}")
    return list(hooks)


async def _fire(
    app: App, view: View, args: Namespace, hooks: list[Hook], payload: dict[str, Any]
) -> Any:
    point = args.point
    rule = RULES[rule_of(point)]
    event = None
    if rule.name == REACT:
        node = str(payload.get("runId", "system"))
        event = typed_event(
            {"type": point, "nodeId": node}, payload.get("event", {"data": payload})
        )
        payload = {"task": None, **payload, "event": msgspec.to_builtins(event)}
    calls = caller(app)
    run = None
    with suppress(UnknownRun):  # a payload may name one, or not
        run = view.runs.find(str(payload.get("runId", "")))
    values = {}
    if rule.name == STEER and run is not None:  # what steering hooks find besides the payload
        values = {"flow": run.flow, "run_dir": run_folder(app.project.runs, run)}

    async def call(hook: Hook, given: dict[str, Any]) -> Outcome:
        native = NATIVE.get(hook.target) if hook.kind == "built-in" else None
        if native is not None:
            pending = view.runs.pending(run) if run is not None else []
            iteration = RunIteration(pending, frozenset(), str(given.get("status", "waiting")))
            outcome = Outcome(hook.name, OK, native(given, iteration))
        elif hook.kind == "built-in":
            outcome = await call_dry(calls, view.graph, hook, event, given)
        else:
            frame = Frame(point, rule, given, "dry-run", event, values=values)
            outcome = await calls.call(hook, frame)
        if failed(outcome) or not args.json:
            _tell(outcome)
        return outcome

    return await dispatch(rule, hooks, payload, call)


def typed_event(defaults: dict[str, str], given: dict[str, Any]) -> Event:
    """The event of a payload that a person typed, who may leave out what they do not care about."""
    dry = {"seq": 0, "id": "dry-run", "timestamp": "1970-01-01T00:00:00.000Z"}
    try:
        return msgspec.convert({**dry, "data": {}, "metadata": {}, **defaults, **given}, Event)
    except (msgspec.ValidationError, TypeError) as problem:
        raise BadInput(f"the payload's event is not an event: {problem}") from problem


def _tell(outcome: Outcome) -> None:
    """What each hook said, for the person: the answer alone goes to stdout."""
    bad = failed(outcome)
    mark = paint("✗", "red", sys.stderr) if bad else paint("✓", "green", sys.stderr)
    told = outcome.error or msgspec.json.encode(outcome.answer).decode()
    note(f"{mark} {untrusted(outcome.hook)}  {outcome.status}  {untrusted(told, 200)}")
    for line in outcome.stderr.splitlines()[-20:]:
        note(f"  {paint('│', 'dim', sys.stderr)} {untrusted(line, 160)}")


DISPATCH_COMMANDS = {
    "dispatch": Command("dry-run a point with a payload from stdin", _arguments, _dispatch)
}
