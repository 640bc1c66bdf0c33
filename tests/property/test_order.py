"""Priorities that put tasks into an order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from hookline.domain.tasks import READY, Task
from hookline.tasks.order import priorities

if TYPE_CHECKING:
    from collections.abc import Sequence


def tasks_of(numbers: Sequence[int], wanted: Sequence[int]) -> list[Task]:
    return [
        Task(id=f"T-{number}", goal="x", state=READY, priority=priority)
        for number, priority in zip(numbers, wanted, strict=True)
    ]


@st.composite
def orders(draw: st.DrawFn) -> list[Task]:
    """Tasks in any order, with any priorities."""
    numbers = draw(st.lists(st.integers(1, 50), unique=True, max_size=12))
    wanted = draw(st.lists(st.integers(0, 6), min_size=len(numbers), max_size=len(numbers)))
    return tasks_of(numbers, wanted)


def key(task: Task, priority: int) -> tuple[int, int]:
    return priority, int(task.id[2:])


@given(orders())
def test_tasks_are_taken_in_the_order_that_is_asked_for(tasks: list[Task]) -> None:
    found = priorities(tasks)
    keys = [key(task, priority) for task, priority in zip(tasks, found, strict=True)]
    assert keys == sorted(keys)
    assert all(priority >= 0 for priority in found)


@given(orders())
def test_tasks_that_are_in_order_keep_their_priorities(tasks: list[Task]) -> None:
    tasks.sort(key=lambda task: key(task, task.priority))
    assert priorities(tasks) == [task.priority for task in tasks]


def test_one_task_that_moves_changes_alone() -> None:
    up = tasks_of([9, 1, 2, 3], [2, 2, 2, 2])
    assert priorities(up) == [1, 2, 2, 2]
    down = tasks_of([2, 3, 4, 1], [2, 2, 2, 2])
    assert priorities(down) == [2, 2, 2, 3]
