"""`hookline doctor`: is everything as it should be? Each line a mark, and the fix where it is not.

Reads only: a damaged, foreign or newer store is reported, never touched.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.errors import FAILED, OK, NoProject
from hookline.project import find_project, user_folder
from hookline.queries.doctor import checks
from hookline.queries.doctor.agents import agent_checks, profile_checks
from hookline.queries.doctor.controls import control_checks
from hookline.queries.doctor.hooks import path_checks, program_checks
from hookline.queries.doctor.store import store_checks
from hookline.queries.doctor.telemetry import telemetry_checks
from hookline.surfaces.cli.command import Command, no_arguments
from hookline.surfaces.cli.output import answer, paint, say, say_row, untrusted

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from hookline.project import Project
    from hookline.queries.doctor.checks import Diagnosis

_MARKS = {
    checks.OK: ("✓", "green"),
    checks.WARNING: ("!", "yellow"),
    checks.FAILED: ("✗", "red"),
    checks.SKIPPED: ("·", "dim"),
}


def _doctor(args: Namespace) -> int:
    found: list[Diagnosis] = []
    for title, group in _examine():
        if not args.json:
            say(paint(title, "bold"))
        for each in group:
            found.append(each)
            if not args.json:
                _show(each)
    failed = [each for each in found if each.status == checks.FAILED]
    if answer(args, {"ok": not failed, "checks": found}):
        _sum_up(found)
    return FAILED if failed else OK


def _examine() -> Iterator[tuple[str, Iterator[Diagnosis]]]:
    """The groups of checks, each made while it is read."""
    home = user_folder(os.environ)
    yield "This machine", checks.guarded("machine", lambda: checks.machine_checks(home))
    yield "Agents", checks.guarded("agents", lambda: agent_checks(os.environ))
    try:
        project = find_project(os.getcwd(), os.environ)
    except NoProject as problem:
        yield "Project", iter([checks.skipped("project", problem.message, problem.help)])
    else:
        yield f"Project {untrusted(project.root)}", _project(project, home)
    yield "Controls: what must be blocked", checks.guarded("controls", control_checks)


def _project(project: Project, home: str) -> Iterator[Diagnosis]:
    yield from checks.guarded("folder", lambda: checks.folder_checks(project))
    yield from checks.guarded("git", lambda: checks.git_checks(project, os.environ))
    yield from checks.guarded("store", lambda: store_checks(project, home))
    yield from checks.guarded("configuration", lambda: checks.configuration_checks(project, home))
    yield from checks.guarded("forge", lambda: checks.forge_checks(project, home, os.environ))
    yield from checks.guarded("path", lambda: path_checks(os.environ))
    yield from checks.guarded("hooks", lambda: program_checks(project, home, os.environ))
    yield from checks.guarded("profiles", lambda: profile_checks(project, home, os.environ))
    yield from checks.guarded("telemetry", lambda: telemetry_checks(project, os.environ))


def _show(check: Diagnosis) -> None:
    mark, style = _MARKS[check.status]
    say_row(f"  {paint(mark, style)} {check.name:14} {untrusted(check.message)}", 19)
    if check.fix:
        say(f"      {paint('fix:', 'dim')} {untrusted(check.fix)}")


def _sum_up(found: list[Diagnosis]) -> None:
    counts = {status: sum(each.status == status for each in found) for status in _MARKS}
    warnings = checks.many(counts[checks.WARNING], "warning")
    say()
    if counts[checks.FAILED]:
        say(paint(f"{counts[checks.FAILED]} failed, {warnings}", "red"))
    elif counts[checks.WARNING]:
        say(f"nothing failed; {warnings}")
    else:
        say(paint("everything works", "green") + f": {counts[checks.OK]} checks passed")


COMMANDS = {"doctor": Command("check agents, hooks, store and log", no_arguments, _doctor)}
