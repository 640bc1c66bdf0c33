"""Runs of flows: the list, and one with its journal, effects and breakpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.domain.events import RUN_EVENTS, RUN_NOTES
from hookline.domain.runs import model
from hookline.domain.runs.model import EVERY, JournalEffect, Run, run_number
from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.timestamps import iso
from hookline.errors import BadInput, StoreCorrupt
from hookline.flows.journal import inside, shown
from hookline.flows.outcomes import as_answered
from hookline.queries.page.shown import EventRow, Shown, Way, clipped, event_row, optional_text
from hookline.queries.page.ways import run_ways
from hookline.wiring.running.hosts import advancing

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.ports.store import Blobs, View

MOST_EVENTS = 500
# What happened to a run, besides the journal of its effects.
_TURNS = sorted(
    (RUN_EVENTS | RUN_NOTES) - {"effect_requested", "effect_resolved", "effect_started"}
)


class RunRow(Shown):
    """A run in a line; `asks` is how many of its breakpoints wait for an answer."""

    run_id: str
    flow: str
    status: str
    task_id: str | None
    session: str | None
    created_at: str | None
    updated_at: str | None
    reason: str | None
    error: str | None
    holder: str | None
    wake_at: str | None
    iteration: int
    asks: int


class RunsPage(Shown):
    """Runs, the newest first; `next` is the `before` of those that follow."""

    seq: int
    runs: list[RunRow]
    next: str | None


class EffectRow(Shown):
    """An effect of a run; `seq` is where it was asked for, `end_seq` where it got its result."""

    effect_id: str
    step: str
    kind: str
    status: str
    text: str
    args: Any
    value: Any
    error: str | None
    attempts: int
    requested_at: str
    resolved_at: str | None
    called_run: str | None
    seq: int
    end_seq: int | None


class Breakpoint(Shown):
    """A question that a run asks a person."""

    effect_id: str
    question: str
    since: str
    seq: int


class RunPage(Shown):
    """A run with the journal of one of its chapters, its questions and its events."""

    seq: int
    run: RunRow
    input: Any
    value: Any
    chapter: int
    chapters: int
    effects: list[EffectRow]
    questions: list[Breakpoint]
    events: list[EventRow]
    caller: str | None
    called: list[str]
    ways: list[Way]


class RunFilter(NamedTuple):
    """Which runs: with a status, of a flow."""

    status: str | None = None
    flow: str | None = None


def runs_page(app: App, wanted: RunFilter, before: str | None, limit: int) -> RunsPage:
    """Runs, the newest first."""
    with app.read() as view:
        most = EVERY if before is not None else limit + 1
        if wanted.flow is not None:
            found = view.runs.of_flow(wanted.flow, EVERY)[::-1]
            found = [run for run in found if wanted.status in (None, run.status)]
        else:
            found = view.runs.runs(status=wanted.status, limit=most)
        if before is not None:
            border = run_number(before)
            found = [run for run in found if run_number(run.run_id) < border]
        return RunsPage(
            seq=view.log.last(),
            runs=[_row(view, run) for run in found[:limit]],
            next=found[limit - 1].run_id if len(found) > limit else None,
        )


def _row(view: View, run: Run) -> RunRow:
    told = as_answered(view, run)
    return RunRow(
        run_id=run.run_id,
        flow=run.flow,
        status=run.status,
        task_id=optional_text(run.input.get("taskId")),
        session=optional_text(run.input.get("name")) if run.flow == SESSION else None,
        created_at=run.created_at,
        updated_at=run.updated_at,
        reason=told.reason,
        error=run.error,
        holder=advancing(view, run.run_id),
        wake_at=iso(run.wake_at) if run.wake_at is not None else None,
        iteration=run.iteration,
        asks=len(_questions(view, run)),
    )


def _questions(view: View, run: Run) -> list[JournalEffect]:
    if run.status in model.TERMINAL:
        return []
    return [each for each in view.runs.pending(run) if each.kind == "breakpoint"]


# One run


def run_page(app: App, identifier: str, chapter: int | None) -> RunPage:
    """A run with one of its chapters, by default the newest."""
    with app.read() as view:
        run = view.runs.find(identifier)
        number = run.chapter if chapter is None else chapter
        if not 1 <= number <= run.chapter:
            raise BadInput(f"{run.run_id} has {run.chapter} chapters")
        effects = view.runs.effects(msgspec.structs.replace(run, chapter=number))
        caller = view.runs.caller_of(run.run_id)
        told = view.log.events(node_id=run.run_id, types=_TURNS)
        return RunPage(
            seq=view.log.last(),
            run=_row(view, run),
            input=clipped(run.input),
            value=clipped(shown(run.value, app.blobs)),
            chapter=number,
            chapters=run.chapter,
            effects=[_effect(each, app.blobs) for each in effects],
            questions=[_breakpoint(each) for each in _questions(view, run)],
            events=[event_row(each) for each in told[-MOST_EVENTS:]],
            caller=caller.run_id if caller is not None else None,
            called=view.runs.called_by(run.run_id),
            ways=run_ways(run),
        )


def _effect(effect: JournalEffect, blobs: Blobs) -> EffectRow:
    about = effect.args.get("question") or effect.command or effect.called_flow
    args = {name: _argument(value, blobs) for name, value in effect.args.items()}
    return EffectRow(
        effect_id=effect.effect_id,
        step=effect.step,
        kind=effect.kind,
        status=effect.status,
        text=str(about),
        args=clipped(args),
        value=clipped(shown(effect.value, blobs)),
        error=effect.error,
        attempts=effect.attempts,
        requested_at=effect.requested_at,
        resolved_at=effect.resolved_at,
        called_run=effect.called_run,
        seq=effect.requested_seq,
        end_seq=effect.resolved_seq,
    )


def _argument(value: Any, blobs: Blobs) -> Any:
    try:
        return inside(value, blobs)
    except StoreCorrupt as problem:
        return problem.message


def _breakpoint(effect: JournalEffect) -> Breakpoint:
    return Breakpoint(
        effect_id=effect.effect_id,
        question=str(effect.args.get("question", "")),
        since=effect.requested_at,
        seq=effect.requested_seq,
    )
