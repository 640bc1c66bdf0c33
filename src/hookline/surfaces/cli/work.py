"""`hookline work`: agents take tasks, finish them, and see them merged."""

from __future__ import annotations

import asyncio
import math
import os
import sys
from typing import TYPE_CHECKING, Any

from hookline.errors import BadInput, IllegalTransition
from hookline.flows.runner import Runner
from hookline.flows.worker import Budget, Worker
from hookline.outside import engine
from hookline.points import TOLD_IN_FEED
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.flow_watch import at_work
from hookline.surfaces.cli.live_watch import Watch
from hookline.surfaces.cli.opening import resumed_by, writing
from hookline.surfaces.cli.output import (
    next_step,
    note,
    paint,
    say_json,
    say_row,
    spoken,
    untrusted,
)
from hookline.surfaces.cli.run import refuse_unready
from hookline.surfaces.cli.serving import serving
from hookline.surfaces.cli.session_agent import chosen_agent
from hookline.surfaces.cli.session_arguments import verbose_argument
from hookline.surfaces.cli.stopping import Steps, Stopping
from hookline.surfaces.cli.work_desk import WorkDesk
from hookline.surfaces.cli.work_end import SHOWN, account
from hookline.surfaces.cli.work_flows import serve_flows
from hookline.surfaces.cli.work_news import News
from hookline.surfaces.cli.work_view import AsBoard, AsRecords, Board
from hookline.surfaces.cli.worktree import remove_finished
from hookline.trust import refuse_agents
from hookline.wiring.forges import check_forge
from hookline.wiring.work import check_repository

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Sequence

    from hookline.app import App
    from hookline.domain.records import Delivery
    from hookline.domain.tasks import Task
    from hookline.errors import HooklineError
    from hookline.surfaces.cli.live_watch import Show
    from hookline.surfaces.cli.work_end import Account

MOST_LANES = 64

AFTER_TURNS = "taking no more; stopping after these turns; ^C again stops now"
NOW = "stopping now; ^C again leaves at once, `hookline work` goes on"


def _arguments(p: ArgumentParser) -> None:
    p.add_argument("--agents", type=int, metavar="N", default=1, help="so many at once")
    p.add_argument("--agent", action="append", metavar="NAME", help="only these profiles")
    p.add_argument("--types", metavar="T,...", help="only tasks of these types")
    p.add_argument("--once", action="store_true", help="end when nothing is left to do")
    p.add_argument("--flows", action="store_true", help="serve runs only; take no tasks")
    p.add_argument("--tasks", type=int, metavar="N", help="take at most so many tasks")
    p.add_argument("--minutes", type=float, metavar="M", help="take none after so many minutes")
    p.add_argument("--usd", type=float, metavar="N", help="take none once so much is spent")
    verbose_argument(p)


def _work(args: Namespace) -> int:
    _check_numbers(args)
    with writing() as app:
        if args.flows:
            return serve_flows(args, app)
        _refuse_inside(app)
        refuse_agents(os.environ, "work")
        refuse_unready(args, app)
        lanes = _lanes(app, args)
        asyncio.run(check_repository(app))
        for problem in asyncio.run(check_forge(app)):
            mark = paint("warning", "yellow", sys.stderr)
            note(f"{mark}: {untrusted(problem.message, 300)}; {untrusted(problem.help, 300)}")
        return _take_tasks(args, app, lanes)


# Tasks


def _take_tasks(args: Namespace, app: App, lanes: list[tuple[str, ...]]) -> int:
    with app.read() as view:
        place = view.log.last()
    types = args.types.split(",") if args.types else None
    _warn_of_types(app, types)
    desk = WorkDesk(app, lanes[0], types, after=place, left_alone=_left_alone(lambda: news))
    news = News(app.project, desk.tasks, place)
    with Stopping() as signals:
        with resumed_by("hookline work"), Watch(news, _show_for(args, app, lanes)) as watch:
            try:
                worker = asyncio.run(_advance(args, app, lanes, desk, watch, signals))
            except asyncio.CancelledError:  # ^C for the third time
                raise KeyboardInterrupt from None
        code = _tell_end(args, account(app, worker, desk, place))
    if worker.trouble is not None:
        raise worker.trouble
    return code


async def _advance(
    args: Namespace,
    app: App,
    lanes: list[tuple[str, ...]],
    desk: WorkDesk,
    watch: Watch,
    signals: Stopping,
) -> Worker:
    def observe(what: str, details: dict[str, Any]) -> None:
        # Also what has only begun, so that a gate is seen while it runs.
        if what in ("begun", "effect"):
            desk.notice(details["runId"], details["effectId"], is_done=what == "effect")

    served = engine(app, observe)
    budget = Budget(args.tasks, args.minutes, args.usd)
    worker = Worker(served, Runner(served), lanes, desk, budget=budget, tell=watch.say)
    app.spent = worker.money_spent
    steps = Steps(signals, worker.stop, watch.say, (AFTER_TURNS, NOW))
    async with at_work(app, _call_failed(watch), watch.say, desk.keep):
        with serving(app), signals.answered_by(steps):
            await worker.serve(once=args.once)
    if not worker.is_stopping:
        await remove_finished(app)
    return worker


def _show_for(args: Namespace, app: App, lanes: Sequence[tuple[str, ...]]) -> Show:
    if args.json:
        return AsRecords()
    return AsBoard(Board(len(lanes), args.usd, verbose=args.verbose), app.environ)


def _left_alone(news: Callable[[], News]) -> Callable[[Task, HooklineError], None]:
    def tell(task: Task, problem: HooklineError) -> None:
        more = {"code": problem.code, "message": problem.message, "help": problem.help}
        news().put("cannot_begin", taskId=task.id, **more)

    return tell


def _call_failed(watch: Watch) -> Callable[[Delivery], None]:
    """Hooks of events are called beside the sessions; what fails is told."""

    def tell(row: Delivery) -> None:
        if row.failure and row.point not in TOLD_IN_FEED:
            watch.say(untrusted(row.failure, 300))

    return tell


def _tell_end(args: Namespace, found: Account) -> int:
    with spoken(sys.stdout, sys.stderr):
        if args.json:
            say_json({"type": "work_ended", "data": found})
        else:
            # Of those that it dealt with itself, it has told already.
            others = [(task, why) for task, why in found.why.items() if task not in found.tasks]
            for task, why in others[:SHOWN]:
                note(f"{paint(f'{task:5}', 'bold', sys.stderr)} {untrusted(why, 300)}")
            style = "green" if found.exit_code == 0 else "yellow"
            say_row(f"{paint(found.headline, style)}: {found.summary}", 2)
            next_step(*found.next)
    return found.exit_code


# What is refused at the start, and not task by task for ever


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
            f"this process runs inside {run_id}, which would wait for itself",
            help="a worker is started by a person, beside everything that it serves",
        )


def _lanes(app: App, args: Namespace) -> list[tuple[str, ...]]:
    """The agents of each lane, the one that it prefers first."""
    named = _named_by_types(app)
    usual = app.settings.agent if app.settings is not None else None
    if usual is not None and not args.agent:
        lane = (chosen_agent(app, usual), *_there(app, [each for each in named if each != usual]))
        return [lane] * args.agents
    ready = [chosen_agent(app, name) for name in dict.fromkeys(args.agent or named or [None])]
    count = max(args.agents, len(args.agent or ()))
    firsts = [place % len(ready) for place in range(count)]
    return [(*ready[first:], *ready[:first]) for first in firsts]


def _named_by_types(app: App) -> list[str]:
    """The agents that types of tasks name as those who implement them."""
    types = app.settings.task_types.values() if app.settings is not None else ()
    return list(dict.fromkeys(name for each in types for name in each.agents.implementer))


def _there(app: App, names: list[str]) -> list[str]:
    """Those whose programs are there; the usual agent works without the others."""
    found = []
    for name in names:
        try:
            found.append(chosen_agent(app, name))
        except BadInput as problem:
            note(f"{paint('warning', 'yellow', sys.stderr)}: {problem.message}")
            note("  = help: only its own tasks wait for it")
    return found


def _warn_of_types(app: App, types: Sequence[str] | None) -> None:
    known = app.settings.task_types if app.settings is not None else {}
    for name in types or ():
        if name not in known:
            mark = paint("warning", "yellow", sys.stderr)
            note(f"{mark}: the type '{untrusted(name, 80)}' is not configured")


COMMANDS = {"work": Command("agents take tasks and see them merged", _arguments, _work)}
