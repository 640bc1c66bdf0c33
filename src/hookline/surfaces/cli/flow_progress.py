"""Live progress of a run on stderr: finished effects stay, on a terminal open ones are redrawn."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from hookline.domain.moments import iso, seconds
from hookline.domain.runs import INSTANT, WAITING
from hookline.flows.journal import started_at
from hookline.surfaces.cli.opening import tell_failure
from hookline.surfaces.cli.output import is_terminal, note, paint, shown, spoken, untrusted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from hookline.app import App
    from hookline.domain.records import Delivery
    from hookline.domain.runs import JournalEffect
    from hookline.ports.store import View

REDRAW = 0.1
# For terminals that do not know their size.
LINES, COLUMNS = 24, 80
MARKS = {"ok": ("✓", "green"), "error": ("✗", "red"), "pending": ("●", "yellow")}


class Progress:
    """What is shown of one run while it is advanced."""

    def __init__(self, app: App, run_id: str, *, quiet: bool) -> None:
        self._app = app
        self._run_id = run_id
        self._quiet = quiet
        self._live = not quiet and is_terminal(sys.stderr)
        self._drawn = 0
        self._begun: dict[str, float] = {}
        self._wait = ""
        with app.read() as view:
            self._seen = view.log.last()

    def observe(self, what: str, details: dict[str, Any]) -> None:
        """The engine tells that something happened."""
        if self._quiet:
            return
        if what == "begun":
            self._begun.setdefault(details["effectId"], time.time())
        elif what == "code-changed":
            self._clear()
            note(f"{self._run_id}: the flow's code changed since this chapter began")
        else:
            self._show_finished()
        if what == "waits":
            self._tell_wait(details)

    def _tell_wait(self, details: dict[str, Any]) -> None:
        until, reason = iso(details["until"]), untrusted(details["reason"], 200)
        wait = f"{self._run_id} is parked until {until}: {reason}"
        if wait != self._wait:
            self._wait = wait
            self.say(wait)

    def call_failed(self, row: Delivery) -> None:
        """A hook was called; a failure is told."""
        if not self._quiet and row.failure:
            self._clear()
            tell_failure(row)

    def say(self, text: str) -> None:
        """Print a line of our own."""
        self._clear()
        note(text)

    @asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        """Keep the open effects on the screen meanwhile."""
        redrawing = asyncio.ensure_future(self._redraw()) if self._live else None
        try:
            yield
        finally:
            if redrawing is not None:
                redrawing.cancel()
            self._show_finished()
            self._clear()

    def _show_finished(self) -> None:
        if self._quiet:
            return
        with self._app.read() as view:
            run = view.runs.find(self._run_id)
            found = view.runs.resolved_since(run, self._seen)
            effects = [view.runs.effect(run, each[0]) for each in found]
            finished = [(each, _took(view, each)) for each in effects if each.kind not in INSTANT]
        if found:
            self._clear()
            self._seen = found[-1][4]
        for effect, took in finished:
            note(_line(effect, took))

    async def _redraw(self) -> None:
        while True:
            self._show_finished()
            with self._app.read() as view:
                pending = view.runs.pending(view.runs.find(self._run_id))
            self._clear()
            self._draw([_line(effect, self._goes_on_for(effect)) for effect in pending])
            await asyncio.sleep(REDRAW)

    def _goes_on_for(self, effect: JournalEffect) -> float | None:
        """How long an effect is under way; None while it waits for its turn."""
        began = self._begun.get(effect.effect_id)
        if began is None and (effect.kind in WAITING or effect.task):
            began = seconds(effect.requested_at)
        return time.time() - began if began is not None else None

    def _draw(self, lines: list[str]) -> None:
        with spoken(sys.stderr):
            size = os.get_terminal_size(sys.stderr.fileno())
            room = max((size.lines or LINES) - 2, 1)
            if len(lines) > room:
                lines = [*lines[: room - 1], f"  … and {len(lines) - room + 1} more"]
            for line in lines:
                sys.stderr.write(f"{_cut(shown(line), size.columns or COLUMNS)}\n")
            self._drawn = len(lines)

    def _clear(self) -> None:
        if self._drawn:
            with spoken(sys.stderr):
                sys.stderr.write(f"\x1b[{self._drawn}F\x1b[J")
            self._drawn = 0


def _took(view: View, effect: JournalEffect) -> float:
    over = seconds(effect.resolved_at or effect.requested_at)
    return over - seconds(started_at(view.log, effect))


def _line(effect: JournalEffect, duration: float | None) -> str:
    mark, style = MARKS[effect.status]
    took = f"{max(duration, 0):.1f}s" if duration is not None else "waits"
    error = f"  {untrusted(effect.error, 100)}" if effect.error else ""
    name = untrusted(effect.effect_id)
    return f"  {paint(mark, style, sys.stderr)} {effect.kind:10} {name}  {took}{error}"


def _cut(line: str, columns: int) -> str:
    # The colour of the mark takes no column; nothing else in the line is coloured.
    hidden = 9 if "\x1b" in line else 0
    return line if len(line) - hidden <= columns else line[: columns + hidden - 1] + "…"
