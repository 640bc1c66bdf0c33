"""The list of sessions, and one session: its figures and a line for each iteration."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline import typed
from hookline.domain.runs.model import EVERY, run_number
from hookline.domain.tasks import Task
from hookline.domain.timestamps import seconds
from hookline.queries.page.shown import Shown, Way, newest_seq
from hookline.queries.page.ways import session_ways
from hookline.queries.reports.proofs import only_claimed, session_unproven
from hookline.queries.session_details import (
    EndedIteration,
    HeldText,
    UsedLimit,
    countdown,
    endings,
    session_details,
    spent,
)
from hookline.queries.sessions import SessionFacts, facts
from hookline.sessions.names import find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.app import App
    from hookline.domain.events import Event
    from hookline.domain.runs.model import Run
    from hookline.ports.store import View


class SessionRow(Shown):
    """A session in a line; `seq` is its newest event.

    `unproven` is why nothing but its agent's word says that it is completed.
    """

    known: SessionFacts
    limits: list[UsedLimit]
    usd: float
    tokens: int
    unproven: str | None
    seq: int


class SessionsPage(Shown):
    """The newest sessions; `next` is the `before` of those that follow."""

    seq: int
    sessions: list[SessionRow]
    next: str | None


class IterationRow(Shown):
    """A part of a session in a line; `chapter` names it, since an iteration can begin twice.

    `checked` is whether all of its rules passed, of which there is at least one. `seq` is the event
    with which it began, `end_seq` the one that has its figures.
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
    checked: bool
    usd: float
    tokens: int
    seq: int
    end_seq: int | None


class SessionPage(Shown):
    """A session: its facts and figures, what it waits for, and its iterations in a line each.

    `previous` and `next` are the runs of the sessions before and after it. `proven` is whether its
    own checks passed, and `unproven` why nothing but its agent's word says that it is completed.
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
    proven: bool
    unproven: str | None
    previous: str | None
    next: str | None
    ways: list[Way]


class SessionFilter(NamedTuple):
    """Which sessions: with a status; only some `runs`."""

    status: str | None = None
    runs: tuple[str, ...] | None = None


def sessions_page(app: App, wanted: SessionFilter, before: str | None, limit: int) -> SessionsPage:
    """The newest sessions, older than one of them if wanted."""
    with app.read() as view:
        found = list(islice(_matching(view, wanted, before), limit + 1))
        rows = [session_row(view, run) for run in found[:limit]]
        more = rows[-1].known.run_id if len(found) > limit else None
        return SessionsPage(seq=view.log.last(), sessions=rows, next=more)


def _matching(view: View, wanted: SessionFilter, before: str | None) -> Iterator[Run]:
    border = run_number(before) if before is not None else None
    for run_id in view.sessions.newest(EVERY):
        is_older = border is None or run_number(run_id) < border
        if not is_older or (wanted.runs is not None and run_id not in wanted.runs):
            continue
        run = view.runs.find(run_id)
        if wanted.status is None or facts(view, run).status == wanted.status:
            yield run


def session_row(view: View, run: Run) -> SessionRow:
    """A session in a line."""
    ended = endings(view, run.run_id)
    usd, tokens = spent(ended)
    known = facts(view, run)
    return SessionRow(
        known=known,
        unproven=only_claimed(view, known),
        limits=countdown(view, run.run_id, ended),
        usd=usd,
        tokens=tokens,
        seq=newest_seq(view, run.run_id) or 0,
    )


# One session

_BORDERS = ("run_started", "run_chapter", "session_iteration", "session_iteration_ended")


def session_page(app: App, name: str) -> SessionPage:
    """A session by its name, its run or its task."""
    with app.read() as view:
        run = find(view, name)
        known = facts(view, run)
        details = session_details(view, run, app.blobs)
        place = view.sessions.newest(EVERY)
        at = place.index(run.run_id)
        return SessionPage(
            seq=view.log.last(),
            known=known,
            task=view.graph.find(known.task_id),
            limits=details.countdown,
            usd=details.usd,
            tokens=details.tokens,
            iterations=iteration_rows(view.log.events(node_id=run.run_id, types=_BORDERS)),
            held=details.held,
            messages=details.messages,
            wants=details.wants,
            failed_checks=details.failed_checks,
            pruned=details.pruned,
            proven=session_unproven(view, run) is None,
            unproven=only_claimed(view, known),
            previous=place[at + 1] if at + 1 < len(place) else None,
            next=place[at - 1] if at else None,
            ways=session_ways(known),
        )


def iteration_rows(events: list[Event]) -> list[IterationRow]:
    """The chapters of a session, in order, from the events at which each begins and ends."""
    rows: list[IterationRow] = []
    chapter: list[Event] = []
    for event in events:
        if event.type in ("run_started", "run_chapter") and chapter:
            rows.append(_iteration_row(len(rows) + 1, chapter))
            chapter = []
        chapter.append(event)
    return [*rows, _iteration_row(len(rows) + 1, chapter)] if chapter else rows


def _iteration_row(number: int, events: list[Event]) -> IterationRow:
    begun = next((each for each in events if each.type == "session_iteration"), None)
    over = next((each for each in reversed(events) if each.type.endswith("_ended")), None)
    ended = typed.convert(over.data, EndedIteration) if over is not None else EndedIteration()
    began, until = begun.timestamp if begun else None, over.timestamp if over else None
    return IterationRow(
        chapter=number,
        iteration=ended.iteration or (begun.data["iteration"] if begun is not None else None),
        began=began,
        ended=until,
        seconds=seconds(until) - seconds(began) if began and until else None,
        status=ended.status or None,
        decision=ended.decision,
        reason=ended.reason,
        hook=ended.hook,
        error=ended.error,
        tools=ended.tools,
        files=len(ended.files_modified),
        passed=ended.passed,
        rules=ended.rules,
        checked=0 < ended.rules == ended.passed,
        usd=ended.usd,
        tokens=ended.tokens,
        seq=events[0].seq,
        end_seq=over.seq if over is not None else None,
    )
