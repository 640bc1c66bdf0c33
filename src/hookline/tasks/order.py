"""Priorities that put tasks into an order. Tasks are taken by priority, then by number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.tasks import task_number
from hookline.errors import BadInput
from hookline.tasks import verbs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.tasks import Task
    from hookline.ports.store import Transaction

MOST_TASKS = 2000


def put_in_order(tx: Transaction, identifiers: Sequence[str]) -> list[str]:
    """Give tasks such priorities that they are taken in this order; those that changed."""
    if len(identifiers) > MOST_TASKS:
        raise BadInput(f"at most {MOST_TASKS:,} tasks can be put into an order at once")
    tasks = [tx.graph.task(each) for each in identifiers]
    if len({task.id for task in tasks}) < len(tasks):
        raise BadInput("a task can be in an order only once")
    changed = []
    for task, priority in zip(tasks, priorities(tasks), strict=True):
        if priority != task.priority:
            verbs.update(tx, task.id, {"priority": priority})
            changed.append(task.id)
    return changed


def priorities(tasks: Sequence[Task]) -> list[int]:
    """The priorities of tasks in their order: of two ways, the one that changes fewer of them."""
    ways = [_forwards(tasks), _backwards(tasks)]
    return min(
        (each for each in ways if min(each, default=0) >= 0), key=lambda w: _changes(tasks, w)
    )


def _changes(tasks: Sequence[Task], found: Sequence[int]) -> int:
    return sum(task.priority != new for task, new in zip(tasks, found, strict=True))


def _forwards(tasks: Sequence[Task]) -> list[int]:
    """Each as early as it was, but not before the one in front of it."""
    found: list[int] = []
    least = min((task.priority for task in tasks), default=0)
    for at, task in enumerate(tasks):
        later = min((each.priority for each in tasks[at:]), default=task.priority)
        wanted = max(min(task.priority, later), least)
        if found:
            wanted = max(wanted, found[-1] + _step(tasks[at - 1], task))
        found.append(wanted)
    return found


def _backwards(tasks: Sequence[Task]) -> list[int]:
    """Each as late as it was, but not after the one behind it; less than 0 where that is needed."""
    found: list[int] = []
    for at in range(len(tasks) - 1, -1, -1):
        wanted = tasks[at].priority
        if found:
            wanted = min(wanted, found[-1] - _step(tasks[at], tasks[at + 1]))
        found.append(wanted)
    return found[::-1]


def _step(first: Task, second: Task) -> int:
    """How much more the priority of a task must be than that of the one before it."""
    return int(task_number(first.id) > task_number(second.id))
