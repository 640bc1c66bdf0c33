"""Advancing a submission or a merge while someone watches: each verdict as it comes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hookline.flows.runner import FlowRunner
from hookline.operations.announcements import at_work
from hookline.operations.inside_runs import refuse_inside
from hookline.pipeline import gate_verbs
from hookline.surfaces.cli.flows.watch import park
from hookline.surfaces.cli.gates.progress import GateProgress
from hookline.surfaces.cli.live.watch import store_watch
from hookline.surfaces.cli.opening import deliver, tell_unseen_failure
from hookline.surfaces.cli.output import note
from hookline.surfaces.cli.stopping import Stopped, run_to_end
from hookline.wiring.running.engine import engine
from hookline.wiring.running.hosts import serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.app import App
    from hookline.domain.runs.model import Run


def watched(app: App, run_id: str, *, quiet: bool) -> Run:
    """Advance a run until it is over or waits for someone; ^C parks it."""
    refuse_inside(app, run_id)
    progress = GateProgress(app, run_id)
    app.change(gate_verbs.ask_again, run_id)
    try:
        with serving(app, run_id), store_watch(app, progress, quiet=quiet) as watch:
            run_to_end(_advance(app, run_id, watch.say))
    except Stopped as told:
        park(app, run_id, told)
        note(
            f"{run_id} is parked; resume it with `hookline {progress.run.flow} {progress.task_id}`"
        )
        raise KeyboardInterrupt from None
    deliver(app)
    with app.read() as view:
        return view.runs.find(run_id)


async def _advance(app: App, run_id: str, say: Callable[[str], None]) -> None:
    async with at_work(app, partial(tell_unseen_failure, say=say), say):
        await FlowRunner(engine(app)).run_one(run_id, for_people=False)
