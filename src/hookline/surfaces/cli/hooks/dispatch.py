"""`hookline hook dispatch`: fire a point by hand and see the one answer of its hooks, dry."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.hooks.names import shown_hook
from hookline.hooks.rules import failed
from hookline.operations import dry_runs
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import note, paint, say_json, untrusted
from hookline.surfaces.cli.values import parse_object, read_text

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.domain.hooks.records import Outcome


SUCH_AS = "such as: echo '{}' | hookline hook dispatch post_iteration"


def _arguments(p: ArgumentParser) -> None:
    p.add_argument("point", help="the point; its payload is JSON on stdin")


def _dispatch(args: Namespace) -> None:
    payload = parse_object(read_text("-"), "the payload on stdin", help=SUCH_AS)

    def heard(outcome: Outcome) -> None:
        if failed(outcome) or not args.json:
            _tell(outcome)

    with reading() as app:
        answer = asyncio.run(dry_runs.fire(app, args.point, payload, heard))
    say_json(answer)


def _tell(outcome: Outcome) -> None:
    """What each hook said, for the person: the answer alone goes to stdout."""
    bad = failed(outcome)
    mark = paint("✗", "red", sys.stderr) if bad else paint("✓", "green", sys.stderr)
    told = outcome.error or msgspec.json.encode(outcome.answer).decode()
    note(f"{mark} {shown_hook(outcome.hook)}  {outcome.status}  {untrusted(told, 200)}")
    for line in outcome.stderr.splitlines()[-20:]:
        note(f"  {paint('│', 'dim', sys.stderr)} {untrusted(line, 160)}")


DISPATCH_COMMANDS = {
    "dispatch": Command("dry-run a point with a payload from stdin", _arguments, _dispatch)
}
