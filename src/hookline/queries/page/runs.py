"""Runs of flows: the list, and one with its journal, effects and breakpoints."""

from __future__ import annotations

from typing import Any

from hookline.queries.page.shown import EventRow, Shown, Way


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
