"""What a check of `hookline doctor` is; the machine, the folder, the settings, the forge."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
from typing import TYPE_CHECKING

import msgspec

from hookline.config import Settings, load_settings
from hookline.config.checks.unguarded import doubts
from hookline.config.reading.render import count
from hookline.errors import HooklineError, LinkedFolder
from hookline.files import refuse_links
from hookline.wiring.project.configured import trust_in
from hookline.wiring.working.forges import forge_problems, is_remote
from hookline.wiring.working.inspection import repository_problem, store_engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from hookline.project import Project

OK, WARNING, FAILED, SKIPPED = "ok", "warning", "failed", "skipped"
OLDEST_PYTHON = (3, 11)
LITTLE_SPACE, NO_SPACE = 200 << 20, 10 << 20


class Diagnosis(msgspec.Struct, frozen=True):
    """One line of the doctor: what was checked, the result, and the fix."""

    name: str
    status: str
    message: str
    fix: str | None = None


def ok(name: str, message: str) -> Diagnosis:
    """All is well."""
    return Diagnosis(name, OK, message)


def warning(name: str, message: str, fix: str | None = None) -> Diagnosis:
    """Worth knowing; nothing is broken."""
    return Diagnosis(name, WARNING, message, fix)


def failed(name: str, message: str, fix: str | None = None) -> Diagnosis:
    """Something is broken, or cannot be relied on."""
    return Diagnosis(name, FAILED, message, fix)


def skipped(name: str, message: str, fix: str | None = None) -> Diagnosis:
    """There is nothing to check."""
    return Diagnosis(name, SKIPPED, message, fix)


def many(number: int, word: str) -> str:
    """A count with its noun: `1 event`, `2 events`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def guarded(name: str, make: Callable[[], Iterable[Diagnosis]]) -> Iterator[Diagnosis]:
    """Checks as they are made; one that raises has failed, and the others continue."""
    try:
        yield from make()
    except HooklineError as problem:
        yield failed(name, problem.message, problem.help)
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        yield failed(name, f"{where}{problem.strerror or problem}", "fix its permissions")
    except Exception as problem:  # noqa: BLE001  # what is checked may be damaged in any way
        fix = "keep a copy of .hookline/ and restore it from a backup; otherwise please report this"
        yield failed(name, f"this could not be checked: {type(problem).__name__}: {problem}", fix)


def machine_checks(home: str) -> Iterator[Diagnosis]:
    """Python, SQLite and the user's folder."""
    python = platform.python_version()
    if sys.version_info[:2] >= OLDEST_PYTHON:
        yield ok("python", f"{python} at {sys.executable}")
    else:
        yield failed("python", f"{python} is too old", "install Python 3.11 or newer")
    engine = store_engine()
    if engine.is_supported:
        yield ok(engine.name.lower(), engine.version)
    else:
        fix = f"install {engine.name} {engine.oldest} or newer"
        yield failed(engine.name.lower(), f"{engine.version} is too old", fix)
    yield _home(home)


def _home(home: str) -> Diagnosis:
    place = home
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    if os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK):
        return ok("your folder", home)
    fix = f"make {place} a folder that you can write, or set HOOKLINE_HOME to another one"
    return failed("your folder", f"{home} cannot be written, so trust cannot be stored", fix)


def folder_checks(project: Project) -> Iterator[Diagnosis]:
    """`.hookline/`: writable, with enough space, without leftovers of killed processes."""
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
        fix = f"chmod u+rwx '{place}', or work in your own folder"
        yield failed("folder", f"{place} cannot be written", fix)
    yield _space(place)
    yield _leftovers(project)


def git_checks(project: Project, environ: Mapping[str, str]) -> Iterator[Diagnosis]:
    """A repository that git cannot read: conditions, sessions and gates all need it."""
    error = asyncio.run(repository_problem(project, environ))
    if error is not None:
        yield failed("git", error, "run `git status` there, and do what it says")


def _space(place: str) -> Diagnosis:
    free = shutil.disk_usage(place).free
    message = f"{free >> 20:,} MiB free"
    if free < NO_SPACE:
        return failed("disk", message, "free some space, or changes will be refused")
    is_little = free < LITTLE_SPACE
    return warning("disk", message, "free some space") if is_little else ok("disk", message)


def _leftovers(project: Project) -> Diagnosis:
    """Outputs that a killed process did not finish storing; those of living ones do not count."""
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


def configuration_checks(project: Project, home: str) -> Iterator[Diagnosis]:
    """The settings are valid, and the user has trusted the repository's code."""
    settings = load_settings(project, home)
    found = [*settings.problems, *doubts(settings, project.root)]
    errors, warnings = count(found)
    if errors:
        counted = f"{many(errors, 'error')}, {many(warnings, 'warning')}"
        message = f"{counted}: configured hooks do not run"
        yield failed("configuration", message, "hookline check")
    elif warnings:
        yield warning("configuration", many(warnings, "warning"), "hookline check")
    else:
        yield ok("configuration", f"{many(_hooks(settings), 'hook')}, no problems")
    verdict = trust_in(project, home, settings, os.environ).verdict
    if verdict.trusted:
        yield ok("trust", verdict.why)
    else:
        message = f"this repository's hooks do not run: {verdict.why}"
        yield warning("trust", message, "look at them, then run: hookline trust")


def _hooks(settings: Settings) -> int:
    """How many hooks there are, those of task types and agents included."""
    scopes = [*settings.type_hooks.values(), *settings.agent_hooks.values()]
    return len(settings.hooks) + sum(len(hooks) for each in scopes for hooks in each.values())


def forge_checks(project: Project, home: str, environ: Mapping[str, str]) -> Iterator[Diagnosis]:
    """What would be refused at the forge and its remote, if agents are configured."""
    settings = load_settings(project, home)
    forge, agents = settings.sections.gates.forge, settings.sections.agents
    if settings.has_errors:
        return
    ask = bool(agents) or is_remote(forge)
    trusted = trust_in(project, home, settings, environ).verdict.trusted
    asking = forge_problems(project, settings, environ, ask=ask, trusted=trusted)
    found = asyncio.run(asking)
    for each in found:
        yield (failed if each.blocks else warning)("forge", each.message, each.help)
    if ask and not found:
        yield ok("forge", f"{forge} allows what the settings require")
