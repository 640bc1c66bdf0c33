"""The story of a session from its journal, for the report: iteration by iteration."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.hooks.records import Delivery
from hookline.domain.runs.projection import effects_of
from hookline.domain.sessions.turns import Usage
from hookline.domain.timestamps import seconds
from hookline.domain.work.repository import EMPTY_TREE, INITIAL
from hookline.errors import StoreCorrupt
from hookline.flows import journal
from hookline.queries.reports.changes import UNCOMMITTED, Change
from hookline.queries.session_details import EndedIteration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hookline.domain.runs.model import JournalEffect, Run
    from hookline.ports.store import Blobs, View

REGISTERED = " registered"


class ToldTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of the agent: exactly what it was told, and what it said."""

    step: str
    at: str
    seconds: float | None
    prompt: str
    text: str
    error: str | None
    tools: int
    files: list[str]
    tokens: int
    usd: float | None
    effect_id: str = ""
    seq: int = 0
    end_seq: int | None = None


class CheckedRule(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A validation rule, what ran for it and what it found."""

    rule_name: str = ""
    passed: bool = False
    command: str | None = None
    exit_code: int | None = None
    message: str | None = None


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """The validation rules and their results."""

    at: str
    seconds: float | None
    results: list[CheckedRule]
    seq: int = 0


class ToldDecision(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """What stop hooks decided together."""

    action: str
    reason: str = ""
    next_prompt: str | None = None


class Fired(msgspec.Struct, frozen=True, kw_only=True):
    """A hook point and the calls of its hooks, with what they decided together."""

    point: str
    at: str
    calls: list[Delivery]
    decision: ToldDecision | None
    seq: int = 0


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Something else that happened: outputs that were delivered, a message, a wait, an ending."""

    title: str
    at: str
    text: str = ""
    seq: int = 0


Step = ToldTurn | Checked | Fired | Told


class ToldChapter(msgspec.Struct, frozen=True, kw_only=True):
    """One iteration, or the part that was begun.

    `commits` is the one that was checked out before the agent's turns, and after them. `base` and
    `tree` are the files as the session found them and as they were last checked, if it kept them.
    """

    iteration: int | None
    began: str | None
    ended: EndedIteration | None
    steps: list[Step]
    commits: tuple[str, str] | None = None
    base: str | None = None
    tree: str | None = None


def chapters(view: View, run: Run, blobs: Blobs, after: int = 0) -> Iterator[ToldChapter]:
    """The chapters of a session after one of them, read one at a time."""
    past = _Past(view, run)
    fired: dict[tuple[str, str], int] = {}
    place = past.borders[after - 1] if 0 < after < len(past.borders) else 0
    for event in view.log.events(node_id=run.run_id, types=("point_fired",), after=place):
        name = event.data["name"].removeprefix(f"{run.run_id}/")
        fired[event.data["point"], name] = event.seq
    for number in range(after + 1, run.chapter + 1):
        effects = view.runs.effects(msgspec.structs.replace(run, chapter=number))
        reader = _Reader(view, blobs, number, fired)
        effects = [reader.whole(effect) for effect in effects or past.effects(number)]
        steps = [step for effect in effects for step in reader.steps(effect)]
        brief = next((e for e in effects if _verb(e) == "brief"), None)
        close = next((e for e in effects if _verb(e) == "close"), None)
        yield ToldChapter(
            iteration=brief.args["iteration"] if brief is not None else None,
            began=effects[0].requested_at if effects else None,
            ended=_ended_iteration(close) if close is not None else None,
            steps=steps,
            **_states(effects),
        )


def _states(effects: Sequence[JournalEffect]) -> dict[str, Any]:
    """What was recorded of the files in a chapter."""
    known = [(each.kind, each.value) for each in effects if isinstance(each.value, dict)]
    commits = [value["commits"] for kind, value in known if kind == "agent" and "commits" in value]
    base = [value.get("tree") for kind, value in known if kind == "work"]
    checked = [value.get("work") or {} for kind, value in known if kind == "validate"]
    trees = [each["tree"] for each in checked if each.get("tree")]
    return {
        "commits": (str(commits[0][0]), str(commits[-1][1])) if commits else None,
        "base": base[0] if base else None,
        "tree": trees[-1] if trees else None,
    }


def iteration_change(chapter: ToldChapter, before: str | None) -> Change | None:
    """What to compare to see what an iteration changed; `before` are the files at its begin."""
    before = before or chapter.base
    if before and chapter.tree:
        is_same = before == chapter.tree
        return None if is_same else Change(older=before, newer=chapter.tree)
    if chapter.commits:
        older, newer = chapter.commits
        return Change(older=EMPTY_TREE if older == INITIAL else older, newer=newer)
    files = chapter.ended.files_modified if chapter.ended else []
    return Change(older="", newer="", unknown=UNCOMMITTED) if files else None


class _Past:
    """Chapters as the log has them: of a session that was pruned, only the log does."""

    def __init__(self, view: View, run: Run) -> None:
        self._log, self._run = view.log, run

    @cached_property
    def borders(self) -> list[int]:
        """Where each chapter begins in the log, and its end."""
        types = ("run_started", "run_chapter")
        found = self._log.stream(node_id=self._run.run_id, types=types)
        return [*(event.seq for event in found), self._log.last() + 1]

    def effects(self, chapter: int) -> list[JournalEffect]:
        """What a chapter asked for, and got."""
        if len(self.borders) <= chapter:  # a store that someone else made may have no such log
            return []
        start, end = self.borders[chapter - 1 : chapter + 1]
        events = self._log.stream(after=start, limit=end - start - 1)
        return effects_of(event for event in events if event.node_id == self._run.run_id)


def receipts(chapter: ToldChapter) -> Iterator[Mapping[str, Any]]:
    """The proofs that stop hooks kept."""
    for step in chapter.steps:
        for call in step.calls if isinstance(step, Fired) else ():
            metadata = call.answer.get("metadata") if isinstance(call.answer, dict) else None
            receipt = metadata.get("receipt") if isinstance(metadata, dict) else None
            if isinstance(receipt, dict):
                yield receipt


def _verb(effect: JournalEffect) -> str | None:
    return effect.args.get("verb") if effect.kind == "session" else None


def _ended_iteration(effect: JournalEffect) -> EndedIteration:
    ended = effect.args["ended"]
    if not isinstance(ended, dict):  # it was put aside, and is damaged
        return EndedIteration(reason=ended)
    value = effect.value if isinstance(effect.value, dict) else {}
    return typed.convert({**ended, **value.get("used", {})}, EndedIteration)


class _Reader:
    """Reads the effects of one chapter."""

    def __init__(
        self, view: View, blobs: Blobs, chapter: int, fired: dict[tuple[str, str], int]
    ) -> None:
        self._view, self._blobs, self._chapter, self._fired = view, blobs, chapter, fired

    def steps(self, effect: JournalEffect) -> Iterator[Step]:
        """What an effect is in the story."""
        value = effect.value if isinstance(effect.value, dict) else {}
        at = journal.started_at(self._view.log, effect) or effect.requested_at
        over = effect.resolved_at
        duration = seconds(over) - seconds(at) if over is not None else None
        if effect.kind == "agent":
            yield _turn(effect, value, at, duration)
        elif effect.kind == "validate":
            found = typed.convert(value.get("results", []), list[CheckedRule])
            yield Checked(at=at, seconds=duration, results=found, seq=effect.requested_seq)
        elif effect.kind == "hook":
            yield from self._point(effect, value)
        elif effect.kind == "session":
            for told in _told(effect, value):
                yield msgspec.structs.replace(told, seq=effect.requested_seq)

    def whole(self, effect: JournalEffect) -> JournalEffect:
        """An effect with its large values, or with why they cannot be read."""
        args = {name: self._argument(each) for name, each in effect.args.items()}
        value = journal.shown(effect.value, self._blobs)
        found: JournalEffect = msgspec.structs.replace(effect, args=args, value=value)
        return found

    def _argument(self, value: Any) -> Any:
        try:
            return journal.inside(value, self._blobs)
        except StoreCorrupt as problem:
            return problem.message

    def _point(self, effect: JournalEffect, value: Mapping[str, Any]) -> Iterator[Fired]:
        point = effect.args["point"]
        name = f"{self._chapter}/{effect.effect_id}"
        places = [self._fired.get((point, name + more)) for more in ("", REGISTERED)]
        found = (seq for seq in places if seq is not None)
        calls = [call for seq in found for call in self._view.calls.deliveries(seq)]
        decision = typed.convert(value, ToldDecision) if "action" in value else None
        if calls or decision is not None:
            yield Fired(
                point=point,
                at=effect.requested_at,
                calls=calls,
                decision=decision,
                seq=effect.requested_seq,
            )


def _turn(
    effect: JournalEffect, value: Mapping[str, Any], at: str, duration: float | None
) -> ToldTurn:
    error = value.get("error") or effect.error
    if error is None and value.get("interrupted"):
        error = "interrupted"
    usage = typed.convert(value.get("usage", {}), Usage)
    return ToldTurn(
        step=effect.step,
        at=at,
        seconds=duration,
        prompt=_prompt(effect.args, value),
        text=value.get("text", ""),
        error=error,
        tools=value.get("tools", 0),
        files=value.get("filesModified", []),
        tokens=usage.tokens,
        usd=usage.usd,
        effect_id=effect.effect_id,
        seq=effect.requested_seq,
        end_seq=effect.resolved_seq,
    )


def _prompt(args: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    """What the agent was told; an opening comes first unless its conversation continued."""
    wanted = args.get("conversation")
    goes_on = wanted is not None and value.get("conversation") == wanted
    said = [args.get("opening") if not goes_on else None, args.get("prompt")]
    return "\n".join(part for part in said if part)


def _told(effect: JournalEffect, value: Mapping[str, Any]) -> Iterator[Told]:
    verb, at = _verb(effect), effect.requested_at
    for message in value.get("messages", ()):
        yield Told(title="A person says", at=at, text=message)
    for held in value.get("held", ()):
        title = f"Given to the agent: {held['point']} {held['hook']}"
        yield Told(title=title, at=at, text=held["text"])
    if verb == "wait":
        reason = "a person paused it" if effect.args.get("paused") else effect.args.get("reason")
        yield Told(title=f"Waits: {reason}", at=at)
    elif verb == "go_on" and not value.get("lost"):
        yield Told(title="Resumes", at=at)
    elif verb == "end":
        ended = effect.args["ended"]
        if not isinstance(ended, dict):  # it was put aside, and is damaged
            ended = {"message": ended}
        yield Told(title=f"Ends: {ended.get('outcome')}", at=at, text=ended.get("message", ""))
