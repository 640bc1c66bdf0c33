"""What a check of `hookline doctor` is, and those of the machine, the folder and the settings."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sqlite3
import sys
from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.git.work import GitWork
from hookline.adapters.process import LocalProcesses
from hookline.app import judge
from hookline.config import load_settings
from hookline.config.render import count
from hookline.config.untested import untested
from hookline.errors import HooklineError, LinkedFolder
from hookline.files import refuse_links

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from hookline.config import Settings
    from hookline.project import Project

OK, WARNING, FAILED, SKIPPED = "ok", "warning", "failed", "skipped"
OLDEST_PYTHON = (3, 11)
OLDEST_SQLITE = (3, 35, 0)  # the first with RETURNING
LITTLE_SPACE, NO_SPACE = 200 << 20, 10 << 20


class Check(msgspec.Struct, frozen=True):
    """One line of the doctor's: what was looked at, how it is, and what to do about it."""

    name: str
    status: str
    message: str
    fix: str | None = None


def ok(name: str, message: str) -> Check:
    """All is well."""
    return Check(name, OK, message)


def warning(name: str, message: str, fix: str | None = None) -> Check:
    """Worth knowing; nothing is broken."""
    return Check(name, WARNING, message, fix)


def failed(name: str, message: str, fix: str | None = None) -> Check:
    """Something is broken, or cannot be relied on."""
    return Check(name, FAILED, message, fix)


def skipped(name: str, message: str, fix: str | None = None) -> Check:
    """There is nothing to look at."""
    return Check(name, SKIPPED, message, fix)


def many(number: int, word: str) -> str:
    """A number of things, in words that fit one as well: `1 event`, `2 events`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def guarded(name: str, make: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """Checks as they are made; one that cannot be made has failed, and the others go on."""
    try:
        yield from make()
    except HooklineError as problem:
        yield failed(name, problem.message, problem.help)
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        yield failed(name, f"{where}{problem.strerror or problem}", "fix its permissions")
    except Exception as problem:  # noqa: BLE001  # what is looked at may be damaged in any way
        yield failed(
            name,
            f"this could not be checked: {type(problem).__name__}: {problem}",
            "keep a copy of .hookline/ and restore it from a backup; else please report this",
        )


def machine_checks(home: str) -> Iterator[Check]:
    """Python, SQLite and the user's folder."""
    python = platform.python_version()
    if sys.version_info[:2] >= OLDEST_PYTHON:
        yield ok("python", f"{python} at {sys.executable}")
    else:
        yield failed("python", f"{python} is too old", "install Python 3.11 or newer")
    if sqlite3.sqlite_version_info >= OLDEST_SQLITE:
        yield ok("sqlite", sqlite3.sqlite_version)
    else:
        yield failed("sqlite", f"{sqlite3.sqlite_version} is too old", "install SQLite 3.31")
    yield _home(home)


def _home(home: str) -> Check:
    place = home
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    if os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK):
        return ok("your folder", home)
    fix = f"make {place} a folder that you can write, or name another with HOOKLINE_HOME"
    return failed("your folder", f"{home} cannot be written: trust has no place", fix)


def folder_checks(project: Project) -> Iterator[Check]:
    """`.hookline/`: writable, with room, without remains of killed processes."""
    place = project.folder if os.path.lexists(project.folder) else project.root
    if not os.path.isdir(place):
        yield failed("folder", f"{place} is not a folder", f"mv '{place}' '{place}.old'")
        return
    try:
        refuse_links(project.folder)
    except LinkedFolder as problem:
        yield failed("links", problem.message, str(problem.help))
        return
    if os.access(place, os.W_OK | os.X_OK):
        yield ok("folder", f"{place} is writable")
    else:
        fix = f"chmod u+rwx '{place}', or work in a folder of your own"
        yield failed("folder", f"{place} cannot be written", fix)
    yield _space(place)
    yield _leftovers(project)


def git_checks(project: Project, environ: Mapping[str, str]) -> Iterator[Check]:
    """A repository that git cannot read: conditions, sessions and gates all ask it."""
    work = GitWork(LocalProcesses(project.blobs), environ, objects="", trusted=False)
    error = asyncio.run(work.state(project.root)).error
    if error is not None:
        yield failed("git", error, "run `git status` there, and do what it says")


def _space(place: str) -> Check:
    free = shutil.disk_usage(place).free
    message = f"{free >> 20:,} MiB free"
    if free < NO_SPACE:
        return failed("disk", message, "free some space: changes will be refused")
    return (
        warning("disk", message, "free some space") if free < LITTLE_SPACE else ok("disk", message)
    )


def _leftovers(project: Project) -> Check:
    """Outputs that a killed process did not finish to store; those of living ones do not count."""
    try:
        names = os.listdir(project.blobs)
    except FileNotFoundError:
        return ok("leftovers", "none")
    left = [name for name in names if name.startswith(".incoming-") and not _has_writer(name)]
    if not left:
        return ok("leftovers", "none")
    shown = os.path.join(project.blobs, ".incoming-")
    return warning("leftovers", f"{many(len(left), 'unfinished file')} in blobs/", f"rm '{shown}'*")


def _has_writer(name: str) -> bool:
    pid = name.split("-")[1]
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def configuration_checks(project: Project, home: str) -> Iterator[Check]:
    """The settings hold together, and the user has trusted what the repository brings."""
    settings = load_settings(project, home)
    errors, warnings = count([*settings.problems, *untested(settings, project.root)])
    if errors:
        message = (
            f"{many(errors, 'error')}, {many(warnings, 'warning')}: configured hooks do not run"
        )
        yield failed("configuration", message, "hookline check")
    elif warnings:
        yield warning("configuration", many(warnings, "warning"), "hookline check")
    else:
        yield ok("configuration", f"{many(_hooks(settings), 'hook')}, no problems")
    verdict = judge(project, home, settings, os.environ).verdict
    if verdict.trusted:
        yield ok("trust", verdict.why)
    else:
        message = f"this repository's hooks do not run: {verdict.why}"
        yield warning("trust", message, "look at them, then run: hookline trust")


def _hooks(settings: Settings) -> int:
    """How many hooks there are, those of task types and agents included."""
    scopes = [*settings.type_hooks.values(), *settings.agent_hooks.values()]
    return len(settings.hooks) + sum(len(hooks) for each in scopes for hooks in each.values())
