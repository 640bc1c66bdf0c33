"""The story of a session as its journal tells it, for the report: iteration by iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.moments import seconds
from hookline.domain.records import Delivery
from hookline.errors import StoreCorrupt
from hookline.flows import journal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.adapters.store.sqlite import View
    from hookline.domain.runs import JournalEffect, Run
    from hookline.ports.store import Blobs

REGISTERED = " registered"


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of the agent: exactly what it was told, and what it said."""

    step: str
    at: str
    seconds: float | None
    prompt: str
    text: str
    error: str | None
    tools: int
    files: list[str]
    usage: dict[str, Any]


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """The validation rules and what came of them."""

    at: str
    seconds: float | None
    results: list[dict[str, Any]]


class Fired(msgspec.Struct, frozen=True, kw_only=True):
    """A hook point and the calls of its hooks, with what they decided together."""

    point: str
    at: str
    calls: list[Delivery]
    decision: dict[str, Any] | None


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Something else that happened: outputs that were delivered, a message, a wait, an ending."""

    title: str
    at: str
    text: str = ""


Step = Turn | Checked | Fired | Told


class Chapter(msgspec.Struct, frozen=True, kw_only=True):
    """One iteration, or what was begun of it."""

    iteration: int | None
    began: str | None
    ended: dict[str, Any] | None
    steps: list[Step]


def chapters(view: View, run: Run, blobs: Blobs) -> Iterator[Chapter]:
    """Every chapter of a session, read one at a time."""
    fired: dict[tuple[str, str], int] = {}
    for event in view.log.events(node_id=run.run_id, types=("point_fired",)):
        name = event.data["name"].removeprefix(f"{run.run_id}/")
        fired[event.data["point"], name] = event.seq
    for number in range(1, run.chapter + 1):
        effects = view.runs.effects(msgspec.structs.replace(run, chapter=number))
        reader = _Reader(view, blobs, number, fired)
        effects = [reader.whole(effect) for effect in effects]
        steps = [step for effect in effects for step in reader.steps(effect)]
        brief = next((e for e in effects if _verb(e) == "brief"), None)
        close = next((e for e in effects if _verb(e) == "close"), None)
        yield Chapter(
            iteration=brief.args["iteration"] if brief is not None else None,
            began=effects[0].requested_at if effects else None,
            ended=_ended(close) if close is not None else None,
            steps=steps,
        )


def receipts(chapter: Chapter) -> Iterator[dict[str, Any]]:
    """The proofs that stop hooks kept."""
    for step in chapter.steps:
        for call in step.calls if isinstance(step, Fired) else ():
            metadata = call.answer.get("metadata") if isinstance(call.answer, dict) else None
            receipt = metadata.get("receipt") if isinstance(metadata, dict) else None
            if isinstance(receipt, dict):
                yield receipt


def piped_text(call: Delivery) -> str:
    """What a hook printed or answered as text."""
    answer = call.answer
    text = answer.get("text") if isinstance(answer, dict) else None
    return text if isinstance(text, str) else call.stdout or ""


def _verb(effect: JournalEffect) -> str | None:
    return effect.args.get("verb") if effect.kind == "session" else None


def _ended(effect: JournalEffect) -> dict[str, Any]:
    ended = effect.args["ended"]
    if not isinstance(ended, dict):
        return {"message": ended, "reason": ended}
    value = effect.value if isinstance(effect.value, dict) else {}
    return {**ended, **value.get("used", {})}


class _Reader:
    """Reads the effects of one chapter."""

    def __init__(
        self, view: View, blobs: Blobs, chapter: int, fired: dict[tuple[str, str], int]
    ) -> None:
        self._view = view
        self._blobs = blobs
        self._chapter = chapter
        self._fired = fired

    def steps(self, effect: JournalEffect) -> Iterator[Step]:
        """What an effect is in the story."""
        value = effect.value if isinstance(effect.value, dict) else {}
        at = journal.started_at(self._view.log, effect)
        over = effect.resolved_at
        duration = seconds(over) - seconds(at) if over is not None else None
        if effect.kind == "agent":
            yield _turn(effect, value, at, duration)
        elif effect.kind == "validate":
            yield Checked(at=at, seconds=duration, results=value.get("results", []))
        elif effect.kind == "hook":
            yield from self._point(effect, value)
        elif effect.kind == "session":
            yield from _told(effect, value)

    def whole(self, effect: JournalEffect) -> JournalEffect:
        """An effect with what was put aside of it, or with why that cannot be read."""
        args = {name: self._inside(each, name) for name, each in effect.args.items()}
        found: JournalEffect = msgspec.structs.replace(
            effect, args=args, value=self._inside(effect.value)
        )
        return found

    def _inside(self, value: Any, name: str | None = None) -> Any:
        try:
            return journal.inside(value, self._blobs)
        except StoreCorrupt as problem:
            return {"error": problem.message, "text": ""} if name is None else problem.message

    def _point(self, effect: JournalEffect, value: dict[str, Any]) -> Iterator[Fired]:
        point = effect.args["point"]
        name = f"{self._chapter}/{effect.effect_id}"
        places = [self._fired.get((point, name + more)) for more in ("", REGISTERED)]
        calls = [
            call for seq in places if seq is not None for call in self._view.calls.deliveries(seq)
        ]
        decision = value if "action" in value else None
        if calls or decision is not None:
            yield Fired(point=point, at=effect.requested_at, calls=calls, decision=decision)


def _turn(effect: JournalEffect, value: dict[str, Any], at: str, duration: float | None) -> Turn:
    error = value.get("error") or effect.error
    if error is None and value.get("interrupted"):
        error = "interrupted"
    return Turn(
        step=effect.step,
        at=at,
        seconds=duration,
        prompt=_prompt(effect.args, value),
        text=value.get("text", ""),
        error=error,
        tools=value.get("tools", 0),
        files=value.get("filesModified", []),
        usage=value.get("usage", {}),
    )


def _prompt(args: dict[str, Any], value: dict[str, Any]) -> str:
    """What the agent was told; an opening comes first unless it went on with its conversation."""
    wanted = args.get("conversation")
    goes_on = wanted is not None and value.get("conversation") == wanted
    said = [args.get("opening") if not goes_on else None, args.get("prompt")]
    return "\n".join(part for part in said if part)


def _told(effect: JournalEffect, value: dict[str, Any]) -> Iterator[Told]:
    verb, at = _verb(effect), effect.requested_at
    for message in value.get("messages", ()):
        yield Told(title="A person says", at=at, text=message)
    for held in value.get("held", ()):
        yield Told(
            title=f"Given to the agent: {held['point']} {held['hook']}", at=at, text=held["text"]
        )
    if verb == "wait":
        reason = "a person paused it" if effect.args.get("paused") else effect.args.get("reason")
        yield Told(title=f"Waits: {reason}", at=at)
    elif verb == "go_on" and not value.get("lost"):
        yield Told(title="Goes on", at=at)
    elif verb == "end":
        ended = _ended(effect)
        yield Told(title=f"Ends: {ended.get('outcome')}", at=at, text=ended.get("message", ""))
