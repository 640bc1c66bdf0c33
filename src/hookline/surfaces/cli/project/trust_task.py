"""`hookline trust --task`: look at what work changes of trusted files, before it is merged."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import msgspec

from hookline.errors import FAILED, Untrusted
from hookline.operations.work_trust import work_in_review
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import answer, is_terminal, next_step, note, untrusted
from hookline.surfaces.cli.project.asking import agrees, say_diff

if TYPE_CHECKING:
    from argparse import Namespace

    from hookline.app import App
    from hookline.operations.work_trust import WorkInReview


class TrustedWork(msgspec.Struct, rename="camel", frozen=True):
    """What `--json` prints; each change is the new digest of a file, or `missing`."""

    task_id: str
    run_id: str
    trusted: bool
    changes: dict[str, str]


def trust_task(args: Namespace) -> int | None:
    """Show the changes, ask, and let the merge continue with exactly these."""
    with writing() as app:
        return asyncio.run(_review(args, app))


async def _review(args: Namespace, app: App) -> int | None:
    async with work_in_review(app, args.task) as work:
        if not _may(args, work):
            return FAILED
        work.grant()
    changes = work.found.changes
    names = untrusted(", ".join(sorted(changes)), 300)
    made = TrustedWork(work.task_id, work.run_id, True, changes)
    if answer(args, made, f"trusted: {work.task_id} may change {names}"):
        next_step(f"hookline merge {work.task_id}", "unless a worker is running")
    return None


def _may(args: Namespace, work: WorkInReview) -> bool:
    """Whether the person agrees to what is shown."""
    if not args.json:
        say_diff(work.diff())
    if args.yes:
        return True
    if args.json or not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        help = f"look at the changes, then run `hookline trust --task {args.task} --yes`"
        raise Untrusted("nothing was trusted: there is no terminal to ask on", help=help)
    if agrees("Trust these changes? [y/N]"):
        return True
    note("nothing was trusted")
    return False
