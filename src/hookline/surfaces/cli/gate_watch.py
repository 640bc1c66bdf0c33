"""Advancing a submission or a merge while someone watches: each verdict as it comes."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from hookline.adapters.wakeup import AsyncWaker
from hookline.domain.records import DEAD, FAILED, TIMEOUT
from hookline.flows import control
from hookline.flows.gate_verbs import TURN
from hookline.flows.runner import Runner
from hookline.hooks.verdicts import verdicts
from hookline.outside import engine, owner_of
from hookline.surfaces.cli.flow_watch import at_work, refuse_inside
from hookline.surfaces.cli.gate_show import verdict_line
from hookline.surfaces.cli.opening import deliver
from hookline.surfaces.cli.output import note, paint, untrusted

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.domain.records import Delivery, Outcome
    from hookline.domain.runs import JournalEffect, Run
    from hookline.hooks.verdicts import Verdict
    from hookline.ports.store import View

GLANCE = 1.0


def watched(app: App, run_id: str, *, quiet: bool) -> Run:
    """Advance a run until it is over or waits for someone; ^C parks it."""
    refuse_inside(app, run_id)
    lines = _Lines(app, run_id, quiet=quiet)
    try:
        asyncio.run(_advance(app, run_id, lines))
    except KeyboardInterrupt:
        app.change(control.park, owner_of(app), run_id, "interrupted")
        note(f"{run_id} is parked; go on with `hookline {lines.run.flow} {lines.task_id}`")
        raise
    deliver(app)
    with app.read() as view:
        return view.runs.find(run_id)


async def _advance(app: App, run_id: str, lines: _Lines) -> None:
    async with at_work(app, lines.call_failed):
        showing = asyncio.ensure_future(lines.go_on())
        try:
            await Runner(engine(app)).run_one(run_id)
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)
            lines.show()


class _Lines:
    """What happens to a run, told once, in plain lines on stderr."""

    def __init__(self, app: App, run_id: str, *, quiet: bool) -> None:
        self._app = app
        self._quiet = quiet
        with app.read() as view:
            self.run = view.runs.find(run_id)
            self._begun = view.log.last()
        self.task_id: str = self.run.input["taskId"]
        self._told: set[object] = set()

    async def go_on(self) -> None:
        """Tell what is new until nobody wants to know any more."""
        waker = AsyncWaker(self._app.project.folder)
        while not self._quiet:
            self.show()
            await waker.wait(GLANCE)

    def show(self) -> None:
        """Tell what is new."""
        if self._quiet:
            return
        with self._app.read() as view:
            found = [*self._verdicts(view), *self._turns(view)]
        for key, line in found:
            if key not in self._told:
                self._told.add(key)
                note(line)

    def call_failed(self, row: Delivery, outcome: Outcome) -> None:
        """A hook of an event was called; a failure is told."""
        if not self._quiet and outcome.status in (FAILED, TIMEOUT, DEAD):
            error = untrusted((outcome.error or "").partition("\n")[0], 200)
            note(f"{paint('✗', 'red', sys.stderr)} hook {untrusted(row.hook)}: {error}")

    def _verdicts(self, view: View) -> list[tuple[object, str]]:
        found = verdicts(view, self.task_id, after=self._begun)
        return [(_key(each), verdict_line(each, sys.stderr)) for each in found]

    def _turns(self, view: View) -> list[tuple[object, str]]:
        effects = view.runs.effects(view.runs.find(self.run.run_id))
        lines = [(effect.effect_id, _step(effect)) for effect in effects]
        return [(key, line) for key, line in lines if line]


def _key(verdict: Verdict) -> object:
    """Gates that wait are asked again and again; what they say then is told once."""
    place = None if verdict.status == "pending" else verdict.seq
    return (place, verdict.point, verdict.hook, verdict.message)


def _step(effect: JournalEffect) -> str:
    if effect.kind == "agent":
        agent = untrusted(effect.args.get("agent") or "the agent", 80)
        return f"  {paint('●', 'yellow', sys.stderr)} {agent} mends it"
    if effect.kind == "signal" and effect.args["name"] == TURN:
        return f"  {paint('●', 'yellow', sys.stderr)} waits for its turn to merge"
    return ""
