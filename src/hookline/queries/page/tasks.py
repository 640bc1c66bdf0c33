"""The list of tasks, and a task's story from idea to merge."""

from __future__ import annotations

from hookline.domain.tasks import Task
from hookline.hooks.history.explain import Explanation
from hookline.queries.page.sessions import SessionRow
from hookline.queries.page.shown import EventRow, Shown, Text, Way


class TaskRow(Shown):
    """A task in a line: what it waits for, and the run of the session that works on it.

    `seq` is its newest event.
    """

    task: Task
    unmet: list[str]
    session: str | None
    seq: int


class TasksPage(Shown):
    """Tasks in the order in which they are taken; `next` is the `after` of those that follow.

    `counts` is how many there are in each state.
    """

    seq: int
    tasks: list[TaskRow]
    counts: dict[str, int]
    next: str | None


class TaskLink(Shown):
    """Another task, in a few words."""

    id: str
    goal: str
    state: str


class GateRow(Shown):
    """What a gate said about the work, and what its author answered."""

    seq: int
    at: str | None
    point: str
    gate: str
    status: str
    message: str
    comments: list[str]
    remediation: Text | None
    answer: str
    output: Text | None
    ms: float | None
    run_id: str | None


class TaskPage(Shown):
    """A task's story: its events, sessions and gates, what it cost, and why it is as it is."""

    seq: int
    task: Task
    depends_on: list[TaskLink]
    dependents: list[TaskLink]
    parent: TaskLink | None
    parts: list[TaskLink]
    events: list[EventRow]
    sessions: list[SessionRow]
    gates: list[GateRow]
    notes: list[str]
    usd: float | None
    tokens: int
    turns: int
    why: Explanation
    diff: str | None
    ways: list[Way]
