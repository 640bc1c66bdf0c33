"""`hookline store copy`: move a project's store to a server, or back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.domain.text.terminal import plural
from hookline.operations.copying import copy_store
from hookline.project import find_project
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.output import answer, note, say
from hookline.trust.people import refuse_agents

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def _arguments(p: ArgumentParser) -> None:
    help = "`embedded`, for the store in .hookline/, or the URL of one on a server"
    p.add_argument("source", metavar="FROM", help=help)
    p.add_argument("target", metavar="TO", help="the same; nothing may be stored there yet")


def _copy(args: Namespace) -> None:
    refuse_agents(os.environ, "store copy")
    project = find_project(os.getcwd(), os.environ)
    copied = copy_store(project, os.environ, args.source, args.target)
    if answer(args, copied):
        counted = ((copied.events, "event"), (copied.tasks, "task"), (copied.runs, "run"))
        shown = ", ".join(plural(*each) for each in counted)
        say(f"copied {shown}: every table is what the log says")
        note(f"the store of this project is {copied.target} from now on")


STORE_COMMANDS = {"copy": Command("copy a project's store to a server, or back", _arguments, _copy)}
