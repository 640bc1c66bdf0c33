"""`hookline hook`: look at hooks, switch them, test and replay them."""

from __future__ import annotations

import asyncio
import os
import shlex
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.hooks.names import plain_names, shown_hook
from hookline.domain.hooks.records import OK, SKIPPED
from hookline.domain.text.display import printable
from hookline.domain.text.terminal import padded, width
from hookline.errors import FAILED, BadInput
from hookline.operations import dry_runs
from hookline.points import rule_of
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.hooks.dispatch import DISPATCH_COMMANDS
from hookline.surfaces.cli.hooks.record import RECORD_COMMANDS
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import answer, next_step, paint, say, say_row, untrusted
from hookline.surfaces.cli.values import parse_object
from hookline.trust.people import refuse_agents

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.domain.hooks.records import Outcome
    from hookline.hooks.history.replay import Replayed
    from hookline.hooks.registry import Hook


ABOUT = ("author", "version", "tags")


def describe(hook: Hook, switches: dict[str, bool], owner: str | None = None) -> dict[str, Any]:
    """A hook as `hook list --json` shows it; `owner` is the agent or type that it is for."""
    return {
        "name": hook.name,
        "points": list(hook.points),
        "rule": rule_of(hook.points[0]),
        **{name: getattr(hook, name) for name in ("kind", "priority", "layer", "origin")},
        "enabled": switches.get(hook.name, hook.enabled),
        "for": owner,
        "metadata": {name: hook.metadata[name] for name in ABOUT if name in hook.metadata},
    }


def _list_arguments(p: ArgumentParser) -> None:
    p.add_argument("--point", metavar="P", help="only hooks at this point")


def _list(args: Namespace) -> None:
    with reading() as app:
        with app.read() as view:
            switches = view.switches.all()
        common: list[tuple[str | None, Hook]] = [(None, hook) for hook in app.registry.list()]
        rows = [
            describe(hook, switches, owner)
            for owner, hook in (*common, *app.scopes.owned())
            if not args.point or args.point in hook.points
        ]
        if not answer(args, rows):
            return
        names = plain_names(row["name"] for row in rows)
        widest = max(map(width, names.values()), default=0)
        for row in rows:
            name = padded(names[row["name"]], widest)
            say_row(_list_line(row, name, app.suspended.get(row["name"])), widest + 4)
    next_step("hookline hook show NAME")


def _list_line(row: dict[str, Any], name: str, held_back: str | None) -> str:
    mark = paint("●", "green") if row["enabled"] else paint("○", "dim")
    if held_back:
        mark = paint("✗", "yellow")
    state = "" if row["enabled"] else "  off"
    owner = f"  for {untrusted(row['for'])}" if row["for"] else ""
    return (
        f"{mark} {name}  {row['priority']:>4}  {row['kind']:8} "
        f"{row['rule']:6} {paint(untrusted(', '.join(row['points']), 60), 'cyan')}"
        f"{paint('  ' + untrusted(row['origin']) + owner + state, 'dim')}"
        + (paint(f"  {held_back}", "yellow") if held_back else "")
    )


def _name(p: ArgumentParser) -> None:
    p.add_argument("name", help="the hook's name")


def _show(args: Namespace) -> None:
    with reading() as app:
        hook = app.scopes.meant(args.name)
        owners = [owner for owner, each in app.scopes.owned() if each.name == hook.name]
        with app.read() as view:
            row = describe(hook, view.switches.all(), ", ".join(owners) or None)
            calls = view.calls.calls_of(hook.name, 10)
        row |= {name: getattr(hook, name) for name in ("target", "when", "timeout")}
        row |= {"pipeOutput": hook.pipe_output, "onFailure": hook.on_failure}
        row |= {"description": hook.description, "suspended": app.suspended.get(hook.name)}
    if not answer(args, row | {"calls": calls}):
        return
    for name, value in (row | row["metadata"]).items():
        hidden = ("enabled", "onFailure", "metadata")
        if name not in hidden and value not in (None, "", False):
            shown = ", ".join(value) if isinstance(value, list) else str(value)
            say(f"{paint(f'{name:12}', 'dim')} {untrusted(shown)}")
    for call in calls:
        took, error = f"{(call.duration_us or 0) / 1000:.1f} ms", untrusted(call.error or "", 80)
        say(f"  event {call.event_seq:>6}  {call.status:8} {took:>10}  {error}")
    next_step(f"hookline why {untrusted(shlex.quote(hook.name))}")


def _switch(enabled: bool, args: Namespace) -> None:
    refuse_agents(os.environ, "hook enable|disable")
    with writing() as app:
        name = app.scopes.meant(args.name).name
        app.change(lambda tx: tx.switches.set(name, enabled))
        if enabled:
            app.change(lambda tx: None)  # a switch counts from the next change on
        told = f"{shown_hook(name)} is {'on' if enabled else 'off'}"
        answer(args, {"name": name, "enabled": enabled}, told)


# Running hooks dry


def _test_arguments(p: ArgumentParser) -> None:
    _name(p)
    p.add_argument("--event", type=int, metavar="N", help="use this event from the log")
    p.add_argument("--payload", metavar="JSON", help="use this payload; @FILE reads a file")


def _test(args: Namespace) -> int:
    payload = None
    if args.payload:
        payload = parse_object(_payload_text(args.payload), "--payload")
    with reading() as app:
        outcome = asyncio.run(dry_runs.try_hook(app, args.name, seq=args.event, payload=payload))
    shown = msgspec.to_builtins(outcome)
    shown |= {"durationUs": shown.pop("duration_us"), "exitCode": shown.pop("exit_code")}
    if answer(args, shown):
        _print_outcome(outcome)
        say(
            paint(
                "This was a test: the hook ran for real; its answer was neither recorded nor used.",
                "dim",
            )
        )
    return 0 if outcome.status in (OK, SKIPPED) else FAILED


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
        result = asyncio.run(dry_runs.repeat(app, args.name, args.event))
    if answer(args, result):
        _print_replay(result)
    return 0 if result.same else FAILED


def _print_replay(result: Replayed) -> None:
    say(f"{shown_hook(result.hook)} at event {result.event_seq}")
    say(f"  recorded  {result.recorded_status or 'never called'}  {_json(result.recorded_answer)}")
    say(f"  now       {result.status}  {_json(result.answer)}")
    if result.error:
        say(f"  error     {untrusted(result.error)}")
    for name, value in (result.values or {}).items():
        say(f"  {untrusted(name)}: {untrusted(_json(value), 120)}")
    verdict = paint("the same as recorded", "green") if result.same else paint("differs", "yellow")
    ran = "the hook ran for real; its answer was not used"
    say(f"  {verdict}; {'the hook did not run' if result.status == SKIPPED else ran}")


def _print_outcome(outcome: Outcome) -> None:
    style = {"ok": "green", "skipped": "yellow"}.get(outcome.status, "red")
    exit_code = f", exit {outcome.exit_code}" if outcome.exit_code is not None else ""
    took = f"{outcome.duration_us / 1000:.1f} ms"
    say(f"{shown_hook(outcome.hook)}: {paint(outcome.status, style)} in {took}{exit_code}")
    for label in ("error", "answer", "values"):
        value = getattr(outcome, label)
        if value not in (None, [], (), {}):
            told = value if isinstance(value, str) else _json(value)
            say(f"  {label:7} {untrusted(told, 400)}")
    for line in (*outcome.stdout.splitlines()[-20:], *outcome.stderr.splitlines()[-20:]):
        say(f"  {paint('│', 'dim')} {printable(line, 160)}")


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode() if value is not None else "no answer"


HOOK_COMMANDS = {
    "list": Command("list every hook, in order", _list_arguments, _list),
    "show": Command("show one hook and its last calls", _name, _show),
    "enable": Command("enable a hook", _name, partial(_switch, True)),
    "disable": Command("disable a hook", _name, partial(_switch, False)),
    "test": Command(
        "run a hook for real, on an event or a payload",
        _test_arguments,
        _test,
    ),
    "replay": Command(
        "run a hook for real again, on a recorded event",
        _replay_arguments,
        _replay,
    ),
    **DISPATCH_COMMANDS,
    **RECORD_COMMANDS,
}
