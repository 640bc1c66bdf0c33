"""`hookline flow value`: what the hooks of a run remember from one tick to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.errors import BadInput
from hookline.surfaces.cli.command import Command, run_argument
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import say, say_json, untrusted
from hookline.surfaces.cli.values import parse_json

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

OWN = "hookline."
LONGEST_NAME = 200
MOST_BYTES = 64 * 1024


def _value_arguments(p: ArgumentParser) -> None:
    run_argument(p)
    p.add_argument("name", help="the name to remember something under")
    p.add_argument("value", nargs="?", metavar="JSON", help="what to remember; null forgets it")


def _value(args: Namespace) -> None:
    if not 0 < len(args.name) <= LONGEST_NAME or args.name.startswith(OWN):
        raise BadInput(f"{args.name[:80]!r} is no name for a value", help="`hookline.` is taken")
    if args.value is None:
        with reading() as app, app.read() as view:
            found = view.runs.value(view.runs.find(args.run).run_id, args.name)
    else:
        found = parse_json(args.value, "the value")
        if len(args.value) > MOST_BYTES:
            raise BadInput("a value has at most 64 KiB", help="keep more in $HOOKLINE_RUN_DIR")
        with writing() as app:
            app.change(
                lambda tx: tx.runs.set_value(tx.runs.find(args.run).run_id, args.name, found)
            )
    if args.json:
        say_json(found)
    else:
        say(untrusted(msgspec.json.encode(found).decode()))


VALUE_COMMANDS = {
    "value": Command("what a run's hooks remember under a name", _value_arguments, _value),
}
