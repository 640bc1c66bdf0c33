"""What is seen of a run while it is advanced: effects that are over, and those that are open."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from hookline.domain.runs.model import INSTANT, PENDING
from hookline.domain.timestamps import iso, seconds
from hookline.flows.journal import started_at
from hookline.surfaces.cli.live.lines import Piece, ViewLine, plain
from hookline.surfaces.cli.live.watch import StoreView
from hookline.surfaces.cli.output import untrusted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.app import App
    from hookline.domain.runs.model import JournalEffect
    from hookline.ports.store import View

MARKS = {"ok": ("✓", "green"), "error": ("✗", "red"), "pending": ("●", "yellow")}


class RunProgress(StoreView):
    """One run, as the engine and the store know it."""

    def __init__(self, app: App, run_id: str) -> None:
        self._run_id = run_id
        self._begun: dict[str, float] = {}
        self._open: list[JournalEffect] = []
        # The engine tells in its own thread: texts, and effects of runs that this one called.
        self._told: deque[str | tuple[str, str]] = deque()
        self._wait = ""
        with app.read() as view:
            self._seen = view.log.last()

    def observe(self, what: str, details: dict[str, Any]) -> None:
        """The engine tells that something happened."""
        run_id = details.get("runId", self._run_id)
        if what == "waits":
            until, reason = iso(details["until"]), untrusted(details["reason"], 200)
            before, self._wait = self._wait, f"{run_id} is parked until {until}: {reason}"
            if self._wait != before:
                self._told.append(self._wait)
        elif what == "effect" and run_id != self._run_id:
            self._told.append((run_id, details["effectId"]))
        elif what == "begun" and run_id == self._run_id:
            self._begun.setdefault(details["effectId"], time.time())
        elif what == "code-changed" and run_id == self._run_id:
            self._told.append(f"{run_id}: the flow's code has changed since this chapter started")

    def look(self, view: View) -> Iterator[ViewLine]:
        """What is over since the last look."""
        told = [self._told.popleft() for _ in range(len(self._told))]
        run = view.runs.find(self._run_id)
        found = view.runs.resolved_since(run, self._seen)
        self._open = view.runs.pending(run)
        self._seen = found[-1][4] if found else self._seen
        for effect in (view.runs.effect(run, each[0]) for each in found):
            if effect.kind not in INSTANT:
                yield _line(effect, _took(view, effect, self._begun.get(effect.effect_id)))
        for each in told:
            yield plain(each) if isinstance(each, str) else _called(view, *each)

    def region(self, now: float, rows: int) -> list[ViewLine]:
        """The open effects; at most so many rows."""
        lines = [_line(each, self._goes_on_for(each, now)) for each in self._open]
        if len(lines) <= rows:
            return lines
        return [*lines[: rows - 1], plain(f"  … and {len(lines) - rows + 1} more")]

    def _goes_on_for(self, effect: JournalEffect, now: float) -> float | None:
        """How long an effect is under way; None while it waits for its turn."""
        began = self._begun.get(effect.effect_id)
        if began is None and effect.waits:
            began = seconds(effect.requested_at)
        return now - began if began is not None else None


def _called(view: View, run_id: str, effect_id: str) -> ViewLine:
    """An effect that is over in a run that this one called."""
    effect = view.runs.effect(view.runs.find(run_id), effect_id)
    return _line(effect, _took(view, effect), f"  {run_id}  ")


def _took(view: View, effect: JournalEffect, seen: float | None = None) -> float | None:
    """How long work on an effect took that is over; None if it was not our work.

    `seen` is when it was seen to begin.
    """
    began = started_at(view.log, effect)
    since = seconds(began) if began else seen
    return seconds(effect.resolved_at) - since if effect.resolved_at and since else None


def _line(effect: JournalEffect, duration: float | None, indent: str = "  ") -> ViewLine:
    took = "  waits" if effect.status == PENDING else ""
    if duration is not None:
        took = f"  {max(duration, 0):.1f}s"
    error = f"  {untrusted(effect.error, 100)}" if effect.error else ""
    told = f" {effect.kind:10} {untrusted(effect.effect_id)}{took}{error}"
    return ViewLine((Piece(indent), Piece(*MARKS[effect.status]), Piece(told)), wraps=True, hangs=2)
