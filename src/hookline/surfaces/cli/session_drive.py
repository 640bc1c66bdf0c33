"""Advancing a session while someone watches: ^C stops it step by step, the view never holds it up.

Used by `hookline run`; `session attach` only watches.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.feed import FeedReader, FileFeed
from hookline.domain.excerpts import last_line
from hookline.flows import control
from hookline.flows.outcomes import INTERRUPT
from hookline.flows.runner import Runner
from hookline.flows.session_verbs import ask_to_stop
from hookline.outside import engine
from hookline.points import TOLD_IN_FEED
from hookline.surfaces.cli.flow_watch import at_work, refuse_inside
from hookline.surfaces.cli.live import Live
from hookline.surfaces.cli.live_watch import AsJson, AsLines, Watch
from hookline.surfaces.cli.opening import resumed_by
from hookline.surfaces.cli.session_facts import facts, last_ending, resume_command, spent
from hookline.surfaces.cli.stopping import Steps, Stopping

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from hookline.app import App
    from hookline.domain.records import Delivery
    from hookline.flows.engine import Done, Parked
    from hookline.surfaces.cli.live_watch import Show
    from hookline.surfaces.cli.session_facts import Facts

AFTER_TURN = "stopping after this turn; ^C again stops now"
NOW = "stopping now; ^C again leaves at once, `hookline run --resume` goes on"


def drive(
    args: Namespace, app: App, run_id: str, reader: FeedReader, signals: Stopping
) -> tuple[Facts, Any]:
    """Advance a session until it is over, paused or parked; how it stands, how it ended."""
    refuse_inside(app, run_id)
    with app.read() as view:
        command = resume_command(facts(view, view.runs.find(run_id)))
    with resumed_by(command), Watch(reader, show_for(args, app, run_id)) as watch:
        try:
            asyncio.run(_advance(app, run_id, watch, signals))
        except asyncio.CancelledError:  # ^C for the third time
            raise KeyboardInterrupt from None
    with app.read() as view:
        return facts(view, view.runs.find(run_id)), last_ending(view, run_id)


def show_for(args: Namespace, app: App, run_id: str) -> Show:
    """How a session is shown: for programs, or for people."""
    if args.json:
        return AsJson()
    live = Live(verbose=args.verbose)
    with app.read() as view:
        live.spent_before = spent(view, run_id)
    return AsLines(live, app.environ)


def new_records(app: App, run_id: str) -> FeedReader:
    """What will be told of a session from now on."""
    return FeedReader(app.project.folder, run_id, tail=0)


async def _advance(app: App, run_id: str, watch: Watch, signals: Stopping) -> Done | Parked:
    async with at_work(app, _told_of(app, run_id), watch.say):
        steps = Steps(signals, _Session(app, run_id).stop, watch.say, (AFTER_TURN, NOW))
        with signals.answered_by(steps):
            return await Runner(engine(app)).run_one(run_id)


class _Session:
    """How a session is asked to stop: after its turn, or now."""

    def __init__(self, app: App, run_id: str) -> None:
        self._app = app
        self._run_id = run_id
        self._is_asked = False

    def stop(self, *, now: bool, ending: str | None) -> None:
        """Send what is wanted to whoever advances the session."""
        if not self._is_asked:
            self._app.change(ask_to_stop, self._run_id, ending)
            self._is_asked = True
        if now:
            self._app.change(control.send, self._run_id, INTERRUPT, {})


def _told_of(app: App, run_id: str) -> Callable[[Delivery], None]:
    """Hooks of events are called beside the session; who watches it hears of them as well."""
    tell = FileFeed(app.project.folder).of(run_id)

    def observe(row: Delivery) -> None:
        if row.point in TOLD_IN_FEED:
            return
        hook = app.standing.find(row.hook)
        piped = hook is not None and hook.pipe_output
        if piped or row.failure:
            tell(
                "hook_ended",
                {
                    "point": row.point,
                    "hook": row.hook,
                    "status": row.status,
                    "durationMs": (row.duration_us or 0) / 1000,
                    "exitCode": row.exit_code,
                    "error": row.error,
                    "stderr": last_line(row.stderr or "") if row.exit_code else "",
                    "answer": msgspec.to_builtins(row.answer),
                    "piped": piped,
                    "seq": row.event_seq,
                },
            )

    return observe
