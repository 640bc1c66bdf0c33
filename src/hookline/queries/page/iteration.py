"""One iteration of a session in full: what was told, said, checked, called and decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.sessions.tools import UsedTool, note_tool
from hookline.domain.timestamps import seconds
from hookline.errors import BadInput
from hookline.queries.page.shown import CallRow, Shown, Text, call_row, text
from hookline.queries.reports.story import (
    Checked,
    CheckedRule,
    Fired,
    Told,
    ToldDecision,
    ToldTurn,
    chapters,
)
from hookline.queries.session_details import EndedIteration
from hookline.sessions.names import find

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.app import App
    from hookline.ports.feeds import FeedRecord
    from hookline.ports.store import View
    from hookline.queries.reports.story import Step, ToldChapter

# So much of a session's feed is searched for the tools of a turn.
MAX_FEED = 4 * 1024 * 1024


class ToolUse(Shown):
    """A tool that an agent used, as far as what it said is still there."""

    at: str
    name: str
    detail: str
    ok: bool | None
    seconds: float | None


class TurnStep(Shown, tag_field="kind", tag="turn"):
    """A turn of the agent: the exact bytes that it was told, and what it said."""

    effect_id: str
    at: str
    seconds: float | None
    prompt: Text
    text: Text
    error: str | None
    tools: int
    used: list[ToolUse]
    files: list[str]
    tokens: int
    usd: float | None
    seq: int
    end_seq: int | None


class ChecksStep(Shown, tag_field="kind", tag="checks"):
    """The validation rules and their results."""

    at: str
    seconds: float | None
    results: list[CheckedRule]
    seq: int


class PointStep(Shown, tag_field="kind", tag="point"):
    """A hook point, the calls of its hooks, and what they decided together."""

    point: str
    at: str
    calls: list[CallRow]
    decision: ToldDecision | None
    seq: int


class ToldStep(Shown, tag_field="kind", tag="told"):
    """Something else: outputs that were delivered, a message, a wait, an ending."""

    title: str
    at: str
    text: Text
    seq: int


ToldSteps = TurnStep | ChecksStep | PointStep | ToldStep


class IterationPage(Shown):
    """One part of a session; `diff` is where the API has what it changed."""

    run_id: str
    chapter: int
    iteration: int | None
    began: str | None
    ended: EndedIteration | None
    steps: list[ToldSteps]
    previous: int | None
    next: int | None
    diff: str | None


def iteration_page(app: App, name: str, chapter: int) -> IterationPage:
    """One part of a session in full."""
    with app.read() as view:
        run = find(view, name)
        found = next(chapters(view, run, app.blobs, chapter - 1), None) if chapter > 0 else None
        if found is None or chapter > run.chapter:
            raise BadInput(f"{run.run_id} has no part {chapter}", help="it is counted from 1")
        place = f"/api/sessions/{run.run_id}/iterations/{chapter}"
        return IterationPage(
            run_id=run.run_id,
            chapter=chapter,
            iteration=found.iteration,
            began=found.began,
            ended=found.ended,
            steps=told_steps(view, found, tools_used(app, run.run_id), place),
            previous=chapter - 1 if chapter > 1 else None,
            next=chapter + 1 if chapter < run.chapter else None,
            diff=f"{place}/diff",
        )


def told_steps(
    view: View, chapter: ToldChapter, used: list[ToolUse], place: str | None
) -> list[ToldSteps]:
    """What happened in a part of a session; `place` is where the API has all of a long text."""
    return [_step(view, step, place, used) for step in chapter.steps]


def effect_text(app: App, name: str, chapter: int, effect_id: str, part: str) -> str:
    """All that an agent was told in a turn (`prompt`), or said (`text`)."""
    with app.read() as view:
        run = find(view, name)
        found = next(chapters(view, run, app.blobs, chapter - 1), None) if chapter > 0 else None
        for step in found.steps if found is not None else ():
            if isinstance(step, ToldTurn) and step.effect_id == effect_id:
                return step.prompt if part == "prompt" else step.text
            if isinstance(step, Told) and f"{step.seq}" == effect_id:
                return step.text
    raise BadInput(f"{run.run_id} has no such text")


def _step(view: View, step: Step, place: str | None, used: list[ToolUse]) -> ToldSteps:
    if isinstance(step, ToldTurn):
        return _turn(step, place and f"{place}/texts/{step.effect_id}", used)
    if isinstance(step, Checked):
        return ChecksStep(at=step.at, seconds=step.seconds, results=step.results, seq=step.seq)
    if isinstance(step, Fired):
        calls = [call_row(view, each, whole=place is None) for each in step.calls]
        return PointStep(
            point=step.point, at=step.at, calls=calls, decision=step.decision, seq=step.seq
        )
    whole = text(step.text, place and f"{place}/texts/{step.seq}/text")
    return ToldStep(title=step.title, at=step.at, text=whole, seq=step.seq)


def _turn(turn: ToldTurn, place: str | None, used: list[ToolUse]) -> TurnStep:
    until = None if turn.seconds is None else seconds(turn.at) + turn.seconds
    own = [each for each in used if _is_within(each, seconds(turn.at), until)]
    return TurnStep(
        effect_id=turn.effect_id,
        at=turn.at,
        seconds=turn.seconds,
        prompt=text(turn.prompt, place and f"{place}/prompt"),
        text=text(turn.text, place and f"{place}/text"),
        error=turn.error,
        tools=turn.tools,
        used=own,
        files=turn.files,
        tokens=turn.tokens,
        usd=turn.usd,
        seq=turn.seq,
        end_seq=turn.end_seq,
    )


def _is_within(use: ToolUse, begin: float, end: float | None) -> bool:
    at = seconds(use.at)
    return begin <= at and (end is None or at <= end)


def tools_used(app: App, run_id: str) -> list[ToolUse]:
    """The tools that a session's agent used, as far as its feed is still there."""
    return _tools(app.feeds.reader(run_id, tail=MAX_FEED).new())


def _tools(records: Iterable[FeedRecord]) -> list[ToolUse]:
    found: list[UsedTool] = []
    for record in records:
        if record["type"] == "agent":
            note_tool(found, record.get("timestamp"), record["data"])
    return [_tool(each) for each in found]


def _tool(used: UsedTool) -> ToolUse:
    until = used.ended
    return ToolUse(
        at=used.began,
        name=used.name,
        detail=used.detail,
        ok=used.is_ok if until is not None else None,
        seconds=seconds(until) - seconds(used.began) if until is not None else None,
    )
