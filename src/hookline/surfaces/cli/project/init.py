"""`hookline init`: look around, ask, set up a project, and say what was done.

With `--check` it only says what it would do.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import msgspec

from hookline.config.detection import VersionControl
from hookline.errors import FAILED, NoProject
from hookline.operations.setup.first_file import chosen, configuration, unproven
from hookline.operations.setup.project import BASE, STORE, check_place, missing, set_up
from hookline.operations.setup.survey import Survey, remarks, survey
from hookline.operations.setup.trial import TRIAL_SECONDS, TriedCommand, try_tests
from hookline.project import CONFIG_NAME, FOLDER_NAME, Project, find_project
from hookline.queries.doctor.agents import LOGINS, AgentAnswer
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.output import answer, is_terminal, note, paint, say, untrusted
from hookline.surfaces.cli.project.asking import agrees

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from hookline.hooks.runners.folder import Runner

_FIRST_TASK = 'hookline task add "My first task"'
_FIRST_RUN = 'hookline run "what the agent should do"'


class FoundCommand(msgspec.Struct, frozen=True):
    """A command that was found, the file that shows it, and the program that is not there."""

    command: str
    source: str
    missing: str | None


class Found(msgspec.Struct, frozen=True, rename="camel"):
    """What `init --json` prints about what was found."""

    agents: list[AgentAnswer]
    tests: list[FoundCommand]
    linters: list[FoundCommand]
    version_control: VersionControl | None


class InitReport(msgspec.Struct, rename="camel"):
    """What `init --json` prints: what was found, made and tried, and what is left to do.

    `missing` is what was not there before, `agent` the one that sessions use; with `--check`,
    `file` is what would be written.
    """

    root: str
    found: Found | None = None
    tried: list[TriedCommand] = []
    missing: list[str] = []
    file: str | None = None
    agent: str | None = None
    created: list[str] = []
    kept: list[str] = []
    trusted: bool = False
    notes: list[str] = []
    next: str = "hookline doctor"


def _arguments(parser: ArgumentParser) -> None:
    only = parser.add_mutually_exclusive_group()
    parser.add_argument(
        "--yes",
        action="store_true",
        help="ask nothing; run no tests unless --try-tests is given too",
    )
    help = "run the tests that are found once, which executes code of this repository"
    only.add_argument("--try-tests", action="store_true", help=help)
    help = "write nothing; say what would be written (exit 1), or that nothing would (exit 0)"
    only.add_argument("--check", action="store_true", help=help)


def _init(args: Namespace) -> int | None:
    here = os.getcwd()
    project = _project(here)
    if project.root != here and not os.environ.get("HOOKLINE_DIR"):
        _inside(args, project, here)
        return None
    check_place(project, os.environ)
    found = survey(project, os.environ)
    report = InitReport(project.root, _found(found), missing=list(missing(project, os.environ)))
    if CONFIG_NAME in report.missing:
        report.notes += remarks(project, found)
        _choose(report, found)
    if not args.json:
        _show_found(project, found, report.agent)
    if args.check:
        return _check(args, report, found)
    report.tried = _try(args, report, found)
    if not _agreed(args, report):
        note("nothing was written")
        return FAILED
    _set_up(project, report, found)
    if answer(args, report):
        _show_done(report)
    return None


def _project(here: str) -> Project:
    try:
        return find_project(here, os.environ)
    except NoProject:
        return Project(here, os.path.join(here, FOLDER_NAME))


def _found(found: Survey) -> Found:
    tests, linters = (
        [FoundCommand(each.command, each.source, each.missing) for each in runners]
        for runners in (found.tests, found.linters)
    )
    return Found(found.agents, tests, linters, found.version_control)


def _choose(report: InitReport, found: Survey) -> None:
    """The agent that sessions will use, with a warning if nobody knows whose account pays."""
    agent = chosen(found)
    report.agent = agent.name if agent is not None else None
    if agent is not None and agent.problem is None and agent.login == "unknown":
        may = "it may use an account or a provider that you did not choose"
        other = "`hookline run --agent NAME` uses another agent"
        report.notes.append(f"sessions use {agent.name}, whose login is unknown: {may}; {other}")


def _inside(args: Namespace, project: Project, here: str) -> None:
    text = f"this folder is inside the project {untrusted(project.root)}; nothing was created here"
    separate = f"for a separate project, run `mkdir {FOLDER_NAME} && hookline init`"
    report = InitReport(project.root, kept=[project.root], notes=[text, separate])
    lines = (f"{paint('·', 'dim')} {text}", f"  {separate}", "next: hookline doctor")
    answer(args, report, *lines)


def _check(args: Namespace, report: InitReport, found: Survey) -> int:
    report.file = configuration(found) if CONFIG_NAME in report.missing else None
    _note_unproven(report, found)
    report.next = "hookline init" if report.missing else report.next
    if answer(args, report):
        _show_missing(report)
    return FAILED if report.missing else 0


# What a person is asked


def _is_asked(args: Namespace) -> bool:
    """Whether a person can be asked; a script or a pipe has said it by calling."""
    people = is_terminal(sys.stdin) and is_terminal(sys.stderr)
    return people and not args.yes and not args.json


def _try(args: Namespace, report: InitReport, found: Survey) -> list[TriedCommand]:
    """Run the tests once, if someone wants it and the result would be written."""
    runners = [each for each in found.tests if each.missing is None]
    if args.try_tests and CONFIG_NAME not in report.missing:
        report.notes.append(f"{CONFIG_NAME} exists, nothing was tried: `hookline validate` does it")
    if CONFIG_NAME not in report.missing or not runners or not _may_run(args, runners):
        return []
    tried = try_tests(runners, report.root, os.environ)
    failed = (each.command for each in tried if not each.passed)
    report.notes += [f"`{line}` did not pass: it is written as a comment" for line in failed]
    if not args.json:
        _show_tried(tried)
    return tried


def _may_run(args: Namespace, runners: Sequence[Runner]) -> bool:
    named = " and ".join(f"`{each.command}`" for each in runners)
    question = f"Run {named} once? This executes code of this repository [y/N]"
    if not args.try_tests and not (_is_asked(args) and agrees(question)):
        return False
    most = f"{TRIAL_SECONDS:g} s{' each' if len(runners) > 1 else ''}"
    note(f"running {named}, for at most {most}; ^C stops it")
    return True


def _agreed(args: Namespace, report: InitReport) -> bool:
    """Ask a person before anything is written."""
    if not report.missing or not _is_asked(args):
        return True
    return agrees(f"Write {CONFIG_NAME} and {FOLDER_NAME}/ here? [Y/n]", "y")


def _set_up(project: Project, report: InitReport, found: Survey) -> None:
    if STORE in report.missing:
        report.next = _FIRST_RUN if found.startable else _FIRST_TASK
    made = set_up(project, configuration(found, report.tried), os.environ)
    report.created, report.kept, report.trusted = made.created, made.kept, made.trusted
    _note_unproven(report, found)
    for why in made.asks:
        report.notes.append(f"{why}: look at it, then run `hookline trust`")
        report.next = "hookline trust"


def _note_unproven(report: InitReport, found: Survey) -> None:
    why = unproven(found, report.tried)
    if CONFIG_NAME in report.missing and why is not None:
        report.notes.append(why)


# What is shown


def _show_found(project: Project, found: Survey, agent: str | None) -> None:
    say(f"{paint('Hookline', 'bold')} in {untrusted(project.root)}")
    say()
    agents = ", ".join(map(_named, found.startable))
    is_able = any(each.problem is None for each in found.startable)
    _line("agents", [agents] if agents else [], "none on PATH", is_good=is_able)
    for each in (each for each in found.startable if each.name == agent):
        state = LOGINS[each.login] if each.problem is None else "which cannot work yet"
        _line("chosen", [f"{paint(each.name, 'bold')}, {state}"], "", is_good=each.problem is None)
    for name, runners in (("tests", found.tests), ("linter", found.linters)):
        can_run = any(each.missing is None for each in runners)
        _line(name, _commands(runners), "none found", is_good=can_run)
    repository = found.version_control
    branch = repository.branch if repository else None
    shown = f"git, branch {untrusted(branch)}" if branch else "git"
    is_read = repository is None or repository.problem is None
    _line("versions", [shown] if repository else [], "none", is_good=is_read)
    say()


def _named(agent: AgentAnswer) -> str:
    """An agent with its version, without the other words that it says."""
    number = re.search(r"\d+(\.\w+)+", agent.version)
    named = f"{agent.name} {untrusted(number[0], 40)}" if number else agent.name
    return named if agent.problem is None else f"{named} (cannot work yet)"


def _commands(runners: Sequence[Runner]) -> list[str]:
    return [f"{each.command}  ({untrusted(each.source)})" for each in runners]


def _line(name: str, found: list[str], otherwise: str, *, is_good: bool = True) -> None:
    good = paint("✓", "green") if is_good else paint("!", "yellow")
    mark = good if found else paint("·", "dim")
    first, *more = found or [otherwise]
    say(f"  {mark} {paint(f'{name:9}', 'dim')} {first}")
    for each in more:
        say(f"    {'':9} {each}")


def _show_tried(tried: list[TriedCommand]) -> None:
    for each in tried:
        mark = paint("✓", "green") if each.passed else paint("✗", "red")
        say(f"  {mark} `{each.command}` {each.told}")


_MADE = {
    CONFIG_NAME: f"{CONFIG_NAME}, short and with comments",
    STORE: f"{FOLDER_NAME}/ for tasks, events and records of hooks; git ignores it",
    BASE: "the base branch, which work is merged into",
}
_KEPT = {CONFIG_NAME: CONFIG_NAME, STORE: f"{FOLDER_NAME}/ with its store"}


def _show_missing(report: InitReport) -> None:
    for name in report.missing:
        say(f"  {paint('+', 'green')} would write {_MADE[name]}")
    if not report.missing:
        say(f"  {paint('·', 'dim')} nothing would change")
    _show_notes(report)
    for line in (report.file or "").splitlines():
        say(f"  {paint('│', 'dim')} {line}".rstrip())
    say()
    say(f"next: {paint(report.next, 'bold')}")


def _show_done(report: InitReport) -> None:
    done = paint("✓", "green")
    for name in report.created:
        say(f"  {done} wrote {_MADE[name]}")
    for name in report.kept:
        say(f"  {paint('·', 'dim')} {_KEPT[name]} already exists and is unchanged")
    if report.trusted:
        say(f"  {done} {CONFIG_NAME} is trusted: its hooks may run")
    _show_notes(report)
    say("No agent's settings were changed.")
    say()
    say(f"next: {paint(report.next, 'bold')}")


def _show_notes(report: InitReport) -> None:
    for text in report.notes:
        say(f"  {paint('!', 'yellow')} {untrusted(text)}")


COMMANDS = {"init": Command("set up Hookline in this repository", _arguments, _init)}
