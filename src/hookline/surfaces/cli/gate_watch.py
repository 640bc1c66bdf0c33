"""Advancing a submission or a merge while someone watches: each verdict as it comes."""

from __future__ import annotations

import asyncio
import sys
from contextlib import closing
from typing import TYPE_CHECKING

from hookline.adapters.blobs import FileBlobs
from hookline.adapters.wakeup import AsyncWaker
from hookline.flows import gate_verbs
from hookline.flows.gate_verbs import TURN
from hookline.flows.judgements import trouble_of
from hookline.flows.runner import Runner
from hookline.flows.waits import moment_of
from hookline.hooks.verdicts import merge_wait, verdicts
from hookline.outside import engine
from hookline.points import TOLD_IN_FEED
from hookline.surfaces.cli.flow_watch import at_work, park, refuse_inside
from hookline.surfaces.cli.gate_show import COLUMNS, clock, verdict_line
from hookline.surfaces.cli.opening import deliver, tell_failure
from hookline.surfaces.cli.output import note, paint, untrusted
from hookline.surfaces.cli.serving import serving
from hookline.surfaces.cli.stopping import Stopped, run_to_end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.app import App
    from hookline.domain.records import Delivery
    from hookline.domain.runs import JournalEffect, Run
    from hookline.hooks.verdicts import Verdict
    from hookline.ports.store import View

GLANCE = 1.0


def watched(app: App, run_id: str, *, quiet: bool) -> Run:
    """Advance a run until it is over or waits for someone; ^C parks it."""
    refuse_inside(app, run_id)
    lines = _Lines(app, run_id, quiet=quiet)
    app.change(gate_verbs.ask_again, run_id)
    try:
        with serving(app, run_id):
            run_to_end(_advance(app, run_id, lines))
    except Stopped as told:
        park(app, run_id, told)
        note(f"{run_id} is parked; go on with `hookline {lines.run.flow} {lines.task_id}`")
        raise KeyboardInterrupt from None
    deliver(app)
    with app.read() as view:
        return view.runs.find(run_id)


async def _advance(app: App, run_id: str, lines: _Lines) -> None:
    async with at_work(app, lines.call_failed):
        showing = asyncio.ensure_future(lines.go_on())
        try:
            await Runner(engine(app)).run_one(run_id, for_people=False)
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)
            lines.show()


class _Lines:
    """What happens to a run, told once, in plain lines on stderr."""

    def __init__(self, app: App, run_id: str, *, quiet: bool) -> None:
        self._app = app
        self._quiet = quiet
        self._blobs = FileBlobs(app.project.blobs)
        with app.read() as view:
            self.run = view.runs.find(run_id)
            effects = view.runs.effects(self.run)
            self._begun = _beginning(effects, view.log.last())
        self.task_id: str = self.run.input["taskId"]
        # What others have done is told by nobody; a turn that they began is not repeated.
        self._told: set[object] = {
            each.effect_id for each in effects if each.resolved_seq is not None or each.attempts
        }
        self._pending: object = None

    async def go_on(self) -> None:
        """Tell what is new until nobody wants to know any more."""
        with closing(AsyncWaker(self._app.project.folder)) as waker:
            while not self._quiet:
                self.show()
                await waker.wait(GLANCE)

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
                self._pending = _key(each)
            if self._is_new(_key(each)):
                yield each.seq, verdict_line(each, sys.stderr)

    def _steps(self, view: View) -> Iterator[tuple[int, str]]:
        for effect in view.runs.effects(view.runs.find(self.run.run_id)):
            if effect.effect_id in self._told:
                continue
            trouble = trouble_of(effect, self._blobs)
            line = _trouble(*trouble) if trouble else _step(effect)
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
            note(f"{_mark('●', 'yellow')} {'merge':13} {untrusted(merge.message, COLUMNS)}")
        key = self._pending if merge is None else merge.message
        if moment is None or not self._is_new(("again", key)):
            return []
        at_once = f"at once by `hookline {run.flow} {self.task_id}`"
        return [f"{_mark('●', 'yellow')} asked again at {clock(moment)}, or {at_once}"]

    def _is_new(self, key: object) -> bool:
        is_new = key not in self._told
        self._told.add(key)
        return is_new


def _beginning(effects: list[JournalEffect], now: int) -> int:
    """From where verdicts are told: those of gates that are under way belong to what goes on."""
    open_ = (e for e in effects if e.kind == "hook" and e.resolved_seq is None)
    return min((effect.requested_seq for effect in open_), default=now)


def _key(verdict: Verdict) -> object:
    """Gates that wait are asked again and again; what they say then is told once."""
    place = None if verdict.status == "pending" else verdict.seq
    return (place, verdict.point, verdict.hook, verdict.message)


def _step(effect: JournalEffect) -> str:
    if effect.kind == "agent":
        agent = untrusted(effect.args.get("agent") or "the agent", 80)
        return f"{_mark('●', 'yellow')} {agent} fixes it"
    if effect.kind == "signal" and effect.args["name"] == TURN:
        return f"{_mark('●', 'yellow')} waits for its turn to merge"
    return ""


def _trouble(name: str, reason: str) -> str:
    return f"{_mark('✗', 'red')} {name:13} {untrusted(reason, COLUMNS)}"


def _mark(mark: str, style: str) -> str:
    return f"  {paint(mark, style, sys.stderr)}"
