"""`hookline run`: an agent works in a loop until it is done, stuck or spent."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import TYPE_CHECKING

from hookline.domain.sessions import STOPPED
from hookline.errors import UsageError
from hookline.operations.resume import go_on, refuse_silence, to_go_on_with
from hookline.operations.sessions import NewSession, is_unchecked, prepare_worktree, start
from hookline.queries.session_ends import parked_help
from hookline.queries.sessions import facts, last_ending
from hookline.sessions.names import check_name
from hookline.surfaces.cli.background import detach_argument, tell_detached, warn_of_silence
from hookline.surfaces.cli.command import Command, TaskName, run_of_folder
from hookline.surfaces.cli.opening import refuse_unready, tell_frozen, writing
from hookline.surfaces.cli.output import note, untrusted, warn
from hookline.surfaces.cli.sessions.arguments import given_limits, limit_arguments, verbose_argument
from hookline.surfaces.cli.sessions.drive import drive
from hookline.surfaces.cli.sessions.end import tell_end, tell_plan
from hookline.surfaces.cli.stopping import Stopping
from hookline.tasks.task_runs import live_sessions
from hookline.trust.people import as_called, is_in_session, refuse_agents
from hookline.wiring.working.profiles import chosen_agent
from hookline.wiring.working.work import begin_work

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

    from hookline.app import App
    from hookline.queries.sessions import SessionFacts


UNCHECKED = "no check is live: the agent's promise is believed, and its work counts as unproven"
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
            return _detach(args, app, start(app, wanted, place, detached=True))
        with Stopping() as signals:
            run_id = start(app, wanted, place)
            known = drive(args, app, run_id, app.feeds.reader(run_id), signals)
            return _tell(args, app, known)


def _warn_of_others(app: App) -> None:
    """Say which sessions already work in the project's own folder."""
    with app.read() as view:
        found = [facts(view, run) for run in live_sessions(view)]
    names = [untrusted(each.name, 80) for each in found if each.is_alive and each.branch is None]
    if names:
        work = "work" if len(names) > 1 else "works"
        warn(f"{', '.join(names)} already {work} in this folder: {UNTOLD}", help=GIVE_TYPE)


def _detach(
    args: Namespace, app: App, run_id: str, limits: Mapping[str, float] | None = None
) -> int:
    from hookline.operations.supervision import detach_session  # few sessions are detached

    warn_of_silence(app)
    made = detach_session(app, run_id, limits)
    with app.read() as view:
        known = facts(view, view.runs.find(run_id))
    name = untrusted(shlex.quote(known.name))
    ways = {
        "status": "hookline status",
        "watch": f"hookline attach {name}",
        "stop": f"hookline stop {name}",
    }
    told = {"runId": run_id, "name": known.name, "taskId": known.task_id}
    what = f"{untrusted(known.name)} ({run_id}, {known.task_id}) runs"
    tell_detached(args, made, what, ways, **told)
    return 0


def resume(args: Namespace) -> int:
    """Continue a session that was stopped, paused, killed or reached a limit."""
    limits = given_limits(args)
    with writing() as app:
        refuse_unready(args, app)
        known = to_go_on_with(app, args.name and run_of_folder(args.name), limits)
        chosen_agent(app, known.agent, limits.get("usd"))
        reader = app.feeds.reader(known.run_id, tail=0)  # what is told from now on
        if args.detach:
            return _detach(args, app, known.run_id, limits)
        if not args.json:
            note(f"resuming {untrusted(known.name)} ({known.run_id}): {untrusted(known.goal)}")
        if known.branch is not None and (known.status == STOPPED or known.problem is not None):
            asyncio.run(begin_work(app, known.task_id))
        with Stopping() as signals:
            place = go_on(app, known, limits)
            known = drive(args, app, known.run_id, reader, signals)
            with app.read() as view:
                refuse_silence(view, known, place)
            return _tell(args, app, known)


def _tell(args: Namespace, app: App, known: SessionFacts) -> int:
    with app.read() as view:
        tell_plan(args, view, known)
        return tell_end(args, known, last_ending(view, known.run_id), parked_help(view, known))


COMMANDS = {"run": Command("run an agent until its work is done", _arguments, _run)}
