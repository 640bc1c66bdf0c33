"""Advancing a session while someone watches: ^C stops it step by step, the view never holds it up.

Used by `hookline run`; `session attach` only watches.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookline.flows import control
from hookline.flows.outcomes import INTERRUPT
from hookline.flows.runner import FlowRunner
from hookline.operations.announcements import at_work
from hookline.operations.inside_runs import refuse_inside
from hookline.operations.sessions.control import told_in_feed
from hookline.queries.session_details import endings, spent
from hookline.queries.sessions import facts, resume_command
from hookline.sessions.verbs import ask_to_stop
from hookline.surfaces.cli.live.screen import a_few
from hookline.surfaces.cli.live.view import Live
from hookline.surfaces.cli.live.watch import (
    AsRecords,
    OnScreen,
    Watch,
    is_for_watchers,
    rung_by_others,
)
from hookline.surfaces.cli.opening import resumed_by
from hookline.surfaces.cli.stopping import Stopping, steps
from hookline.wiring.running.engine import engine

if TYPE_CHECKING:
    from argparse import Namespace

    from hookline.app import App
    from hookline.flows.engine import Done, Parked
    from hookline.ports.feeds import FeedReader, FeedRecord
    from hookline.queries.sessions import SessionFacts
    from hookline.surfaces.cli.live.watch import Show

AFTER_TURN = "stopping after this turn; ^C again stops now"
NOW = "stopping now; ^C again exits at once, and `hookline run --resume` continues"


def drive(
    args: Namespace, app: App, run_id: str, reader: FeedReader, signals: Stopping
) -> SessionFacts:
    """Advance a session until it is over, paused or parked; its status then."""
    refuse_inside(app, run_id)
    with app.read() as view:
        command = resume_command(facts(view, view.runs.find(run_id)))
    with resumed_by(command), Watch(reader, show_for(args, app, run_id)) as watch:
        try:
            asyncio.run(_advance(app, run_id, watch, signals))
        except asyncio.CancelledError:  # ^C for the third time
            raise KeyboardInterrupt from None
    with app.read() as view:
        return facts(view, view.runs.find(run_id))


def show_for(args: Namespace, app: App, run_id: str) -> Show[FeedRecord]:
    """How a session is shown: for programs, or for people."""
    if args.json:
        return AsRecords(is_for_watchers)
    live = Live(verbose=args.verbose)
    with app.read() as view:
        live.spent_before = spent(endings(view, run_id))
    return OnScreen(live, app.environ, a_few, rings=rung_by_others(app.owner))


async def _advance(
    app: App, run_id: str, watch: Watch[FeedRecord], signals: Stopping
) -> Done | Parked:
    is_asked = False

    def stop(*, now: bool, ending: str | None) -> None:
        """Send what is wanted to whoever advances the session."""
        nonlocal is_asked
        if not is_asked:
            app.change(ask_to_stop, run_id, ending)
            is_asked = True
        if now:
            app.change(control.send, run_id, INTERRUPT, {})

    async with at_work(app, told_in_feed(app, run_id), watch.say):
        with steps(signals, stop, watch.say, (AFTER_TURN, NOW)):
            return await FlowRunner(engine(app)).run_one(run_id)
