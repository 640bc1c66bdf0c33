"""`hookline init`: look around, write a short hookline.yaml, make the store, say what was done.

Never overwrites, never touches an agent's settings, and trusts only the file it wrote itself.
"""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hookline.app import judge, load_configuration
from hookline.domain.repository import RepositoryError
from hookline.errors import FAILED, BadInput, NoProject, StoreReadOnly, Untrusted
from hookline.project import CONFIG_NAME, FOLDER_NAME, Project, find_project, user_folder
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.init_detect import Found, look_around
from hookline.surfaces.cli.init_file import configuration
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import is_terminal, note, paint, say, say_json, untrusted
from hookline.trust import TrustBook, under_agent
from hookline.wiring.stores import open_store

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import Trust

_STORE = "store"
_FIRST_TASK = 'hookline task add "My first task"'


class Report(msgspec.Struct, rename="camel"):
    """What `init --json` prints: what was found, what was made and what is left to do."""

    root: str
    found: dict[str, object]
    created: list[str] = []
    kept: list[str] = []
    trusted: bool = False
    notes: list[str] = []
    next: str = "hookline doctor"

    def ask_for_trust(self, why: str) -> None:
        """Something is not trusted, and only a person can say that it is."""
        self.notes.append(f"{why}: look at it, then run `hookline trust`")
        self.next = "hookline trust"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask before writing")


def _init(args: Namespace) -> int | None:
    here = os.getcwd()
    project = _project(here)
    if project.root != here and not os.environ.get("HOOKLINE_DIR"):
        _inside(args, project, here)
        return None
    _check_place(project)
    found = look_around(project.root, os.environ)
    report = Report(project.root, _found_json(found))
    report.notes += _remarks(project, found)
    if not args.json:
        _show_found(project, found)
    if not _agreed(args, project):
        note("nothing was written")
        return FAILED
    _set_up(project, found, report)
    if args.json:
        say_json(report)
    else:
        _show_done(report)
    return None


def _project(here: str) -> Project:
    try:
        return find_project(here, os.environ)
    except NoProject:
        return Project(here, os.path.join(here, FOLDER_NAME))


def _inside(args: Namespace, project: Project, here: str) -> None:
    text = f"this folder lies in the project {untrusted(project.root)}; nothing was made here"
    separate = f"for a project of its own, run `mkdir {FOLDER_NAME} && hookline init`"
    if args.json:
        say_json(Report(project.root, {}, kept=[project.root], notes=[text, separate]))
        return
    say(f"{paint('·', 'dim')} {text}")
    say(f"  {separate}")
    say("next: hookline doctor")


def _check_place(project: Project) -> None:
    if project.root == user_folder(os.environ):
        raise BadInput(
            "this is your own configuration folder, not a repository",
            help="run `hookline init` in the root of a repository",
        )
    if os.path.lexists(project.config) and not os.path.isfile(project.config):
        raise BadInput(
            f"{CONFIG_NAME} is there and is not a file: nothing was written",
            help=f"move it away with `mv {CONFIG_NAME} {CONFIG_NAME}.old`, then run this again",
        )
    if os.path.lexists(project.folder) and not os.path.isdir(project.folder):
        raise BadInput(
            f"{project.folder} is there and is not a folder: nothing was written",
            help=f"move it away with `mv {FOLDER_NAME} {FOLDER_NAME}.old`, then run this again",
        )


def _remarks(project: Project, found: Found) -> list[str]:
    remarks = []
    repository = found.repository
    if repository is None:
        remarks.append("there is no git repository: `changed(...)` in `when` will see no files")
    elif repository.root != project.root:
        remarks.append(
            f"the root of the repository is {repository.root}: a project there would be found"
            " from every folder in it"
        )
    for tool in (found.tests, found.linter):
        if tool is not None and not tool.available:
            program = tool.command.split()[0]
            remarks.append(f"{program} is not on PATH: its hook is written as a comment")
    return remarks


# What is done


def _agreed(args: Namespace, project: Project) -> bool:
    """Ask a person before anything is written; a script or a pipe has said it by calling."""
    missing = not os.path.exists(project.config) or not os.path.exists(project.database)
    people = is_terminal(sys.stdin) and is_terminal(sys.stderr)
    if args.yes or args.json or not people or not missing:
        return True
    sys.stderr.write(f"Write {CONFIG_NAME} and {FOLDER_NAME}/ here? [Y/n] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    return bool(answer) and answer.strip().lower() in ("", "y", "yes")


def _set_up(project: Project, found: Found, report: Report) -> None:
    if not os.path.exists(project.database):
        report.next = _first_command(found)
    text = configuration(found)
    wrote = _write(project.config, text)
    (report.created if wrote else report.kept).append(CONFIG_NAME)
    _make_store(project, report)
    _trust(project, text if wrote else None, report)
    if report.trusted and found.repository is not None:
        _pin_base()


def _pin_base() -> None:
    """The branch that is the base now stays it, whatever is checked out later."""
    import asyncio  # only a repository needs it

    from hookline.wiring.work import pin_first_base

    with suppress(RepositoryError), writing() as app:  # such as one without a branch
        asyncio.run(pin_first_base(app))


def _first_command(found: Found) -> str:
    return 'hookline run "say what is to be done"' if found.agents else _FIRST_TASK


def _write(path: str, text: str) -> bool:
    """Write a new file; False if there is one already, whoever made it and whenever."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except FileExistsError:
        return False
    except OSError as problem:
        raise _unwritable(path, problem) from problem
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        with suppress(OSError):
            os.unlink(path)
        raise _unwritable(path, problem) from problem
    return True


def _unwritable(path: str, problem: OSError) -> StoreReadOnly:
    return StoreReadOnly(
        f"cannot write {path}: {problem.strerror}; nothing was changed",
        help="make the folder writable, or run this in a folder of your own",
    )


def _make_store(project: Project, report: Report) -> None:
    existed = os.path.exists(project.database)
    try:
        open_store(project, user_folder(os.environ)).close()
    except Untrusted as problem:
        report.kept.append(_STORE)
        report.ask_for_trust(problem.message)
        return
    (report.kept if existed else report.created).append(_STORE)


def _trust(project: Project, written: str | None, report: Report) -> None:
    """Trust the file that was just written, and nothing that was there before."""
    home = user_folder(os.environ)
    settings = load_configuration(project, home)
    if settings is None:
        return
    state = judge(project, home, settings, os.environ)
    if state.verdict.trusted:
        report.trusted = True
    elif written is None:
        report.ask_for_trust(f"{CONFIG_NAME} was here before and is not trusted")
    elif foreign := _not_ours(state, written):
        report.ask_for_trust(f"the repository also brings {', '.join(foreign[:3])}")
    elif under_agent(os.environ):
        report.ask_for_trust("trust is for people, and this runs under an agent")
    else:
        TrustBook(home).grant(project, state.manifest)
        report.trusted = True


def _not_ours(state: Trust, written: str) -> list[str]:
    ours = hashlib.sha256(written.encode()).hexdigest()
    return [
        untrusted(entry.name)
        for entry in state.manifest.entries
        if entry.name != CONFIG_NAME or entry.content != ours
    ]


# What is shown


def _found_json(found: Found) -> dict[str, object]:
    return {
        "agents": found.agents,
        "tests": found.tests,
        "linter": found.linter,
        "versionControl": found.repository,
    }


def _show_found(project: Project, found: Found) -> None:
    say(f"{paint('Hookline', 'bold')} in {untrusted(project.root)}")
    say()
    tests, linter, repository = found.tests, found.linter, found.repository
    _line(found.agents, "agents", ", ".join(found.agents) or "none on PATH")
    _line(tests, "tests", f"{tests.command}  ({tests.source})" if tests else "none found")
    _line(linter, "linter", f"{linter.command}  ({linter.source})" if linter else "none found")
    branch = repository.branch if repository else None
    shown = f"git, branch {untrusted(branch)}" if branch else "git" if repository else "none"
    _line(repository, "versions", shown)
    say()


def _line(found: object, name: str, text: str) -> None:
    mark = paint("✓", "green") if found else paint("·", "dim")
    say(f"  {mark} {paint(f'{name:9}', 'dim')} {text}")


_DONE = {
    CONFIG_NAME: ("wrote hookline.yaml: short, and each line is explained", "hookline.yaml"),
    _STORE: (
        "made .hookline/: tasks, events and the record of hooks; kept out of git",
        ".hookline/ with its store",
    ),
}


def _show_done(report: Report) -> None:
    done = paint("✓", "green")
    for name in report.created:
        say(f"  {done} {_DONE[name][0]}")
    for name in report.kept:
        say(f"  {paint('·', 'dim')} {_DONE[name][1]} was here already and is unchanged")
    if report.trusted:
        say(f"  {done} {CONFIG_NAME} is trusted: its hooks may run")
    for text in report.notes:
        say(f"  {paint('!', 'yellow')} {untrusted(text)}")
    say("    No agent's settings were touched.")
    say()
    say(f"next: {paint(report.next, 'bold')}")


COMMANDS = {"init": Command("set up Hookline in this repository", _arguments, _init)}
