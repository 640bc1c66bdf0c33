"""`hookline trust`: look at what a repository brings, and let it run."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline.config import load_settings
from hookline.domain.text.excerpts import first_few
from hookline.errors import FAILED, Untrusted
from hookline.operations.setup.first_base import keep_base
from hookline.project import Project, find_project, user_folder, user_name
from hookline.surfaces.cli.command import Command, TaskName
from hookline.surfaces.cli.output import answer, is_terminal, next_step, note, paint, say, say_json
from hookline.surfaces.cli.project.config import show_changed
from hookline.trust.book import TrustBook, TrustVerdict
from hookline.trust.configured import configured_uses
from hookline.trust.manifest import Manifest, fingerprint
from hookline.trust.people import refuse_agents
from hookline.trust.review import changed_since_trusted
from hookline.trust.stores import owns_store

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.config.checks.changed_defaults import ChangedDefault

MOST_RUNS = 20
_MARKS = {"+": "green", "-": "red", "@": "cyan"}


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


class _Case(NamedTuple):
    """All that the command looks at before anyone decides.

    `recorded` is the verdict without HOOKLINE_TRUST, which does not make a grant needless.
    """

    project: Project
    home: str
    book: TrustBook
    uses: dict[str, str]
    manifest: Manifest
    verdict: TrustVerdict
    recorded: TrustVerdict
    store_id: str | None
    changed: list[ChangedDefault]

    @property
    def foreign_store(self) -> bool:
        """Whether there is a store that this user neither created nor adopted."""
        return self.store_id is not None and not owns_store(self.home, self.project, self.store_id)


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
    case = _look(project, home)
    if args.show:
        _show(case, args)
    elif case.recorded.trusted and not (case.foreign_store or case.changed or args.always):
        _report(case, args, "nothing to do")
    else:
        return _decide(case, args)
    return None


def _look(project: Project, home: str) -> _Case:
    # Opens the store, which `--revoke` must do without.
    from hookline.wiring.stores import store_identity

    settings = load_settings(project, home)
    uses = configured_uses(project, settings)
    manifest = fingerprint(project, uses)
    changed = changed_since_trusted(project, home, settings)
    book = TrustBook(home)
    verdict = book.verdict(project, manifest, os.environ)
    recorded = book.verdict(project, manifest, {})
    store_id = store_identity(project)
    return _Case(project, home, book, uses, manifest, verdict, recorded, store_id, changed)


def _decide(case: _Case, args: Namespace) -> int | None:
    if not args.json:
        _present(case, args)
    if not args.yes:
        _require_terminal(case, args)
        future = "Trust this folder, with every later change?"
        if not agreed(future if args.always else "Trust these?"):
            note("nothing was trusted")
            return FAILED
    if case.store_id is not None and case.foreign_store:
        _adopt(case, case.store_id)
    case.book.grant(case.project, case.manifest, always=args.always)
    if case.store_id is not None:
        keep_base()
    verdict = case.book.verdict(case.project, case.manifest, {})
    _report(case._replace(verdict=verdict), args, "trusted")
    next_step("hookline check", "is the configuration valid?")
    return None


def _adopt(case: _Case, store_id: str) -> None:
    """What a store would do by itself was not among the files that its user looked at."""
    from hookline.wiring.stores import adopt  # a foreign store is rare

    metadata = {"triggeredBy": user_name(os.environ)}
    adopted = adopt(case.project, case.home, store_id, metadata)
    if adopted.calls:
        note(f"waiting hook calls in the store: {adopted.calls}; none of them will be made")
    if adopted.runs:
        note(f"runs in the store were cancelled: {', '.join(adopted.runs)}")
    if adopted.switches:
        names = ", ".join(_shown(name) for name in adopted.switches)
        note(f"hooks that were enabled or disabled in the store are as configured again: {names}")


def _require_terminal(case: _Case, args: Namespace) -> None:
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


def _show(case: _Case, args: Namespace) -> None:
    if _report(case, args, "trusted" if case.verdict.trusted else "not trusted"):
        say(f"hash: {case.manifest.hash}")
        _list(case)
        for change in case.verdict.changes:
            say(f"{change.kind}: {_shown(change.path)}")


def _report(case: _Case, args: Namespace, word: str) -> bool:
    return answer(args, _state(case), f"{word}: {_shown(case.verdict.why)}")


def _present(case: _Case, args: Namespace) -> None:
    say(f"{_shown(case.project.root)}: {_shown(case.recorded.why)}")
    changes = case.recorded.changes
    all_new = all(change.kind == "added" for change in changes)
    if all_new and len(changes) in (0, len(case.manifest.entries)):
        _list(case)
    else:
        say_diff(case.book.diff(case.project, case.manifest))
    show_changed(case.changed)
    if case.foreign_store:
        say("the folder also holds a store of tasks that you did not create")
        _warn_of_runs(case.project)
    if args.always:
        note("with --always, later changes will run without asking")


def _warn_of_runs(project: Project) -> None:
    from hookline.wiring.stores import unfinished_runs

    found = unfinished_runs(project)
    if found:
        say(f"its unfinished runs will be cancelled: {first_few(found, MOST_RUNS)}")


def say_diff(text: str) -> None:
    """Show what changed."""
    for line in text.removesuffix("\n").split("\n"):
        style = _MARKS.get(line[:1])
        say(paint(_shown(line), style) if style else _shown(line))


def agreed(question: str) -> bool:
    """Ask a person."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _list(case: _Case) -> None:
    width = max((len(_shown(entry.name)) for entry in case.manifest.entries), default=0)
    for entry in case.manifest.entries:
        name = _shown(entry.name).ljust(width)
        say(f"  {name}  {entry.size:>9,} bytes  {_shown(case.uses[entry.path])}")


def _shown(line: str) -> str:
    """A line of the repository's text with its indentation, but without power over the terminal."""
    return "".join(c if c.isprintable() or c == "\t" else f"\\x{ord(c):02x}" for c in line)


def _state(case: _Case) -> TrustState:
    verdict, covered = case.verdict, case.manifest
    files = [TrustedFile(e.name, e.size, e.digest, case.uses[e.path]) for e in covered.entries]
    changes = [change._asdict() for change in verdict.changes]
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
