"""`hookline points`: list the hook points, or explain one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.errors import BadInput, did_you_mean
from hookline.points import POINTS, VARIABLES
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.output import answer, next_step, paint, say, say_row

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.points import Point

LISTED = ("name", "rule", "timeout", "fires", "doc")
_RULES = {
    "react": (
        "all hooks run; their actions are carried out in order afterwards",
        '{"actions": [{"type": "create_task", "payload": {"goal": "..."}}]}',
        '{command: "notify-send {{point}}", timeout: 10}',
    ),
    "feed": (
        "all hooks run; with `pipe_output` their text goes to the agent",
        '{"text": "..."}, or plain output',
        '{command: "pytest -q", timeout: 120, pipe_output: true}',
    ),
    "gate": (
        "hooks run until the first failure or pending; a failing hook closes the gate",
        '{"status": "success|failure|skip|pending", "message", "context", "remediationPrompt", '
        '"retryAfter"}, or exit code 0 success, 75 pending, else failure',
        '{command: "pytest -q", timeout: 600}',
    ),
    "decide": (
        "hooks run until the first complete or escalate; the last continue wins",
        '{"action": "complete|continue|escalate", "reason"}, or exit code 0 complete, '
        "else continue with the output",
        '{command: "make check"}',
    ),
    "steer": (
        "hooks run until the first answer",
        '{"action": "...", ...}; `none` is not an answer',
        "{script: .hookline/steer.py}",
    ),
    "guard": (
        "rewrites run first, then all checks: deny > defer > ask > modify > allow",
        '{"verdict": "allow|deny|ask|defer|modify", "reason", "updatedInput", "context"}, '
        "or exit code 0 no opinion, 2 deny",
        "{script: .hookline/guard.py, on_failure: closed}",
    ),
}


def _points_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="show everything about this point")


def _points(args: Namespace) -> None:
    if args.name is None:
        _list_points(args)
        return
    point = POINTS.get(args.name)
    if point is None:
        help = did_you_mean(args.name, POINTS, "`hookline points` lists them all")
        raise BadInput(f"no hook point named {args.name[:80]!r}", help=help)
    detail = _detail(point)
    if answer(args, detail):
        _show_point(point, detail)


def _list_points(args: Namespace) -> None:
    if not answer(args, [{key: getattr(p, key) for key in LISTED} for p in POINTS.values()]):
        return
    width = max(len(name) for name in POINTS)
    for rule, (meaning, _, _) in _RULES.items():
        say_row(f"{paint(rule, 'bold')}: {meaning}", 2)
        for point in POINTS.values():
            if point.rule == rule:
                quiet = "" if point.fires else paint("  (not fired yet)", "dim")
                say_row(f"  {point.name:{width}}  {point.doc}{quiet}", width + 4)
        say()
    next_step("hookline points NAME", "payload, variables and an example")


def _detail(point: Point) -> dict[str, Any]:
    # Payload types, and the expression language, which the list of points does without.
    from msgspec.structs import fields

    from hookline.domain import payloads
    from hookline.domain.hooks.condition_fields import condition_fields

    meaning, answer, example = _RULES[point.rule]
    kind = getattr(payloads, point.payload)
    return {
        **{name: getattr(point, name) for name in LISTED},
        "meaning": meaning,
        "payload": {
            field.encode_name: str(kind.__annotations__.get(field.name, ""))
            for field in fields(kind)
        },
        "conditions": list(condition_fields(point.name)),
        "variables": {name: VARIABLES[name].doc for name in point.variables},
        "answer": answer,
        "example": f"hooks:\n  {point.name}:\n    - {example}",
    }


def _show_point(point: Point, detail: dict[str, Any]) -> None:
    say(f"{paint(point.name, 'bold')}  {point.doc}")
    if not point.fires:
        say("  nothing fires this point in this version")
    say_row(f"  rule      {point.rule}: {detail['meaning']}", 12)
    say_row(f"  answer    {detail['answer']}", 12)
    say(f"  timeout   {point.timeout:g} s unless the hook says otherwise")
    event = "event_type" in point.variables
    say(f"  payload   {'the event; its data:' if event else 'JSON on stdin:'}")
    for name, kind in detail["payload"].items():
        say_row(f"    {name}: {kind}", 6)
    say_row(f"  when      looks at {', '.join(detail['conditions'])}", 12)
    say("  variables")
    for name, doc in detail["variables"].items():
        say_row(f"    {'{{' + name + '}}':22} {VARIABLES[name].env:28} {doc}", 6)
    say("  example")
    for line in detail["example"].split("\n"):
        say(f"    {line}")


COMMANDS = {
    "points": Command("list the hook points, or explain one", _points_arguments, _points),
}
