"""A change with its event and the record of its hooks, committed to the disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from benchmarks.floors import RawStore
from benchmarks.measure import Plan, Result, by_turns
from benchmarks.stores import new_project
from hookline.tasks import verbs

if TYPE_CHECKING:
    from collections.abc import Iterator

AIM = 1.5
FLOOR = "the same rows by raw SQL"


def measure(plan: Plan) -> Iterator[Result]:
    """Adding and updating a task."""
    app = new_project(os.path.join(plan.folder, "changes"))
    raw = RawStore(plan.folder)
    rounds = plan.rounds(1500, 200)
    numbers = iter(range(10 * rounds))

    def add() -> None:
        app.change(verbs.add, "measure how fast this is")

    def update() -> None:
        app.change(verbs.update, "T-1", {"priority": next(numbers) % 9})

    try:
        ours, floor = by_turns((add, raw.add), rounds)
        yield Result("change: add a task", ours, floor, FLOOR, AIM)
        ours, floor = by_turns((update, raw.update), rounds)
        yield Result("change: update a task", ours, floor, FLOOR, AIM)
    finally:
        raw.close()
        app.close()
