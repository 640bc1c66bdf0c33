"""The loop of a session: what it adds to each iteration, and whether that stays the same."""

from __future__ import annotations

import os
import sqlite3
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.commands import install
from benchmarks.loops import INSTANT, INTERPRETED, Case, new_project, take_turns, told
from benchmarks.measure import Plan, Result, by_turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.commands import Installed
    from benchmarks.loops import Project

AIM = 2.0
FLAT = 1.5
HOOKS = 10
FLOOR = "a shell loop over the same lines"
CASES = (
    Case("instant agent, 0 hooks", INSTANT),
    Case(f"instant agent, {HOOKS} hooks", INSTANT, HOOKS),
    Case("python agent, 0 hooks", INTERPRETED),
    Case(f"python agent, {HOOKS} hooks", INTERPRETED, HOOKS),
    Case("instant agent, 0 hooks, without git", INSTANT, git=False),
)
_GROUP = 5
_BEGINNINGS = (
    "SELECT timestamp FROM events WHERE type = 'session_iteration' ORDER BY seq DESC LIMIT ?"
)


def measure(plan: Plan) -> Iterator[Result]:
    """An iteration beside a shell loop, and the iterations of a long session."""
    installed = install(os.path.join(plan.folder, "installed"))
    yield from _iterations(plan, installed)
    yield _sync(plan)
    yield from _long_session(plan, installed)


def _iterations(plan: Plan, installed: Installed) -> Iterator[Result]:
    for number, case in enumerate(CASES):
        project = new_project(case, os.path.join(plan.folder, f"case{number}"), installed)
        loops = (project.session, project.shell)
        ours, floor = take_turns(loops, plan.rounds(40, 8), plan.rounds(5, 2))
        name, note = f"session: {case.name}", told(ours, floor)
        yield Result(name, ours.typical, floor.typical, FLOOR, AIM, note)


def _sync(plan: Plan) -> Result:
    """What the disk asks for one commit; a shell loop has none."""
    with open(os.path.join(plan.folder, "synced"), "wb", buffering=0) as file:

        def act() -> None:
            file.write(b"." * 4096)
            os.fdatasync(file.fileno())

        (took,) = by_turns((act,), plan.rounds(200, 40))
    return Result("session: the disk, 4 KiB written and synced", took, None, "", None)


def _long_session(plan: Plan, installed: Installed) -> Iterator[Result]:
    count = plan.rounds(500, 60)
    window = count // 10
    project = new_project(CASES[0], os.path.join(plan.folder, "long"), installed)
    before = _size(project)
    project.session(count)
    stored = (_size(project) - before) / count / 1024
    took = _durations(project, count)
    first = _typical(took[:window])
    begin = (count - window) // 2
    for name, part in (("middle", took[begin : begin + window]), ("last", took[-window:])):
        shown = f"session: {name} {window} of {count} iterations"
        note = f"the store grew by {stored:.1f} KiB an iteration" if name == "last" else ""
        yield Result(shown, _typical(part), first, f"the first {window}", FLAT, note)


def _durations(project: Project, count: int) -> list[float]:
    """From the begin of each iteration of the last session to that of the next one."""
    connection = sqlite3.connect(_database(project))
    try:
        rows = connection.execute(_BEGINNINGS, (count,)).fetchall()
    finally:
        connection.close()
    began = [datetime.fromisoformat(row[0]).timestamp() for row in reversed(rows)]
    return [after - before for before, after in pairwise(began)]


def _typical(durations: list[float]) -> float:
    """The median of small groups: the log knows milliseconds, and one iteration has few."""
    groups = range(0, len(durations) - _GROUP + 1, _GROUP)
    return median(sum(durations[at : at + _GROUP]) / _GROUP for at in groups)


def _size(project: Project) -> int:
    """Bytes of everything that Hookline keeps in the project."""
    connection = sqlite3.connect(_database(project))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    folder = os.path.join(project.root, ".hookline")
    return sum(
        os.path.getsize(os.path.join(place, name))
        for place, _, names in os.walk(folder)
        for name in names
    )


def _database(project: Project) -> str:
    return os.path.join(project.root, ".hookline", "hookline.db")
