"""`hookline prune`: remove the details of old, finished work; the log stays whole."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

from hookline.app import App
from hookline.domain.text.terminal import plural, size
from hookline.domain.timestamps import duration, moment_text
from hookline.errors import BadInput
from hookline.operations.store.pruning import prune
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import answer, next_step, note, paint, say
from hookline.trust.people import refuse_agents

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from hookline.operations.store.pruning import Pruned

OLDER = "30d"


def _arguments(p: ArgumentParser) -> None:
    help = f"how long ago the work was finished, such as 12h, 90d or 8w (default: {OLDER})"
    p.add_argument("--older", metavar="AGE", default=OLDER, help=help)
    p.add_argument("--dry-run", action="store_true", help="only say what would be removed")


def _prune(args: Namespace) -> None:
    refuse_agents(os.environ, "prune")
    older = duration(args.older)
    if older < 0:
        raise BadInput("--older must not be negative", help="write 12h, 90d or 8w")
    with reading() if args.dry_run else closing(App.open()) as app:
        found, now = prune(app, older, dry=args.dry_run), app.store.now()
    if answer(args, found):
        for line in _lines(found, now):
            say(line)
        if found.unshrunk:
            note(found.unshrunk)
        if args.dry_run:
            next_step(f"hookline prune --older {args.older}")


def _lines(found: Pruned, now: str) -> Iterator[str]:
    rows = (
        ("calls of hooks", found.calls, "event"),
        ("journals", found.journals, "run"),
        ("feeds of sessions", found.feeds, "file"),
        ("folders of runs", found.run_folders, "folder"),
        ("reports", found.reports, "file"),
        ("long values", found.values, "file"),
        ("blobs", found.blobs, "file"),
        ("snapshots of work", found.snapshots, "file"),
    )
    left = [(what, each, unit) for what, each, unit in rows if each.count]
    when = moment_text(found.before, now)
    if not left:
        yield f"nothing to prune of work that was finished before {when}"
    else:
        verb = "would remove" if found.dry_run else "removed"
        yield f"{verb}, of work that was finished before {when}:"
    for what, each, unit in left:
        yield f"  {what:18} {plural(each.count, unit):>14}  {paint(size(each.bytes), 'dim')}"
    verb = "would free about" if found.dry_run else "freed"
    before, after = map(size, found.store)
    of_store = "" if found.dry_run or before == after else f" (the store: {before} → {after})"
    yield f"{verb} {size(found.freed)}{of_store}"


COMMANDS = {"prune": Command("remove the details of old, finished work", _arguments, _prune)}
