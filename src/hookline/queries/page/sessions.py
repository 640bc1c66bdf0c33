"""The list of sessions, and one session: its figures and a line for each iteration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hookline.domain.tasks import Task
from hookline.queries.page.shown import Shown, Way
from hookline.queries.sessions import HeldText, SessionFacts, UsedLimit


class SessionRow(Shown):
    """A session in a line; `seq` is its newest event."""

    known: SessionFacts
    limits: list[UsedLimit]
    usd: float
    tokens: int
    seq: int


class SessionsPage(Shown):
    """The newest sessions; `next` is the `before` of those that follow."""

    seq: int
    sessions: list[SessionRow]
    next: str | None


class IterationRow(Shown):
    """A part of a session in a line; `chapter` names it, since an iteration can begin twice.

    `seq` is the event with which it began, `end_seq` the one that has its figures.
    """

    chapter: int
    iteration: int | None
    began: str | None
    ended: str | None
    seconds: float | None
    status: str | None
    decision: str | None
    reason: str | None
    hook: str | None
    error: str | None
    tools: int
    files: int
    passed: int
    rules: int
    usd: float
    tokens: int
    seq: int
    end_seq: int | None


class SessionPage(Shown):
    """A session: its facts and figures, what it waits for, and its iterations in a line each.

    `previous` and `next` are the runs of the sessions before and after it.
    """

    seq: int
    known: SessionFacts
    task: Task | None
    limits: list[UsedLimit]
    usd: float
    tokens: int
    iterations: list[IterationRow]
    held: list[HeldText]
    messages: list[str]
    wants: str | None
    failed_checks: list[Mapping[str, Any]]
    pruned: str | None
    previous: str | None
    next: str | None
    ways: list[Way]
