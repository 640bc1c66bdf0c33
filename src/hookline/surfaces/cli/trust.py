"""`hookline trust`: look at what a repository brings, and let it run."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline.config import load_settings
from hookline.errors import FAILED, Untrusted
from hookline.project import Project, find_project, user_folder, user_name
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.config import show_changed
from hookline.surfaces.cli.output import (
    is_terminal,
    next_step,
    note,
    paint,
    say,
    say_json,
)
from hookline.trust import (
    Change,
    Manifest,
    TrustBook,
    Verdict,
    configured_uses,
    fingerprint,
    owns_store,
    refuse_agents,
)
from hookline.trust.defaults import changed_since_trusted

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.config.changed_defaults import ChangedDefault

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
    verdict: Verdict
    recorded: Verdict
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
        from hookline.surfaces.cli.trust_task import trust_task  # opens the store and git

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
        if not _agreed(args):
            note("nothing was trusted")
            return FAILED
    if case.store_id is not None and case.foreign_store:
        _adopt(case, case.store_id)
    case.book.grant(case.project, case.manifest, always=args.always)
    verdict = case.book.verdict(case.project, case.manifest, {})
    _report(case._replace(verdict=verdict), args, "trusted")
    next_step("hookline check", "does the configuration hold together?")
    return None


def _adopt(case: _Case, store_id: str) -> None:
    """What a store would do by itself was not among the files that its user looked at."""
    from hookline.wiring.stores import adopt  # a foreign store is rare

    metadata = {"triggeredBy": user_name(os.environ)}
    adopted = adopt(case.project, case.home, store_id, metadata)
    if adopted.calls:
        note(f"calls of hooks that waited in the store: {adopted.calls}, none of them will be made")
    if adopted.runs:
        note(f"runs that came with the store are cancelled: {', '.join(adopted.runs)}")
    if adopted.switches:
        names = ", ".join(_shown(name) for name in adopted.switches)
        note(f"hooks that were switched by hand in the store are as configured again: {names}")


def _require_terminal(case: _Case, args: Namespace) -> None:
    if is_terminal(sys.stdin) and is_terminal(sys.stderr) and not args.json:
        return
    if args.json:
        say_json(_state(case))
    raise Untrusted(
        "nothing was trusted: there is nobody to ask",
        help="look at the files, then run `hookline trust --yes`, or set "
        f"HOOKLINE_TRUST={case.manifest.hash} where only this state should run",
    )


def _agreed(args: Namespace) -> bool:
    return agreed(
        "Trust this folder, whatever it brings from now on?" if args.always else "Trust these?"
    )


def _revoke(book: TrustBook, project: Project, args: Namespace) -> None:
    was_trusted = book.revoke(project)
    if args.json:
        say_json({"revoked": was_trusted})
    else:
        say("no longer trusted" if was_trusted else "it was not trusted; nothing to do")


def _show(case: _Case, args: Namespace) -> None:
    if args.json:
        say_json(_state(case))
        return
    say(f"{'trusted' if case.verdict.trusted else 'not trusted'}: {_shown(case.verdict.why)}")
    say(f"hash: {case.manifest.hash}")
    _list(case)
    for change in case.verdict.changes:
        say(f"{change.kind}: {_shown(change.path)}")


def _report(case: _Case, args: Namespace, word: str) -> None:
    if args.json:
        say_json(_state(case))
    else:
        say(f"{word}: {_shown(case.verdict.why)}")


def _present(case: _Case, args: Namespace) -> None:
    say(f"{_shown(case.project.root)}: {_shown(case.recorded.why)}")
    if _is_first(case.recorded.changes, case.manifest):
        _list(case)
    else:
        say_diff(case.book.diff(case.project, case.manifest))
    show_changed(case.changed)
    if case.foreign_store:
        say("the folder also holds a store of tasks that you did not create")
        _warn_of_runs(case.project)
    if args.always:
        note("with --always, later changes will run without a question")


def _warn_of_runs(project: Project) -> None:
    from hookline.wiring.stores import unfinished_runs

    found = unfinished_runs(project)
    if found:
        more = f" and {len(found) - MOST_RUNS} more" if len(found) > MOST_RUNS else ""
        say(f"its unfinished runs will be cancelled: {', '.join(found[:MOST_RUNS])}{more}")


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


def _is_first(changes: list[Change], manifest: Manifest) -> bool:
    return len(changes) in (0, len(manifest.entries)) and all(c.kind == "added" for c in changes)


def _list(case: _Case) -> None:
    width = max((len(_shown(entry.name)) for entry in case.manifest.entries), default=0)
    for entry in case.manifest.entries:
        name = _shown(entry.name).ljust(width)
        say(f"  {name}  {entry.size:>9,} bytes  {_shown(case.uses[entry.path])}")


def _shown(line: str) -> str:
    """A line of the repository's text with its indentation, but without power over the terminal."""
    return "".join(c if c.isprintable() or c == "\t" else f"\\x{ord(c):02x}" for c in line)


def _state(case: _Case) -> TrustState:
    return TrustState(
        trusted=case.verdict.trusted,
        why=case.verdict.why,
        always=case.verdict.always,
        hash=case.manifest.hash,
        files=[
            TrustedFile(entry.name, entry.size, entry.digest, case.uses[entry.path])
            for entry in case.manifest.entries
        ],
        changes=[{"path": change.path, "kind": change.kind} for change in case.verdict.changes],
    )


def _arguments(parser: ArgumentParser) -> None:
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--always", action="store_true", help="trust this folder for the future: it is your own"
    )
    mode.add_argument("--revoke", action="store_true", help="trust it no longer")
    mode.add_argument("--show", action="store_true", help="show the state, hash and files only")
    mode.add_argument(
        "--task", metavar="T", help="what the work of a task changes, before it is merged"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")


COMMANDS = {
    "trust": Command("let the hooks that this repository brings run", _arguments, trust),
}
