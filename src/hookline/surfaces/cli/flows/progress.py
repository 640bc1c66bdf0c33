"""What is shown of a run while it is advanced: finished effects stay, open ones are redrawn."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from hookline.domain.runs.model import INSTANT, PENDING
from hookline.domain.timestamps import iso, seconds
from hookline.flows.journal import started_at
from hookline.surfaces.cli.live.lines import Piece, ViewLine, plain
from hookline.surfaces.cli.live.screen import Screen
from hookline.surfaces.cli.opening import tell_failure
from hookline.surfaces.cli.output import note, spoken, untrusted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from hookline.app import App
    from hookline.domain.hooks.records import Delivery
    from hookline.domain.runs.model import JournalEffect
    from hookline.ports.store import View

REDRAW = 0.1
MARKS = {"ok": ("✓", "green"), "error": ("✗", "red"), "pending": ("●", "yellow")}


class RunProgress:
    """What is shown of one run while it is advanced."""

    def __init__(self, app: App, run_id: str, *, quiet: bool) -> None:
        self._app = app
        self._run_id = run_id
        self._quiet = quiet
        self._screen = Screen(sys.stderr, app.environ, lambda rows: max(rows - 2, 1))
        self._begun: dict[str, float] = {}
        self._wait = ""
        with app.read() as view:
            self._seen = view.log.last()

    def observe(self, what: str, details: dict[str, Any]) -> None:
        """The engine tells that something happened."""
        if self._quiet:
            return
        if details.get("runId", self._run_id) != self._run_id and what != "waits":
            self._show(self._finished_in_called(details) if what == "effect" else ())
        elif what == "begun":
            self._begun.setdefault(details["effectId"], time.time())
        elif what == "code-changed":
            self.say(f"{self._run_id}: the flow's code has changed since this chapter started")
        else:
            self._show(self._finished())
        if what == "waits":
            until, reason = iso(details["until"]), untrusted(details["reason"], 200)
            before, self._wait = self._wait, f"{details['runId']} is parked until {until}: {reason}"
            if self._wait != before:
                self.say(self._wait)

    def call_failed(self, row: Delivery) -> None:
        """A hook was called; a failure is told."""
        if not self._quiet and row.failure:
            self._show()
            tell_failure(row)

    def say(self, text: str) -> None:
        """Print a line of our own."""
        self._show()
        note(text)

    @asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        """Keep the open effects on the screen meanwhile."""
        is_live = self._screen.is_live and not self._quiet
        redrawing = asyncio.ensure_future(self._redraw()) if is_live else None
        try:
            yield
        finally:
            if redrawing is not None:
                redrawing.cancel()
            if not self._quiet:
                self._show(self._finished())

    def _finished(self) -> list[ViewLine]:
        with self._app.read() as view:
            run = view.runs.find(self._run_id)
            found = view.runs.resolved_since(run, self._seen)
            effects = [view.runs.effect(run, each[0]) for each in found]
            self._seen = found[-1][4] if found else self._seen
            begun = self._begun
            return [
                _line(each, _took(view, each, begun.get(each.effect_id)))
                for each in effects
                if each.kind not in INSTANT
            ]

    def _finished_in_called(self, details: dict[str, Any]) -> list[ViewLine]:
        """An effect that is over in a run that this one called."""
        with self._app.read() as view:
            run = view.runs.find(details["runId"])
            return [
                _line(each, _took(view, each), f"  {run.run_id}  ")
                for each in view.runs.effects(run)
                if each.effect_id == details["effectId"] and each.status != PENDING
            ]

    async def _redraw(self) -> None:
        while True:
            finished = self._finished()
            with self._app.read() as view:
                pending = view.runs.pending(view.runs.find(self._run_id))
            self._show(finished, [_line(each, self._goes_on_for(each)) for each in pending])
            await asyncio.sleep(REDRAW)

    def _show(self, finished: Sequence[ViewLine] = (), region: Sequence[ViewLine] = ()) -> None:
        room = self._screen.room
        if len(region) > room:
            region = [*region[: room - 1], plain(f"  … and {len(region) - room + 1} more")]
        with spoken(sys.stderr):
            self._screen.show(finished, region)

    def _goes_on_for(self, effect: JournalEffect) -> float | None:
        """How long an effect is under way; None while it waits for its turn."""
        began = self._begun.get(effect.effect_id)
        if began is None and effect.waits:
            began = seconds(effect.requested_at)
        return time.time() - began if began is not None else None


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
