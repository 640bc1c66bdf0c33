"""`hookline hook dispatch`: fire a point by hand and see the one answer of its hooks, dry."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.events import Event
from hookline.domain.records import OK, Outcome
from hookline.domain.runs import UnknownRun
from hookline.errors import BadInput, ConfigError, Untrusted
from hookline.flows.native import NATIVE, Tick
from hookline.flows.run_folder import run_folder
from hookline.hooks.dispatch import dispatch
from hookline.hooks.frames import Frame
from hookline.hooks.replay import call_dry
from hookline.hooks.rules import RULES, failed
from hookline.points import POINTS, REACT, STEER, rule_of
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import note, paint, say_json, untrusted
from hookline.surfaces.cli.values import parse_json, read_text
from hookline.wiring.calls import caller

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.adapters.store.sqlite import View
    from hookline.app import App
    from hookline.domain.runs import Run
    from hookline.hooks.registry import Hook


def _arguments(p: ArgumentParser) -> None:
    p.add_argument("point", help="the point; its payload is JSON on stdin")


def _dispatch(args: Namespace) -> None:
    payload = parse_json(read_text("-"), "the payload on stdin")
    if not isinstance(payload, dict):
        raise BadInput("the payload on stdin must be a JSON object")
    with reading() as app:
        hooks = _hooks(app, args.point)
        with app.read() as view:
            answer = asyncio.run(_fire(app, view, args, hooks, payload))
    say_json(answer)


def _hooks(app: App, point: str) -> list[Hook]:
    if app.settings is not None and app.settings.has_errors:
        raise ConfigError
    if point not in POINTS and not any(point in hook.points for hook in app.registry.list()):
        raise BadInput(
            f"there is no point '{point}'", help="`hookline points` lists every hook point"
        )
    with app.read() as view:
        switches = view.calls.switches()
    found = [h for h in app.registry.subscribers(point) if switches.get(h.name, h.enabled)]
    for hook in found:
        if hook.name in app.suspended:
            raise Untrusted(f"{untrusted(hook.name)} cannot run: {app.suspended[hook.name]}")
    return found


async def _fire(
    app: App, view: View, args: Namespace, hooks: list[Hook], payload: dict[str, Any]
) -> Any:
    point = args.point
    rule = RULES[rule_of(point)]
    event = _event(point, payload) if rule.name == REACT else None
    if event is not None:
        payload = {"task": None, **payload, "event": msgspec.to_builtins(event)}
    calls = caller(app)
    values = _run_values(app, view, payload) if rule.name == STEER else {}

    async def call(hook: Hook, given: dict[str, Any]) -> Outcome:
        native = NATIVE.get(hook.target) if hook.kind == "built-in" else None
        if native is not None:
            run = _run_in(view, given)
            outcome = Outcome(hook.name, OK, native(given, _tick(view, run, given)))
        elif hook.kind == "built-in":
            outcome = await call_dry(calls, view.graph, hook, event, given)
        else:
            frame = Frame(point, rule, given, "dry-run", event, values=values)
            outcome = await calls.call(hook, frame)
        if not args.json:
            _tell(outcome)
        return outcome

    return await dispatch(rule, hooks, payload, call)


def _run_in(view: View, payload: dict[str, Any]) -> Run | None:
    """The run that a payload names, if there is one."""
    try:
        return view.runs.find(str(payload.get("runId", "")))
    except UnknownRun:
        return None


def _run_values(app: App, view: View, payload: dict[str, Any]) -> dict[str, str]:
    """What hooks of a tick find besides the payload."""
    run = _run_in(view, payload)
    if run is None:
        return {}
    return {"flow": run.flow, "run_dir": run_folder(app.project.runs, run)}


def _tick(view: View, run: Run | None, payload: dict[str, Any]) -> Tick:
    pending = view.runs.pending(run) if run is not None else []
    return Tick(pending, frozenset(), str(payload.get("status", "waiting")))


def _event(point: str, payload: dict[str, Any]) -> Event:
    given = payload.get("event", {"data": payload})
    defaults = {
        "seq": 0,
        "id": "dry-run",
        "timestamp": "1970-01-01T00:00:00.000Z",
        "type": point,
        "nodeId": str(payload.get("runId", "system")),
        "data": {},
        "metadata": {},
    }
    try:
        return msgspec.convert({**defaults, **given}, Event)
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
    "dispatch": Command("fire a point on a payload from stdin, dry", _arguments, _dispatch)
}
