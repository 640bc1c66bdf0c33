"""`hookline run`: an agent works in a loop until it is done, stuck or spent."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from hookline.errors import UsageError
from hookline.operations.sessions.start import NewSession, is_unchecked, prepare_worktree, start
from hookline.queries.sessions import facts
from hookline.sessions.names import check_name
from hookline.surfaces.cli.background import detach_argument
from hookline.surfaces.cli.command import Command, TaskName
from hookline.surfaces.cli.opening import refuse_unready, tell_frozen, writing
from hookline.surfaces.cli.output import untrusted, warn
from hookline.surfaces.cli.sessions.arguments import given_limits, limit_arguments, verbose_argument
from hookline.surfaces.cli.sessions.detach import detach
from hookline.surfaces.cli.sessions.drive import drive
from hookline.surfaces.cli.sessions.end import tell
from hookline.surfaces.cli.sessions.resume import resume
from hookline.surfaces.cli.stopping import Stopping
from hookline.tasks.task_runs import live_sessions
from hookline.trust.people import as_called, is_in_session, refuse_agents
from hookline.wiring.working.profiles import chosen_agent

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App


UNCHECKED = "no check is active: the agent's word is taken, and its work counts as unproven"
ADD_CHECK = (
    "write your tests under `validation:` in hookline.yaml, and `stop: [evidence]` under `hooks:`;"
    " then run `hookline trust`"
)

UNTOLD = "whose change is whose cannot be told, so neither can be proven"
GIVE_TYPE = "give tasks a type, so that each has its own worktree; or wait until it is done"


def _arguments(p: ArgumentParser) -> None:
    p.add_argument("goal", nargs="?", help="what the agent should do")
    help = "work on this task (its goal is the default)"
    p.add_argument("--task", metavar="ID", type=TaskName, help=help)
    p.add_argument("--agent", metavar="NAME", help="the agent profile")
    help = "the session's name (default: generated); with --resume: the session to resume"
    p.add_argument("--name", metavar="S", help=help)
    help = "resume a session (default: the only one that no limit stopped)"
    p.add_argument("--resume", action="store_true", help=help)
    help = "let the agent plan first, then show the plan and stop"
    p.add_argument("--plan", action="store_true", help=help)
    p.add_argument("--yes", action="store_true", help="with --plan: start the planned work at once")
    limit_arguments(p)
    detach_argument(p)
    verbose_argument(p)


def _run(args: Namespace) -> int:
    if args.resume:
        refuse_agents(os.environ, "run --resume")
        if args.goal or args.task or args.agent:
            raise UsageError("a resumed session keeps its goal, task and agent")
        if args.plan or args.yes:
            raise UsageError("--plan and --yes are for a new session")
        return resume(args)
    called = as_called(os.environ)
    if called.get("HOOKLINE_AGENT") or is_in_session(called):
        refuse_agents(os.environ, "run")  # it would have its own budget, and so on forever
    limits = given_limits(args)
    if args.name is not None:
        check_name(args.name)
    with writing() as app:
        refuse_unready(args, app)
        given = {name: getattr(args, name) for name in ("goal", "task", "name", "plan")}
        agent = chosen_agent(app, args.agent, limits.get("usd"))
        wanted = NewSession(agent=agent, limits=limits, shows_plan=not args.yes, **given)
        place = asyncio.run(prepare_worktree(app, args.task, wanted.agent))
        if not args.json:
            tell_frozen(app)
            if place is None and is_unchecked(app, agent):
                warn(UNCHECKED, help=ADD_CHECK)
            if place is None:
                _warn_of_others(app)
        if args.detach:
            return detach(args, app, start(app, wanted, place, detached=True))
        with Stopping() as signals:
            run_id = start(app, wanted, place)
            known = drive(args, app, run_id, app.feeds.reader(run_id), signals)
            return tell(args, app, known)


def _warn_of_others(app: App) -> None:
    """Say which sessions already work in the project's own folder."""
    with app.read() as view:
        found = [facts(view, run) for run in live_sessions(view)]
    names = [untrusted(each.name, 80) for each in found if each.is_alive and each.branch is None]
    if names:
        work = "work" if len(names) > 1 else "works"
        warn(f"{', '.join(names)} already {work} in this folder: {UNTOLD}", help=GIVE_TYPE)


COMMANDS = {"run": Command("run an agent until its work is done", _arguments, _run)}
