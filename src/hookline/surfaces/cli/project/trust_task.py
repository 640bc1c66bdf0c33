"""`hookline trust --task`: look at what work changes of trusted files, before it is merged."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.submissions import TRUST
from hookline.errors import FAILED, IllegalTransition, Untrusted
from hookline.flows import control
from hookline.hooks.verdicts import asked_person
from hookline.pipeline import gate_verbs
from hookline.pipeline.repository.merge_trust import project_at
from hookline.project import user_folder
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import answer, is_terminal, next_step, note, untrusted
from hookline.surfaces.cli.project.trust import agreed, say_diff
from hookline.trust.book import TaskGrant, TrustBook
from hookline.trust.manifest import Manifest
from hookline.wiring.repositories import repository
from hookline.wiring.trusting import merge_trust

if TYPE_CHECKING:
    from argparse import Namespace

    from hookline.app import App
    from hookline.hooks.verdicts import GateVerdict
    from hookline.ports.store import Transaction
    from hookline.trust.merging import Incoming


class TrustedWork(msgspec.Struct, rename="camel", frozen=True):
    """What `--json` prints; each change is the new digest of a file, or `missing`."""

    task_id: str
    run_id: str
    trusted: bool
    changes: dict[str, str]


def trust_task(args: Namespace) -> int | None:
    """Show the changes, ask, and let the merge continue with exactly these."""
    with writing() as app:
        with app.read() as view:
            task = view.graph.task(args.task)
            run = gate_verbs.run_of(view, task.id)
            asked = asked_person(view, run) if run is not None else None
        if run is None or asked is None or asked.hook != TRUST:
            help = f"`hookline merge {task.id}` shows whether its work needs it"
            raise IllegalTransition(f"{task.id} is not waiting for trust", help=help)
        return asyncio.run(_review(args, app, asked, task.id))


async def _review(args: Namespace, app: App, asked: GateVerdict, task_id: str) -> int | None:
    git, compare = repository(app), merge_trust(app)
    if compare is None:
        raise IllegalTransition("you always trust this folder", help=f"`hookline merge {task_id}`")
    names = await git.history.changed_between(asked.context["base"], asked.context["sha"])
    async with project_at(git, app.project.root, asked.context["sha"]) as folder:
        found = compare.incoming(folder, names)
        if not _may(args, app, found):
            return FAILED
        book = TrustBook(user_folder(app.environ))
        book.grant_task(app.project, TaskGrant(task_id, found.changes), found.entries)
    assert asked.run is not None
    app.change(_go_on, asked.run, task_id, found.changes)
    names_of = untrusted(", ".join(sorted(found.changes)), 300)
    made = TrustedWork(task_id, asked.run, True, found.changes)
    if answer(args, made, f"trusted: {task_id} may change {names_of}"):
        next_step(f"hookline merge {task_id}", "unless a worker is running")
    return None


def _may(args: Namespace, app: App, found: Incoming) -> bool:
    """Whether the person agrees to what is shown."""
    book = TrustBook(user_folder(app.environ))
    if not args.json:
        say_diff(book.diff(app.project, Manifest("", found.entries), found.changes))
    if args.yes:
        return True
    if args.json or not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        help = f"look at the changes, then run `hookline trust --task {args.task} --yes`"
        raise Untrusted("nothing was trusted: there is no terminal to ask on", help=help)
    if agreed("Trust these changes?"):
        return True
    note("nothing was trusted")
    return False


def _go_on(tx: Transaction, run_id: str, task_id: str, changes: dict[str, str]) -> None:
    control.send(tx, run_id, TRUST, {"files": sorted(changes)})
    tx.append("work_trusted", task_id, {"run": run_id, "files": sorted(changes)})
