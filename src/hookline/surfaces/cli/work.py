"""`hookline work`: agents take tasks, finish them, and see them merged."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

from hookline.config.claiming import claim_rule
from hookline.domain.sessions import SIGNAL, Charge
from hookline.errors import INTERRUPTED, LIMIT, BadInput, NothingReady
from hookline.flows import control
from hookline.flows.outcomes import INTERRUPT
from hookline.flows.runner import Runner
from hookline.flows.worker import Budget, Worker
from hookline.outside import engine, repository, start_session
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.flow_watch import at_work
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import note, say, say_json, untrusted
from hookline.tasks import claims

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.domain.tasks import Task
    from hookline.ports import Transaction

# Long enough to make a worktree; the session renews it.
FIRST_LEASE = 600.0


def _arguments(p: ArgumentParser) -> None:
    p.add_argument("--agents", type=int, metavar="N", default=1, help="so many at once")
    p.add_argument("--agent", action="append", metavar="NAME", help="only these profiles")
    p.add_argument("--types", metavar="T,...", help="only tasks of these types")
    p.add_argument("--once", action="store_true", help="end when nothing is left to do")
    p.add_argument("--flows", action="store_true", help="serve runs only; take no tasks")
    p.add_argument("--tasks", type=int, metavar="N", help="take at most so many tasks")
    p.add_argument("--minutes", type=float, metavar="M", help="take no new task after that")


def _work(args: Namespace) -> int:
    if args.agents < 1:
        raise BadInput("--agents must be at least 1")
    with writing() as app:
        lanes = [] if args.flows else _lanes(app, args)
        try:
            done = asyncio.run(_serve(app, args, lanes))
        except KeyboardInterrupt:
            note("interrupted; everything goes on where it was when something serves it again")
            return INTERRUPTED
    if args.json:
        say_json(done)
    else:
        say(f"nothing is left to do; {done['begun']} tasks were begun")
    return LIMIT if done["limit"] and done["limit"] != "tasks" else 0


def _lanes(app: App, args: Namespace) -> list[str]:
    """The agents that work, as many as there are lanes."""
    profiles = list(app.settings.agents) if app.settings is not None else []
    wanted = args.agent or _implementers(app) or profiles
    unknown = [name for name in wanted if name not in profiles]
    if unknown or not wanted:
        raise BadInput(
            f"there is no agent '{unknown[0]}'" if unknown else "no agent is configured",
            help="agents are listed under `agents:` in hookline.yaml",
        )
    return [wanted[place % len(wanted)] for place in range(args.agents)]


def _implementers(app: App) -> list[str]:
    if app.settings is None:
        return []
    if app.settings.agent:
        return [app.settings.agent]
    types = app.settings.task_types.values()
    return list(dict.fromkeys(name for each in types for name in each.agents.implementer))


async def _serve(app: App, args: Namespace, lanes: list[str]) -> dict[str, Any]:
    def observe(what: str, details: dict[str, Any]) -> None:
        if not args.json and what == "effect":
            note(f"{details['runId']}  {untrusted(details['effectId'])}")

    served = engine(app, observe)
    async with at_work(app):
        runner = Runner(served)
        if not lanes:
            return {"begun": 0, "served": await runner.serve(once=args.once), "limit": None}
        budget = Budget(tasks=args.tasks, minutes=args.minutes)
        beginner = _Beginner(app, args)
        worker = Worker(served, runner, lanes, beginner.begin, budget=budget, tell=note)
        with _Signals(app, worker):
            begun = await worker.serve(once=args.once)
        return {"begun": begun, "limit": worker.spent()}


class _Beginner:
    """Claims the best task that an agent may take, and starts its session in a worktree."""

    def __init__(self, app: App, args: Namespace) -> None:
        self._app = app
        self._types = args.types.split(",") if args.types else None
        self._rule = claim_rule(app.settings)

    async def begin(self, agent: str) -> str | None:
        """The run of a new session; None if there is nothing to take."""
        app = self._app
        try:
            task: Task = app.change(self._claim, agent)
        except NothingReady:
            return None
        try:
            place = await repository(app).worktree(task.id)
        except BaseException:
            app.change(lambda tx: claims.release(tx, task.id, reason="no worktree"))
            raise
        settings = app.settings
        kind = settings.task_types.get(task.type or "") if settings is not None else None
        charge = Charge(
            name=f"{task.id}-{agent}",
            goal=task.goal,
            task_id=task.id,
            agent=agent,
            worktree=place.folder,
            branch=place.branch,
            base=place.base,
            skip_pr=bool(kind and kind.skip_pr),
        )
        return start_session(app, lambda tx: charge)

    def _claim(self, tx: Transaction, agent: str) -> Task:
        return claims.claim_next(tx, agent, FIRST_LEASE, allowed=self._may_take)

    def _may_take(self, agent: str, task_type: str | None) -> bool:
        if self._types is not None and task_type not in self._types:
            return False
        return self._rule(agent, task_type)


class _Signals:
    """^C once: take no more, stop after these turns; twice: now; three times: leave."""

    def __init__(self, app: App, worker: Worker) -> None:
        self._app = app
        self._worker = worker
        self._asked = 0
        self._task = asyncio.current_task()

    def __enter__(self) -> _Signals:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._asked_to_end)
        return self

    def __exit__(self, *details: object) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

    def _asked_to_end(self) -> None:
        self._asked += 1
        self._worker.stopping = True
        if self._asked > 2 and self._task is not None:
            self._task.cancel()
            return
        for _, run_id in self._worker.lanes:
            if run_id and self._asked == 1:
                self._app.change(control.send, run_id, SIGNAL, {"verb": "stop"})
            elif run_id:
                self._app.change(control.send, run_id, INTERRUPT, {})
        note("stopping after these turns; ^C again stops now" if self._asked == 1 else "stopping")


COMMANDS = {"work": Command("agents take tasks and see them merged", _arguments, _work)}
