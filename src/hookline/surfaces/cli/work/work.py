"""`hookline work`: agents take tasks, finish them, and see them merged."""

from __future__ import annotations

import asyncio
import math
import os
from typing import TYPE_CHECKING

from hookline.errors import BadInput, IllegalTransition
from hookline.points import TOLD_IN_FEED
from hookline.surfaces.cli.background import detach_argument, tell_detached
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.live.watch import AsRecords, OnScreen, SessionWatch
from hookline.surfaces.cli.opening import refuse_unready, resumed_by, writing
from hookline.surfaces.cli.output import untrusted, warn
from hookline.surfaces.cli.sessions.arguments import verbose_argument
from hookline.surfaces.cli.stopping import Stopping, steps
from hookline.surfaces.cli.work.end import tell_end
from hookline.surfaces.cli.work.flows import serve_flows
from hookline.surfaces.cli.work.view import Board
from hookline.trust.people import refuse_agents
from hookline.wiring.forges import check_forge
from hookline.wiring.work import check_repository
from hookline.worker.loop import WorkBudget
from hookline.worker.records import WorkRecord
from hookline.worker.worker_run import WorkerRun, lanes

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from hookline.app import App
    from hookline.domain.records import Delivery
    from hookline.surfaces.cli.live.watch import Show
    from hookline.worker.loop import Worker
    from hookline.worker.news import Told

MOST_LANES = 64

AFTER_TURNS = "taking no more; stopping after these turns; ^C again stops now"
NOW = "stopping now; ^C again exits at once, and `hookline work` continues"


def _arguments(p: ArgumentParser) -> None:
    p.add_argument(
        "--agents", type=int, metavar="N", default=1, help="how many tasks to work on at once"
    )
    p.add_argument("--agent", action="append", metavar="NAME", help="only these agents; repeatable")
    p.add_argument("--types", metavar="T,...", help="only tasks of these types")
    p.add_argument("--once", action="store_true", help="exit when nothing is left to do")
    p.add_argument("--flows", action="store_true", help="advance runs only; take no tasks")
    p.add_argument("--tasks", type=int, metavar="N", help="stop after N tasks")
    p.add_argument("--minutes", type=float, metavar="M", help="take no more tasks after M minutes")
    p.add_argument(
        "--usd", type=float, metavar="N", help="begin no more turns once this much is spent"
    )
    detach_argument(p)
    verbose_argument(p)


def _work(args: Namespace) -> int:
    _check_numbers(args)
    with writing() as app:
        if args.flows:
            return _detach(args, app) if args.detach else serve_flows(args, app)
        _refuse_inside(app)
        refuse_agents(os.environ, "work")
        refuse_unready(args, app)
        agents = lanes(app, args.agents, args.agent or (), _warn_of_missing, args.usd)
        asyncio.run(check_repository(app))
        for problem in asyncio.run(check_forge(app)):
            warn(f"{untrusted(problem.message, 300)}; {untrusted(problem.help, 300)}")
        if args.detach:
            return _detach(args, app)
        return _take_tasks(args, app, agents)


def _detach(args: Namespace, app: App) -> int:
    from hookline.operations.supervision import detach_worker  # few workers are detached

    words = [word for word in args.words if word not in ("--detach", "--json")]
    made = detach_worker(app, ["work", *words])
    ways = {"status": "hookline status", "watch": "hookline logs work", "stop": "hookline stop"}
    tell_detached(args, made, "the worker runs", ways)
    return 0


# Tasks


def _take_tasks(args: Namespace, app: App, agents: list[tuple[str, ...]]) -> int:
    types = args.types.split(",") if args.types else None
    _warn_of_types(app, types)
    worker_run = WorkerRun(app, agents, types)
    board = Board(len(agents), args.usd, verbose=args.verbose)
    show: Show[Told] = OnScreen(board, app.environ)
    if args.json:
        show = AsRecords(lambda told: isinstance(told, WorkRecord))
    with Stopping() as signals:
        with resumed_by("hookline work"), SessionWatch(worker_run.news, show) as watch:
            try:
                worker = asyncio.run(_serve(args, worker_run, watch, signals))
            except asyncio.CancelledError:  # ^C for the third time
                raise KeyboardInterrupt from None
        code = tell_end(args, worker_run.account(worker))
    if worker.trouble is not None:
        raise worker.trouble
    return code


async def _serve(
    args: Namespace, worker_run: WorkerRun, watch: SessionWatch[Told], signals: Stopping
) -> Worker:
    def stopped_by(stop: Callable[..., None]) -> AbstractContextManager[None]:
        return steps(signals, stop, watch.say, (AFTER_TURNS, NOW))

    def failed(row: Delivery) -> None:  # hooks of events are called next to the sessions
        if row.failure and row.point not in TOLD_IN_FEED:
            watch.say(untrusted(row.failure, 300))

    return await worker_run.serve(
        WorkBudget(args.tasks, args.minutes, args.usd),
        once=args.once,
        tell=watch.say,
        failed=failed,
        stopped_by=stopped_by,
    )


# What is refused at the start, and not task by task forever


def _check_numbers(args: Namespace) -> None:
    if not 1 <= args.agents <= MOST_LANES:
        raise BadInput(f"--agents must be 1 to {MOST_LANES}")
    if args.tasks is not None and args.tasks < 1:
        raise BadInput("--tasks must be at least 1")
    for name in ("minutes", "usd"):
        value = getattr(args, name)
        if value is not None and not (math.isfinite(value) and value > 0):
            raise BadInput(f"--{name} must be more than 0")


def _refuse_inside(app: App) -> None:
    run_id = app.environ.get("HOOKLINE_RUN_ID")
    if run_id:
        raise IllegalTransition(
            f"this process runs inside {run_id}, which would then wait for itself",
            help="start the worker from your own terminal",
        )


def _warn_of_missing(problem: BadInput) -> None:
    warn(problem.message, help="only tasks of this type have to wait")


def _warn_of_types(app: App, types: Sequence[str] | None) -> None:
    known = app.sections.task_types
    for name in types or ():
        if name not in known:
            warn(f"the type '{untrusted(name, 80)}' is not configured")


COMMANDS = {"work": Command("let agents work on tasks until they are merged", _arguments, _work)}
