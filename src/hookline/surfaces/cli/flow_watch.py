"""Advancing runs while someone watches: a heartbeat, hooks called meanwhile, ^C parks."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from hookline.adapters.store.sqlite import SqliteStore
from hookline.adapters.wakeup import AsyncWaker
from hookline.domain import runs
from hookline.errors import (
    FAILED,
    INTERRUPTED,
    LIMIT,
    NEEDS_PERSON,
    IllegalTransition,
    StoreError,
)
from hookline.flows import control
from hookline.flows.engine import Done, Parked
from hookline.flows.runner import Heartbeat, Runner
from hookline.outside import engine
from hookline.surfaces.cli.flow_progress import Progress
from hookline.surfaces.cli.flow_show import tell
from hookline.surfaces.cli.opening import deliver, tell_failure
from hookline.surfaces.cli.output import note
from hookline.wiring.calls import owner_of

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncIterator, Callable

    from hookline.app import App
    from hookline.domain.records import Delivery


def foreground(args: Namespace, app: App, run_id: str, max_iterations: int | None = None) -> int:
    """Advance a run while someone watches; ^C parks it."""
    refuse_inside(app, run_id)
    try:
        result = asyncio.run(_watched(app, run_id, max_iterations, quiet=args.json))
    except KeyboardInterrupt:
        app.change(control.park, owner_of(app), run_id, "interrupted")
        note(f"{run_id} is parked; go on with `hookline orchestrate {run_id}`")
        return INTERRUPTED
    deliver(app)
    tell(args, app, run_id)
    return exit_code(result)


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
    async with at_work(app, progress.call_failed), progress.shown():
        return await runner.run_one(run_id, max_iterations=max_iterations)


@asynccontextmanager
async def at_work(
    app: App, observe: Callable[[Delivery], None] = tell_failure
) -> AsyncIterator[None]:
    """What a process needs that advances runs: a heartbeat, hooks called, SIGTERM as ^C."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, _end)
    calls = _HookCalls(app)
    before, app.listen = app.listen, observe
    with Heartbeat(lambda: SqliteStore(app.project.database), app.owner):
        task = asyncio.ensure_future(calls.go_on())
        try:
            yield
            if calls.busy:
                calls.stopping = True
                await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            app.listen = before


def _end() -> None:
    """End as ^C does, also where that is ignored, as in the background of a shell's script."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.kill(os.getpid(), signal.SIGINT)


class _HookCalls:
    """Calls the hooks of events as they happen, not only when the run is over.

    A call that is under way at the end is waited for: cut short, it would be made again.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self.busy = False
        self.stopping = False

    async def go_on(self) -> None:
        waker = AsyncWaker(self._app.project.folder)
        while not self.stopping:
            if not await self._deliver():  # what waits may be in other hands
                await waker.wait(1.0)

    async def _deliver(self) -> int:
        if not self._app.work_waits():
            return 0
        self.busy = True
        try:
            return await self._app.deliver()
        except StoreError as problem:  # a store that is busy or full now may not be soon
            note(f"hooks wait: {problem.message}")
            return 0
        finally:
            self.busy = False


def exit_code(result: Done | Parked) -> int:
    """How a command ends that advanced a run."""
    if isinstance(result, Done):
        return 0 if result.status == runs.COMPLETED else FAILED
    if result.at_limit:
        return LIMIT
    return NEEDS_PERSON if result.needs_person else 0
