"""What happens to a submission or a merge, in plain lines: each verdict as it comes."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

from hookline.flows.waits import moment_of
from hookline.hooks.verdicts import merge_wait, verdicts
from hookline.pipeline import gate_verbs
from hookline.pipeline.gate_reviews import trouble_of
from hookline.pipeline.gate_verbs import TURN
from hookline.points import TOLD_IN_FEED
from hookline.surfaces.cli.gates.show import COLUMNS, verdict_line
from hookline.surfaces.cli.live.lines import BAD, OPEN, clock
from hookline.surfaces.cli.opening import tell_failure
from hookline.surfaces.cli.output import note, paint, untrusted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.app import App
    from hookline.domain.hooks.records import Delivery
    from hookline.domain.runs.model import JournalEffect
    from hookline.ports.store import View

LOOK_AGAIN = 1.0


class GateProgress:
    """What happens to a run, told once, in plain lines on stderr."""

    def __init__(self, app: App, run_id: str, *, quiet: bool) -> None:
        self._app = app
        self._quiet = quiet
        with app.read() as view:
            self.run = view.runs.find(run_id)
            effects = view.runs.effects(self.run)
            # Verdicts of gates that are under way belong to what is under way.
            open_ = (e for e in effects if e.kind == "hook" and e.resolved_seq is None)
            self._begun = min((e.requested_seq for e in open_), default=view.log.last())
        self.task_id: str = self.run.input["taskId"]
        # What others have done is told by nobody; a turn that they began is not repeated.
        known = (e.effect_id for e in effects if e.resolved_seq is not None or e.attempts)
        self._told: set[object] = set(known)
        self._pending: object = None

    async def follow(self) -> None:
        """Tell what is new until nobody wants to know any more."""
        with closing(self._app.feeds.wakeup()) as waker:
            while not self._quiet:
                self.show()
                await waker.wait(LOOK_AGAIN)

    def show(self) -> None:
        """Tell what is new."""
        if self._quiet:
            return
        with self._app.read() as view:
            found = sorted([*self._verdicts(view), *self._steps(view)], key=lambda each: each[0])
            lines = [line for _, line in found] + self._waits(view)
        for line in lines:
            note(line)

    def call_failed(self, row: Delivery) -> None:
        """A hook of an event was called; a failure is told, that of a gate as its verdict."""
        if not self._quiet and row.point not in TOLD_IN_FEED:
            tell_failure(row)

    def _verdicts(self, view: View) -> Iterator[tuple[int, str]]:
        for each in verdicts(view, self.task_id, after=self._begun):
            if each.is_under_way:
                continue
            if each.status == "pending":
                self._pending = each.news
            if self._is_new(each.news):
                yield each.seq, verdict_line(each, sys.stderr)

    def _steps(self, view: View) -> Iterator[tuple[int, str]]:
        for effect in view.runs.effects(view.runs.find(self.run.run_id)):
            if effect.effect_id in self._told:
                continue
            trouble = trouble_of(effect, self._app.blobs)
            line = _step(effect)
            if trouble:
                line = f"{_mark(BAD)} {trouble[0]:13} {untrusted(trouble[1], COLUMNS)}"
            if line or effect.resolved_seq is not None:
                self._told.add(effect.effect_id)
            if line:
                yield effect.resolved_seq or effect.requested_seq, line

    def _waits(self, view: View) -> list[str]:
        """When gates are asked again that wait for no person; told once, as what they say is."""
        run = view.runs.find(self.run.run_id)
        wait = gate_verbs.wait_of(view, run)
        moment = moment_of(wait) if wait is not None else None
        merge = merge_wait(view, run)
        if merge is not None and self._is_new(("merge", merge.message)):
            note(f"{_mark(OPEN)} {'merge':13} {untrusted(merge.message, COLUMNS)}")
        key = self._pending if merge is None else merge.message
        if moment is None or not self._is_new(("again", key)):
            return []
        at_once = f"at once with `hookline {run.flow} {self.task_id}`"
        return [f"{_mark(OPEN)} asked again at {clock(moment)}, or {at_once}"]

    def _is_new(self, key: object) -> bool:
        is_new = key not in self._told
        self._told.add(key)
        return is_new


def _step(effect: JournalEffect) -> str:
    if effect.kind == "agent":
        agent = untrusted(effect.args.get("agent") or "the agent", 80)
        return f"{_mark(OPEN)} {agent} fixes it"
    if effect.kind == "signal" and effect.args["name"] == TURN:
        return f"{_mark(OPEN)} waits for its turn to merge"
    return ""


def _mark(mark: tuple[str, str]) -> str:
    return f"  {paint(*mark, sys.stderr)}"
