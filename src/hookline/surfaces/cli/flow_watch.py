"""Advancing runs while someone watches: a heartbeat, hooks called meanwhile, ^C parks."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from hookline.adapters.store.sqlite import SqliteStore
from hookline.domain import runs
from hookline.errors import (
    FAILED,
    INTERRUPTED,
    LIMIT,
    NEEDS_PERSON,
    IllegalTransition,
)
from hookline.flows import control
from hookline.flows.engine import Done, Parked
from hookline.flows.runner import Heartbeat, Runner
from hookline.outside import engine
from hookline.surfaces.cli.delivering import delivered
from hookline.surfaces.cli.flow_progress import Progress
from hookline.surfaces.cli.flow_show import tell
from hookline.surfaces.cli.opening import deliver, resumed_by, tell_failure
from hookline.surfaces.cli.output import note
from hookline.surfaces.cli.stopping import Stopped, run_to_end
from hookline.wiring.calls import owner_of

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncIterator, Callable

    from hookline.app import App
    from hookline.domain.records import Delivery
    from hookline.ports.store import Transaction


def foreground(args: Namespace, app: App, run_id: str, max_iterations: int | None = None) -> int:
    """Advance a run while someone watches; ^C parks it."""
    refuse_inside(app, run_id)
    again = f"hookline orchestrate {run_id}"
    try:
        with resumed_by(again):
            result = run_to_end(_watched(app, run_id, max_iterations, quiet=args.json))
    except Stopped as told:
        park(app, run_id, told)
        note(f"{run_id} is parked; go on with `{again}`")
        return INTERRUPTED
    deliver(app)
    tell(args, app, run_id)
    return exit_code(result)


def park(app: App, run_id: str, told: Stopped) -> None:
    """Leave a run to whoever goes on with it; why it rests says what ended its command."""
    app.change(control.park, owner_of(app), run_id, str(told))


def refuse_inside(app: App, run_id: str) -> None:
    """A process that a run waits for cannot wait for the run."""
    if app.environ.get("HOOKLINE_RUN_ID") == run_id:
        raise IllegalTransition(
            f"this process runs inside {run_id}, which cannot advance until it ends",
            help=f"`hookline effect run {run_id} EFFECT` has one effect carried out",
        )


async def _watched(
    app: App, run_id: str, max_iterations: int | None, *, quiet: bool
) -> Done | Parked:
    progress = Progress(app, run_id, quiet=quiet)
    runner = Runner(engine(app, progress.observe))
    async with at_work(app, progress.call_failed, progress.say), progress.shown():
        return await runner.run_one(run_id, max_iterations=max_iterations)


@asynccontextmanager
async def at_work(
    app: App,
    observe: Callable[[Delivery], None] = tell_failure,
    tell: Callable[[str], None] = note,
    keep: Callable[[Transaction], None] = lambda tx: None,
) -> AsyncIterator[None]:
    """What a process needs that advances runs: a heartbeat, and hooks called meanwhile."""

    async def deliver() -> int:
        return await app.deliver() if app.work_waits() else 0

    before = app.listen, app.tell
    app.listen, app.tell = observe, tell
    try:
        with Heartbeat(lambda: SqliteStore(app.project.database), app.owner, keep):
            async with delivered(app.project.folder, deliver, tell):
                yield
    finally:
        app.listen, app.tell = before


def exit_code(result: Done | Parked) -> int:
    """How a command ends that advanced a run."""
    if isinstance(result, Done):
        return 0 if result.status == runs.COMPLETED else FAILED
    if result.at_limit:
        return LIMIT
    return NEEDS_PERSON if result.needs_person else 0
