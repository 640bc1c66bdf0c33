"""`hookline store`: move a project's store, and repair what its server has lost."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.domain.text.terminal import plural
from hookline.operations.store.copying import copy_store
from hookline.project import find_project
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import answer, note, say, untrusted, warn
from hookline.trust.people import refuse_agents

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def _arguments(p: ArgumentParser) -> None:
    help = "`embedded`, for the store in .hookline/, or the URL of one on a server"
    p.add_argument("source", metavar="FROM", help=help)
    p.add_argument(
        "target", metavar="TO", help="where to copy it to, written the same way; it must be empty"
    )


def _copy(args: Namespace) -> None:
    refuse_agents(os.environ, "store copy")
    project = find_project(os.getcwd(), os.environ)
    copied = copy_store(project, os.environ, args.source, args.target)
    if answer(args, copied):
        counted = ((copied.events, "event"), (copied.tasks, "task"), (copied.runs, "run"))
        shown = ", ".join(plural(*each) for each in counted)
        say(f"copied {shown}: every table is what the log says")
        note(f"the store of this project is {copied.target} from now on")


def _reconcile_arguments(p: ArgumentParser) -> None:
    p.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")


def _reconcile(args: Namespace) -> None:
    import asyncio  # other commands of this group do without

    from hookline.operations.store.reconciling import reconcile

    refuse_agents(os.environ, "store reconcile")
    with reading() if args.dry_run else writing() as app:
        found = asyncio.run(reconcile(app, dry_run=args.dry_run))
    if answer(args, found):
        for each in found.differences:
            say(f"{each.task_id:6} {untrusted(each.found, 300)}: {each.does}")
        for problem in found.problems:
            warn(untrusted(problem, 300))
        if not found.differences:
            say("the store knows what git and the forge know")
        if args.dry_run:
            note("nothing was changed; run it without --dry-run")
        else:
            note("the store accepts changes again: restart the workers with `hookline work`")


STORE_COMMANDS = {
    "copy": Command("copy a project's store to a server, or back", _arguments, _copy),
    "reconcile": Command(
        "compare the store with git and the forge, after its server has lost changes",
        _reconcile_arguments,
        _reconcile,
    ),
}
