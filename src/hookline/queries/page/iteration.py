"""One iteration of a session in full: what was told, said, checked, called and decided."""

from __future__ import annotations

from hookline.queries.page.shown import CallRow, Shown, Text
from hookline.queries.session_story import CheckedRule, ToldDecision
from hookline.queries.sessions import EndedIteration


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


class IterationPage(Shown):
    """One part of a session; `diff` is where the API has what it changed."""

    run_id: str
    chapter: int
    iteration: int | None
    began: str | None
    ended: EndedIteration | None
    steps: list[TurnStep | ChecksStep | PointStep | ToldStep]
    previous: int | None
    next: int | None
    diff: str | None
