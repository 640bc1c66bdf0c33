"""`hookline hook`: look at hooks, switch them, test and replay them."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.records import OK, SKIPPED
from hookline.errors import FAILED, BadInput, ConfigError, UnknownEvent, Untrusted
from hookline.hooks.calls.settle import point_of
from hookline.hooks.frames import event_payload, event_types
from hookline.hooks.replay import Replayed, call_dry, replay
from hookline.points import rule_of
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.hook_dispatch import DISPATCH_COMMANDS
from hookline.surfaces.cli.hook_record import RECORD_COMMANDS
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import (
    next_step,
    paint,
    printable,
    say,
    say_json,
    say_row,
    untrusted,
)
from hookline.surfaces.cli.values import parse_json
from hookline.trust import refuse_agents
from hookline.wiring.calls import caller

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.adapters.store.sqlite import View
    from hookline.app import App
    from hookline.domain.events import Event
    from hookline.domain.records import Outcome
    from hookline.hooks.registry import Hook


ABOUT = ("author", "version", "tags")


def describe(hook: Hook, switches: dict[str, bool], owner: str | None = None) -> dict[str, Any]:
    """A hook as `hook list --json` shows it; `owner` is the agent or type that it is for."""
    return {
        "name": hook.name,
        "points": list(hook.points),
        "rule": rule_of(hook.points[0]),
        "kind": hook.kind,
        "priority": hook.priority,
        "enabled": switches.get(hook.name, hook.enabled),
        "layer": hook.layer,
        "origin": hook.origin,
        "for": owner,
        "metadata": {name: hook.metadata[name] for name in ABOUT if name in hook.metadata},
    }


def _list_arguments(p: ArgumentParser) -> None:
    p.add_argument("--point", metavar="P", help="only hooks of this point")


def _list(args: Namespace) -> None:
    with reading() as app:
        with app.read() as view:
            switches = view.calls.switches()
        rows = [
            describe(hook, switches, owner)
            for owner, hook in _all(app)
            if not args.point or args.point in hook.points
        ]
        if args.json:
            say_json(rows)
            return
        width = max((len(untrusted(row["name"])) for row in rows), default=0)
        for row in rows:
            say_row(_list_line(row, width, app.suspended.get(row["name"])), width + 4)
    next_step("hookline hook show NAME")


def _all(app: App) -> list[tuple[str | None, Hook]]:
    """Every hook, with the agent or type of tasks that it is for."""
    return [*((None, hook) for hook in app.registry.list()), *app.standing.owned()]


def _list_line(row: dict[str, Any], width: int, held_back: str | None) -> str:
    mark = paint("●", "green") if row["enabled"] else paint("○", "dim")
    if held_back:
        mark = paint("✗", "yellow")
    state = "" if row["enabled"] else "  off"
    owner = f"  for {untrusted(row['for'])}" if row["for"] else ""
    return (
        f"{mark} {untrusted(row['name']):{width}}  {row['priority']:>4}  {row['kind']:8} "
        f"{row['rule']:6} {paint(untrusted(', '.join(row['points']), 60), 'cyan')}"
        f"{paint('  ' + untrusted(row['origin']) + owner + state, 'dim')}"
        + (paint(f"  {held_back}", "yellow") if held_back else "")
    )


def _name(p: ArgumentParser) -> None:
    p.add_argument("name", help="the hook's name")


def _show(args: Namespace) -> None:
    with reading() as app:
        hook = app.standing.get(args.name)
        owners = [owner for owner, each in app.standing.owned() if each.name == hook.name]
        with app.read() as view:
            row = describe(hook, view.calls.switches(), ", ".join(owners) or None)
            calls = view.calls.calls_of(hook.name, 10)
        row |= {
            "target": hook.target,
            "when": hook.when,
            "timeout": hook.timeout,
            "pipeOutput": hook.pipe_output,
            "onFailure": hook.on_failure,
            "description": hook.description,
            "suspended": app.suspended.get(hook.name),
            "calls": calls,
        }
    if args.json:
        say_json(row)
        return
    for name, value in (row | row["metadata"]).items():
        hidden = ("calls", "enabled", "onFailure", "metadata")
        if name not in hidden and value not in (None, "", False):
            shown = ", ".join(value) if isinstance(value, list) else str(value)
            say(f"{paint(f'{name:12}', 'dim')} {untrusted(shown)}")
    for call in calls:
        took = f"{(call.duration_us or 0) / 1000:.1f} ms"
        error = untrusted(call.error or "", 80)
        say(f"  event {call.event_seq:>6}  {call.status:8} {took:>10}  {error}")
    next_step(f"hookline why {hook.name}")


def _switch(args: Namespace, enabled: bool) -> None:
    refuse_agents(os.environ, "hook enable|disable")
    with writing() as app:
        app.standing.get(args.name)
        app.change(lambda tx: tx.calls.set_switch(args.name, enabled))
        if enabled:
            app.change(lambda tx: None)  # a switch counts from the next change on
        if args.json:
            say_json({"name": args.name, "enabled": enabled})
        else:
            say(f"{untrusted(args.name)} is {'on' if enabled else 'off'}")


def _enable(args: Namespace) -> None:
    _switch(args, True)


def _disable(args: Namespace) -> None:
    _switch(args, False)


# Running hooks dry


def _test_arguments(p: ArgumentParser) -> None:
    _name(p)
    p.add_argument("--event", type=int, metavar="N", help="on this event of the log")
    p.add_argument("--payload", metavar="JSON", help="on this payload; @FILE reads a file")


def _test(args: Namespace) -> int:
    with reading() as app:
        hook = _runnable(app, args.name)
        with app.read() as view:
            event, payload = _subject(args, view, hook)
            graph = view.graph
            outcome = asyncio.run(call_dry(caller(app), graph, hook, event, payload))
    result = _outcome_json(outcome)
    if args.json:
        say_json(result)
    else:
        _print_result(hook.name, result)
        say(paint("This was a test: the hook ran, its answer was not recorded or used.", "dim"))
    return 0 if outcome.status in (OK, SKIPPED) else FAILED


def _subject(args: Namespace, view: View, hook: Hook) -> tuple[Event | None, dict[str, Any]]:
    if args.payload:
        payload = parse_json(_payload_text(args.payload), "--payload")
        if not isinstance(payload, dict):
            raise BadInput("--payload must be a JSON object")
        return _event_in(payload, hook), payload
    seq = args.event if args.event is not None else _newest(view, hook)
    event = _event(view, hook, seq)
    return event, event_payload(event, view.calls.payload(seq) or _task_now(view, event))


def _event(view: View, hook: Hook, seq: int) -> Event:
    event = view.log.find(seq)
    if event is None:
        raise UnknownEvent(f"there is no event {seq}; the log ends at {view.log.last()}")
    if point_of(hook, event) not in hook.points:
        raise BadInput(
            f"event {seq} is {event.type}; {untrusted(hook.name)} is called at"
            f" {', '.join(hook.points)}",
            help=f"`hookline events --type {event_types(hook.points)[-1]}` shows such events",
        )
    return event


def _newest(view: View, hook: Hook) -> int:
    for event in reversed(view.log.events(types=event_types(hook.points))):
        if point_of(hook, event) in hook.points:
            return event.seq
    raise BadInput(
        f"no event of {', '.join(hook.points)} happened yet",
        help="give one with --payload '{...}', or --event N",
    )


def _event_in(payload: dict[str, Any], hook: Hook) -> Event | None:
    from hookline.domain.events import Event  # only a payload of the user's own needs it

    if rule_of(hook.points[0]) != "react":
        return None
    given = payload.get("event", {})
    defaults = {
        "seq": 0,
        "id": "test",
        "timestamp": "1970-01-01T00:00:00.000Z",
        "type": hook.points[0],
        "nodeId": "system",
        "data": {},
        "metadata": {},
    }
    try:
        event = msgspec.convert({**defaults, **given}, Event)
    except (msgspec.ValidationError, TypeError) as problem:
        raise BadInput(f"the payload's event is not an event: {problem}") from problem
    payload["event"] = msgspec.to_builtins(event)
    payload.setdefault("task", None)
    return event


def _task_now(view: View, event: Event) -> dict[str, Any]:
    task = view.graph.find(event.node_id) if event.node_id.startswith("T-") else None
    return {"task": msgspec.to_builtins(task) if task else None}


def _payload_text(given: str) -> str:
    if not given.startswith("@"):
        return given
    try:
        with open(given[1:], encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as problem:
        raise BadInput(f"cannot read {given[1:]}: {problem}") from problem


def _replay_arguments(p: ArgumentParser) -> None:
    _name(p)
    p.add_argument("--event", type=int, required=True, metavar="N", help="the recorded event")


def _replay(args: Namespace) -> int:
    with reading() as app:
        hook = _runnable(app, args.name)
        with app.read() as view:
            event = _event(view, hook, args.event)
            result = asyncio.run(replay(caller(app), view, hook, event))
    if args.json:
        say_json(result)
    else:
        _print_replay(result)
    return 0 if result.same else FAILED


def _print_replay(result: Replayed) -> None:
    say(f"{untrusted(result.hook)} at event {result.event_seq}")
    say(f"  recorded  {result.recorded_status or 'never called'}  {_json(result.recorded_answer)}")
    say(f"  now       {result.status}  {_json(result.answer)}")
    if result.error:
        say(f"  error     {untrusted(result.error)}")
    for name, value in (result.values or {}).items():
        say(f"  {untrusted(name)}: {untrusted(_json(value), 120)}")
    verdict = paint("same as recorded", "green") if result.same else paint("differs", "yellow")
    ran = "the hook ran, its answer was not used"
    say(f"  {verdict}; {'the hook did not run' if result.status == SKIPPED else ran}")


def _runnable(app: App, name: str) -> Hook:
    hook = app.standing.get(name)
    if app.settings is not None and app.settings.has_errors:
        raise ConfigError
    if name in app.suspended:
        raise Untrusted(f"{untrusted(name)} cannot run: {app.suspended[name]}")
    return hook


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(outcome)
    return {
        ("durationUs" if k == "duration_us" else "exitCode" if k == "exit_code" else k): v
        for k, v in found.items()
    }


def _print_result(name: str, result: dict[str, Any]) -> None:
    style = {"ok": "green", "skipped": "yellow"}.get(result["status"], "red")
    exit_code = f", exit {result['exitCode']}" if result["exitCode"] is not None else ""
    took = f"{result['durationUs'] / 1000:.1f} ms"
    say(f"{untrusted(name)}: {paint(result['status'], style)} in {took}{exit_code}")
    for label in ("error", "answer", "values"):
        if result[label] not in (None, [], {}):
            text = result[label] if isinstance(result[label], str) else _json(result[label])
            say(f"  {label:7} {untrusted(text, 400)}")
    for stream in ("stdout", "stderr"):
        for line in result[stream].splitlines()[-20:]:
            say(f"  {paint('│', 'dim')} {printable(line, 160)}")


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode() if value is not None else "no answer"


HOOK_COMMANDS = {
    "list": Command("every hook in order", _list_arguments, _list),
    "show": Command("everything about one hook, and its last calls", _name, _show),
    "enable": Command("switch a hook on", _name, _enable),
    "disable": Command("switch a hook off", _name, _disable),
    "test": Command("run a hook dry, on an event or a payload", _test_arguments, _test),
    "replay": Command("run a hook again on a recorded event", _replay_arguments, _replay),
    **DISPATCH_COMMANDS,
    **RECORD_COMMANDS,
}
