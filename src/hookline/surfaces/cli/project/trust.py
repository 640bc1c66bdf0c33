"""`hookline trust`: look at what a repository brings, and let it run."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.text.excerpts import first_few
from hookline.errors import FAILED, Untrusted
from hookline.project import Project, find_project, user_folder
from hookline.surfaces.cli.command import Command, TaskName
from hookline.surfaces.cli.output import answer, is_terminal, next_step, note, say, say_json
from hookline.surfaces.cli.project.asking import agrees, say_diff, shown
from hookline.surfaces.cli.project.config import show_changed
from hookline.trust.book import TrustBook
from hookline.trust.people import refuse_agents
from hookline.trust.review import review

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.operations.granting import TrustCase
    from hookline.trust.adoption import Adopted

MOST_RUNS = 20


class TrustedFile(msgspec.Struct, frozen=True):
    """A covered file, as `--json` shows it."""

    path: str
    size: int
    digest: str
    use: str


class TrustState(msgspec.Struct, frozen=True):
    """What `hookline trust --json` prints."""

    trusted: bool
    why: str
    always: bool
    hash: str
    files: list[TrustedFile]
    changes: list[dict[str, str]]


def trust(args: Namespace) -> int | None:
    """Show what would be trusted or what changed since, ask, and record the answer."""
    refuse_agents(os.environ, "trust")
    if args.task is not None:
        from hookline.surfaces.cli.project.trust_task import trust_task  # opens the store and git

        return trust_task(args)
    project, home = find_project(os.getcwd(), os.environ), user_folder(os.environ)
    if args.revoke:
        _revoke(TrustBook(home), project, args)
        return None
    from hookline.operations import granting  # opens the store, which `--revoke` must do without

    case = granting.look(project, home, os.environ)
    if args.show:
        _show(case, args)
    elif case.is_settled and not args.always:
        _report(case, args, "nothing to do")
    else:
        return _decide(case, args)
    return None


def _decide(case: TrustCase, args: Namespace) -> int | None:
    from hookline.operations import granting  # opens the store, as above

    if not args.json:
        _present(case, args)
    if not args.yes:
        _require_terminal(case, args)
        future = "Trust this folder, with every later change?"
        if not agrees(f"{future if args.always else 'Trust these?'} [y/N]"):
            note("nothing was trusted")
            return FAILED
    case, adopted = granting.grant(case, os.environ, always=args.always)
    if adopted is not None:
        _tell_adopted(adopted)
    _report(case, args, "trusted")
    next_step("hookline check", "is the configuration valid?")
    return None


def _tell_adopted(adopted: Adopted) -> None:
    if adopted.calls:
        note(f"waiting hook calls in the store: {adopted.calls}; none of them will be made")
    if adopted.runs:
        note(f"runs in the store were cancelled: {', '.join(adopted.runs)}")
    if adopted.switches:
        names = ", ".join(shown(name) for name in adopted.switches)
        note(f"hooks that were enabled or disabled in the store are as configured again: {names}")


def _require_terminal(case: TrustCase, args: Namespace) -> None:
    if is_terminal(sys.stdin) and is_terminal(sys.stderr) and not args.json:
        return
    if args.json:
        say_json(_state(case))
    raise Untrusted(
        "nothing was trusted: there is no terminal to ask on",
        help="look at the files, then run `hookline trust --yes`, or set "
        f"HOOKLINE_TRUST={case.manifest.hash} where only this state should run",
    )


def _revoke(book: TrustBook, project: Project, args: Namespace) -> None:
    was_trusted = book.revoke(project)
    told = "no longer trusted" if was_trusted else "it was not trusted; there is nothing to do"
    answer(args, {"revoked": was_trusted}, told)


def _show(case: TrustCase, args: Namespace) -> None:
    if _report(case, args, "trusted" if case.verdict.trusted else "not trusted"):
        say(f"hash: {case.manifest.hash}")
        _list(case)
        for change in case.verdict.changes:
            say(f"{change.kind}: {shown(change.path)}")


def _report(case: TrustCase, args: Namespace, word: str) -> bool:
    return answer(args, _state(case), f"{word}: {shown(case.verdict.why)}")


def _present(case: TrustCase, args: Namespace) -> None:
    say(f"{shown(case.project.root)}: {shown(case.recorded.why)}")
    changes = case.recorded.changes
    all_new = all(change.kind == "added" for change in changes)
    if all_new and len(changes) in (0, len(case.manifest.entries)):
        _list(case)
    else:
        say_diff(review(case.book, case.project, case.manifest))
    show_changed(case.changed)
    if case.foreign_store:
        say("the folder also holds a store of tasks that you did not create")
        if runs := case.cancelled_runs():
            say(f"its unfinished runs will be cancelled: {first_few(runs, MOST_RUNS)}")
    if args.always:
        note("with --always, later changes will run without asking")


def _list(case: TrustCase) -> None:
    width = max((len(shown(entry.name)) for entry in case.manifest.entries), default=0)
    for entry in case.manifest.entries:
        name = shown(entry.name).ljust(width)
        say(f"  {name}  {entry.size:>9,} bytes  {shown(case.uses[entry.path])}")


def _state(case: TrustCase) -> TrustState:
    verdict, covered = case.verdict, case.manifest
    files = [TrustedFile(e.name, e.size, e.digest, case.uses[e.path]) for e in covered.entries]
    changes = [msgspec.structs.asdict(change) for change in verdict.changes]
    return TrustState(verdict.trusted, verdict.why, verdict.always, covered.hash, files, changes)


def _arguments(parser: ArgumentParser) -> None:
    mode = parser.add_mutually_exclusive_group()
    help = "trust this folder, and every later change to it"
    mode.add_argument("--always", action="store_true", help=help)
    mode.add_argument("--revoke", action="store_true", help="stop trusting it")
    mode.add_argument("--show", action="store_true", help="only show the state, hash and files")
    help = "trust what a task's work changes, before it is merged"
    mode.add_argument("--task", metavar="T", type=TaskName, help=help)
    parser.add_argument("--yes", action="store_true", help="do not ask")


COMMANDS = {"trust": Command("let this repository's hooks run", _arguments, trust)}
