"""Spans of what is over: iterations, agents' turns with their tools, hooks' calls, other effects.

Everything in a span follows from final rows. Whoever makes it again, makes the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.hooks.records import DEAD, FAILED, OK, TIMEOUT, Delivery
from hookline.domain.runs.model import INSTANT, UnknownEffect
from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.telemetry import Span, SpanPlace, Value, span_id
from hookline.flows import journal
from hookline.points import DECIDE, GATE, GUARD, rule_of
from hookline.queries.telemetry.places import ENDS, TERMINAL, Around, Places
from hookline.queries.telemetry.turn_spans import TurnSpans, nanoseconds, shown_as

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.domain.events import Event
    from hookline.domain.runs.model import Run
    from hookline.ports.store import Blobs, View
    from hookline.queries.telemetry.content import SentContent
    from hookline.queries.telemetry.places import Border
    from hookline.queries.telemetry.turns import (
        FedTurns,
        TurnIndex,
    )

RELEVANT = ("effect_resolved", *ENDS)
# Effects that other spans show: turns, the calls of a point; or that are not worth one.
_TOLD_ELSEWHERE = INSTANT | {"agent", "hook"}
_FAILURES = (FAILED, TIMEOUT, DEAD)
_SHOWN_AS = {
    GATE: ("GUARDRAIL", "guardrail"),
    GUARD: ("GUARDRAIL", "guardrail"),
    DECIDE: ("EVALUATOR", "evaluator"),
}


class NotYet(Exception):
    """What the feed says about a turn is still on its way."""


class Spans:
    """Makes spans at one moment of the store. `drivers` has those of the agents' profiles."""

    def __init__(
        self,
        view: View,
        places: Places,
        content: SentContent,
        blobs: Blobs,
        turns: TurnIndex,
        tools: FedTurns,
        drivers: Mapping[str, str],
    ) -> None:
        self._view, self._places, self._content, self._blobs = view, places, content, blobs
        self._turns, self._tools = turns, tools
        self._made = TurnSpans(places.store_id, content, blobs, drivers)
        self._requests: dict[tuple[str, int], dict[str, Event]] = {}

    # Events of runs

    def of_event(self, event: Event, *, waits: bool = True) -> Iterator[Span]:
        """What an event of a run says is over; NotYet if something about it is still to come."""
        run = self._places.run(event.node_id)
        if run is None:
            return
        if event.type == "effect_resolved":
            yield from self._effect(run, event, waits)
            return
        if event.type in TERMINAL:
            yield from self._cut_turns(run, event)
        if (began := self._places.began(run, event.seq)) is not None:
            yield self._iteration(run, began, event)

    def _iteration(self, run: Run, began: Border, ended: Event) -> Span:
        """The first span of a trace."""
        log, types = self._view.log, ("session_iteration", "session_iteration_ended")
        found = {
            each.type: each.data
            for each in log.events(node_id=run.run_id, types=types, after=began.seq, limit=4)
            if each.seq <= ended.seq
        }
        told = found.get("session_iteration_ended", {})
        number = told.get("iteration", found.get("session_iteration", {}).get("iteration"))
        name = f"iteration {number}" if number is not None else run.flow
        failed = told.get("status") == "failed" or ended.type == "run_failed"
        kept = {
            "hookline.chapter": began.chapter,
            "hookline.iteration": number,
            "hookline.iteration.decision": told.get("decision"),
            "hookline.rules": told.get("rules"),
            "hookline.rules.passed": told.get("passed"),
            "hookline.files_modified": len(told["filesModified"]) if told else None,
            "hookline.outcome": ended.data.get("outcome"),
        }
        error = told.get("error") or ended.data.get("error")
        return Span(
            place=self._places.root(run, began.seq),
            parent=None,
            name=self._content.name(name),
            start=nanoseconds(began.timestamp),
            end=nanoseconds(ended.timestamp),
            attributes={
                **self._about(run),
                "openinference.span.kind": "CHAIN",
                "langfuse.observation.type": "chain",
                **{name: each for name, each in kept.items() if each is not None},
                **self._content.values(self._goal(run), told.get("text")),
            },
            error="iteration_failed" if failed else None,
            message=self._content.said(str(error or "")) if failed else "",
            links=self._caller(run),
        )

    def _caller(self, run: Run) -> list[SpanPlace]:
        """The effect that called a run."""
        caller = self._view.runs.caller_of(run.run_id)
        of = self._places.run(caller.run_id) if caller is not None else None
        if caller is None or of is None:
            return []
        asked = self._request(of, caller.chapter, caller.effect_id)
        if asked is None:
            return []
        span = self._effect_span(of, caller.chapter, caller.effect_id)
        return [SpanPlace(self._places.root(of, asked.seq).trace, span)]

    def _effect(self, run: Run, event: Event, waits: bool) -> Iterator[Span]:
        chapter, effect_id = event.data["chapter"], event.data["effectId"]
        asked = self._request(run, chapter, effect_id)
        kind = asked.data["kind"] if asked is not None else None
        if asked is None or (kind in _TOLD_ELSEWHERE and kind != "agent"):
            return
        if kind == "agent":
            yield from self._turns_of(run, asked, event, waits)
            return
        around = self._places.in_run(run, asked.seq)
        failed = event.data["status"] != OK
        shown = ("EVALUATOR", "evaluator") if kind == "validate" else ("CHAIN", "span")
        began = event.data.get("startedAt") or asked.timestamp
        yield Span(
            place=SpanPlace(around.trace, self._effect_span(run, chapter, effect_id)),
            parent=around.parent,
            name=self._content.name(f"{kind} {asked.data['step']}"),
            start=nanoseconds(began),
            end=nanoseconds(event.timestamp),
            attributes={
                **self._about(run),
                "hookline.effect": f"{run.run_id}/{chapter}/{effect_id}",
                "hookline.effect.kind": asked.data["kind"],
                **shown_as(shown),
            },
            error="effect_failed" if failed else None,
            message=self._content.said(str(event.data.get("error") or "")) if failed else "",
        )

    def _request(self, run: Run, chapter: int, effect_id: str) -> Event | None:
        """The event with which an effect was requested."""
        of_chapter = msgspec.structs.replace(run, chapter=chapter)
        try:
            found = self._view.runs.effect(of_chapter, effect_id)
        except UnknownEffect:  # it was pruned; the log has it
            return self._pruned(run, chapter).get(effect_id)
        return self._view.log.find(found.requested_seq)

    def _pruned(self, run: Run, chapter: int) -> dict[str, Event]:
        """The requests of a chapter, as the log has them."""
        if (run.run_id, chapter) not in self._requests:
            asked = self._view.log.stream(node_id=run.run_id, types=("effect_requested",))
            self._requests[run.run_id, chapter] = {
                each.data["effectId"]: each for each in asked if each.data["chapter"] == chapter
            }
        return self._requests[run.run_id, chapter]

    # Turns

    def _turns_of(
        self, run: Run, asked: Event, ended: Event | None, waits: bool = False
    ) -> Iterator[Span]:
        """The turns of an effect; what it says at its end is about the last one."""
        call = f"{run.run_id}/{asked.data['chapter']}/{asked.data['effectId']}"
        upto = ended.seq if ended is not None else None
        turns = self._turns.asked_by(self._view, call, None, asked.seq, upto)
        fed, said = self._tools.of(call), self._said(ended)
        is_told = bool(fed and fed[-1].is_over) or said.get("interrupted")
        if turns and waits and not is_told:
            raise NotYet(call)
        around = self._places.in_run(run, asked.seq)
        used = [*fed[-len(turns) :], *(None for _ in turns[len(fed) :])]
        for turn, tools in zip(turns, used, strict=True):
            is_last = turn is turns[-1]
            told = said if is_last else {}
            yield from self._made.of(around, self._about(around.run), turn, asked.data, told, tools)
        self._turns.forget(call, None)
        self._tools.forget(call)

    def _said(self, ended: Event | None) -> Mapping[str, Any]:
        if ended is None:
            return {}
        found = journal.shown(ended.data.get("value"), self._blobs)
        return found if isinstance(found, dict) else {}

    def _cut_turns(self, run: Run, ended: Event) -> Iterator[Span]:
        """Turns that had not ended when their run did."""
        for asked in self._open_turns(run, ended):
            yield from self._turns_of(run, asked, None)

    def _open_turns(self, run: Run, ended: Event) -> list[Event]:
        pending = self._view.runs.pending(run)
        found = (self._request(run, run.chapter, each.effect_id) for each in pending)
        return [each for each in found if each is not None and each.data["kind"] == "agent"]

    # Calls of hooks

    def of_call(self, row: Delivery) -> Iterator[Span]:
        """A call of a hook that is over, and the turns that it asked for."""
        event = self._view.log.find(row.event_seq)
        if event is None:
            return
        around, rule = self._places.of_call(event, row.hook), rule_of(row.point)
        place = SpanPlace(around.trace, self._places.call(row.event_seq, row.hook))
        start = nanoseconds(row.started_at or event.timestamp)
        called = str(event.data.get("name", ""))
        kept = {
            "hookline.hook.exit_code": row.exit_code,
            "hookline.call": called if called[:2] == "R-" else None,
            "hookline.gate.status": _status(row) if rule == GATE else None,
            "hookline.stop.action": _status(row, "action") if rule == DECIDE else None,
        }
        name = self._content.hook(row.hook, row.kind)
        yield Span(
            place=place,
            parent=around.parent,
            name=f"{'gate' if rule == GATE else 'hook'} {name}",
            start=start,
            end=start + (row.duration_us or 0) * 1000,
            attributes={
                **self._about(around.run),
                **shown_as(_SHOWN_AS.get(rule, ("CHAIN", "span"))),
                "hookline.hook": name,
                "hookline.hook.kind": row.kind,
                "hookline.hook.status": row.status,
                "hookline.hook.attempts": row.attempts,
                "hookline.point": self._content.name(row.point),
                "hookline.rule": rule,
                "hookline.event": event.id,
                **{name: each for name, each in kept.items() if each is not None},
                **self._content.values(None, row.stdout),
            },
            error=row.status if row.status in _FAILURES else None,
            message=self._content.said(row.error) if row.status in _FAILURES else "",
        )
        below = Around(around.trace, place.span, around.run)
        for call in (called, f"{event.id}:{row.id}"):
            for turn in self._turns.asked_by(self._view, call, row.hook, event.seq - 1):
                yield from self._made.of(below, self._about(below.run), turn, {}, {}, None)
            self._turns.forget(call, row.hook)

    # What all spans of a run have

    def _about(self, run: Run | None) -> dict[str, Value]:
        found: dict[str, Value] = {}
        if run is None:
            return found
        found |= {"hookline.run": run.run_id, "hookline.flow": self._content.name(run.flow)}
        if isinstance(task := run.input.get("taskId"), str):
            found["hookline.task"] = self._content.name(task)
        if session := self._places.session(run):
            # Iterations may each have a new conversation with their agent; the session joins them.
            found |= {"session.id": session, "gen_ai.conversation.id": session}
        return found

    def _goal(self, run: Run) -> str | None:
        goal = run.input.get("goal") if run.flow == SESSION else None
        return goal if isinstance(goal, str) else None

    def _effect_span(self, run: Run, chapter: int, effect_id: str) -> str:
        return span_id(self._places.store_id, "effect", run.run_id, chapter, effect_id)


def _status(row: Delivery, field: str = "status") -> str | None:
    found = row.answer.get(field) if isinstance(row.answer, dict) else None
    return found if isinstance(found, str) and len(found) <= len("escalate") else None
