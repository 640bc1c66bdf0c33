"""The list of sessions, and one session: its figures and a line for each iteration."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from hookline.domain.runs.model import run_number
from hookline.domain.tasks import Task
from hookline.queries.page.shown import Shown, Way
from hookline.queries.sessions import (
    HeldText,
    SessionFacts,
    UsedLimit,
    countdown,
    endings,
    facts,
    spent,
)
from hookline.sessions.names import all_sessions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.ports.store import View


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


def sessions_page(app: App, status: str | None, before: str | None, limit: int) -> SessionsPage:
    """The newest sessions, older than one of them if wanted."""
    with app.read() as view:
        found = list(islice(_matching(view, status, before), limit + 1))
        rows = [session_row(view, run) for run in found[:limit]]
        more = rows[-1].known.run_id if len(found) > limit else None
        return SessionsPage(seq=view.log.last(), sessions=rows, next=more)


def _matching(view: View, status: str | None, before: str | None) -> Iterator[Run]:
    border = run_number(before) if before is not None else None
    for run in all_sessions(view):
        if border is not None and run_number(run.run_id) >= border:
            continue
        if status is None or facts(view, run).status == status:
            yield run


def session_row(view: View, run: Run) -> SessionRow:
    """A session in a line."""
    ended = endings(view, run.run_id)
    usd, tokens = spent(ended)
    newest = view.log.newest(run.run_id)
    return SessionRow(
        known=facts(view, run),
        limits=countdown(view, run.run_id, ended),
        usd=usd,
        tokens=tokens,
        seq=newest.seq if newest is not None else 0,
    )
