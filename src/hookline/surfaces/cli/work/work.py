"""`hookline work`: agents take tasks, finish them, and see them merged."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from hookline.operations.inside_runs import refuse_worker
from hookline.surfaces.cli.background import detach_argument, tell_detached, warn_of_silence
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.live.watch import AsRecords, OnScreen, Watch
from hookline.surfaces.cli.opening import (
    refuse_unready,
    resumed_by,
    tell_unseen_failure,
    writing,
)
from hookline.surfaces.cli.output import untrusted, warn
from hookline.surfaces.cli.sessions.arguments import verbose_argument
from hookline.surfaces.cli.stopping import Stopping, steps
from hookline.surfaces.cli.work.end import tell_end
from hookline.surfaces.cli.work.flows import serve_flows
from hookline.surfaces.cli.work.view import Board
from hookline.wiring.running.schedulers import choose
from hookline.worker.lanes import lanes
from hookline.worker.loop import WorkBudget, check_budget
from hookline.worker.records import WorkRecord
from hookline.worker.worker_run import WorkerRun, check_place

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from hookline.app import App
    from hookline.errors import BadInput
    from hookline.surfaces.cli.live.watch import Show
    from hookline.worker.loop import Worker
    from hookline.worker.news import Told

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
        "--usd", type=float, metavar="N", help="start no more turns once this much is spent"
    )
    p.add_argument(
        "--label", action="append", metavar="L", help="what this host has, such as gpu; repeatable"
    )
    p.add_argument(
        "--scheduler", metavar="NAME", help="who says when runs are advanced: local or temporal"
    )
    detach_argument(p)
    verbose_argument(p)


def _work(args: Namespace) -> int:
    budget = check_budget(args.agents, WorkBudget(args.tasks, args.minutes, args.usd))
    with writing() as app:
        app.labels = args.label or ()
        settings = choose(app, args.scheduler)
        if args.flows:
            return _detach(args, app) if args.detach else serve_flows(args, app, settings)
        refuse_worker(app)
        refuse_unready(args, app)
        agents = lanes(app, args.agents, args.agent or (), _warn_of_missing, args.usd)
        for problem in asyncio.run(check_place(app)):
            warn(f"{untrusted(problem.message, 300)}; {untrusted(problem.help, 300)}")
        if args.detach:
            return _detach(args, app)
        return _take_tasks(args, app, agents, budget)


def _detach(args: Namespace, app: App) -> int:
    from hookline.operations.sessions.supervision import detach_worker  # few workers are detached

    warn_of_silence(app)
    words = [word for word in args.words if word not in ("--detach", "--json")]
    made = detach_worker(app, ["work", *words])
    ways = {
        "status": "hookline status",
        "watch": "hookline attach work",
        "stop": "hookline stop work",
    }
    tell_detached(args, made, "the worker runs", ways)
    return 0


# Tasks


def _take_tasks(
    args: Namespace, app: App, agents: list[tuple[str, ...]], budget: WorkBudget
) -> int:
    types = args.types.split(",") if args.types else None
    _warn_of_types(app, types)
    worker_run = WorkerRun(app, agents, types, choose(app, args.scheduler))
    board = Board(len(agents), args.usd, verbose=args.verbose)
    show: Show[Told] = OnScreen(board, app.environ)
    if args.json:
        show = AsRecords(lambda told: isinstance(told, WorkRecord))
    with Stopping() as signals:
        with resumed_by("hookline work"), Watch(worker_run.news, show) as watch:
            try:
                worker = asyncio.run(_serve(budget, worker_run, watch, signals, once=args.once))
            except asyncio.CancelledError:  # ^C for the third time
                raise KeyboardInterrupt from None
        code = tell_end(args, worker_run.account(worker))
    if worker.trouble is not None:
        raise worker.trouble
    return code


async def _serve(
    budget: WorkBudget,
    worker_run: WorkerRun,
    watch: Watch[Told],
    signals: Stopping,
    *,
    once: bool,
) -> Worker:
    def stopped_by(stop: Callable[..., None]) -> AbstractContextManager[None]:
        return steps(signals, stop, watch.say, (AFTER_TURNS, NOW))

    return await worker_run.serve(
        budget,
        once=once,
        tell=watch.say,
        failed=partial(tell_unseen_failure, say=watch.say),
        stopped_by=stopped_by,
    )


# What is refused at the start, and not task by task forever


def _warn_of_missing(problem: BadInput) -> None:
    warn(problem.message, help="only tasks of this type have to wait")


def _warn_of_types(app: App, types: Sequence[str] | None) -> None:
    known = app.sections.task_types
    for name in types or ():
        if name not in known:
            warn(f"the type '{untrusted(name, 80)}' is not configured")


COMMANDS = {"work": Command("let agents work on tasks until they are merged", _arguments, _work)}
