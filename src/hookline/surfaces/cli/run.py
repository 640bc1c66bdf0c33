"""`hookline run`: an agent works in a loop until it is done, stuck or spent."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

from hookline.adapters.feed import FeedReader
from hookline.config.claiming import claim_rule
from hookline.config.pipeline import belongs_in_worktree, skips_pr
from hookline.domain.sessions import Charge
from hookline.errors import BadInput, ConfigError, UsageError
from hookline.outside import start_session
from hookline.surfaces.cli.command import Command, run_named
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import (
    is_terminal,
    note,
    untrusted,
)
from hookline.surfaces.cli.session_agent import chosen_agent
from hookline.surfaces.cli.session_arguments import (
    given_limits,
    limit_arguments,
    verbose_argument,
)
from hookline.surfaces.cli.session_drive import drive, new_records
from hookline.surfaces.cli.session_end import parked_help, tell_end
from hookline.surfaces.cli.session_names import check_name, unused_name
from hookline.surfaces.cli.session_planned import tell_plan
from hookline.surfaces.cli.session_resume import go_on, refuse_silence, to_go_on_with
from hookline.surfaces.cli.stopping import Stopping
from hookline.tasks import verbs
from hookline.tasks.claims import check_allowed
from hookline.trust import refuse_agents
from hookline.wiring.forges import check_forge
from hookline.wiring.work import begin_work

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.domain.repository import Worktree
    from hookline.ports.store import Transaction


def _arguments(p: ArgumentParser) -> None:
    p.add_argument("goal", nargs="?", help="what is to be done")
    p.add_argument("--task", metavar="ID", help="work on this task (its goal is the default)")
    p.add_argument("--agent", metavar="NAME", help="the agent profile")
    p.add_argument(
        "--name",
        metavar="S",
        help="the session's name, made up by default; with --resume: the session to go on with",
    )
    p.add_argument(
        "--resume",
        action="store_true",
        help="go on with a session, by default the last that no limit stopped",
    )
    p.add_argument(
        "--plan", action="store_true", help="let the agent plan first, then show the plan and stop"
    )
    p.add_argument("--yes", action="store_true", help="start with the plan at once")
    limit_arguments(p)
    verbose_argument(p)


def _run(args: Namespace) -> int:
    if args.resume:
        refuse_agents(os.environ, "run --resume")
        if args.goal or args.task or args.agent:
            raise UsageError("a session that goes on keeps its goal, its task and its agent")
        if args.plan or args.yes:
            raise UsageError("--plan and --yes are for a new session")
        return resume(args)
    if os.environ.get("HOOKLINE_SESSION") and os.environ.get("HOOKLINE_AGENT"):
        refuse_agents(os.environ, "run")  # it would have a budget of its own, and so on for ever
    limits = given_limits(args)
    if args.name is not None:
        check_name(args.name)
    with writing() as app:
        refuse_unready(args, app)
        agent = chosen_agent(app, args.agent)
        place = _worktree(app, args.task, agent)

        def charge(tx: Transaction) -> Charge:
            made = _charge(tx, app, args, agent, limits)
            if place is None:
                return made
            skip_pr = skips_pr(app.settings, tx.graph.task(made.task_id).type)
            return made.in_worktree(place, skip_pr=skip_pr)

        with Stopping() as signals:
            run_id = start_session(app, charge)
            reader = FeedReader(app.project.folder, run_id)
            known, ended = drive(args, app, run_id, reader, signals)
            with app.read() as view:
                help = parked_help(view, known)
                tell_plan(args, view, known)
            return tell_end(args, known, ended, help)


def _worktree(app: App, task_id: str | None, agent: str) -> Worktree | None:
    """Where a task is worked on whose work goes through gates, or lies there already."""
    if task_id is None:
        return None
    with app.read() as view:
        task = view.graph.task(task_id)
    check_allowed(task, agent, claim_rule(app.settings))
    if not belongs_in_worktree(app.settings, app.project.folder, task):
        return None
    asyncio.run(check_forge(app))
    return asyncio.run(begin_work(app, task.id))


def resume(args: Namespace) -> int:
    """Go on with a session that was stopped, paused, killed or reached a limit."""
    limits = given_limits(args)
    with writing() as app:
        refuse_unready(args, app)
        known = to_go_on_with(app, args.name and run_named(args.name), limits)
        chosen_agent(app, known.agent)
        reader = new_records(app, known.run_id)
        if not args.json:
            note(f"going on with {untrusted(known.name)} ({known.run_id}): {untrusted(known.goal)}")
        with Stopping() as signals:
            place = go_on(app, known, limits)
            known, ended = drive(args, app, known.run_id, reader, signals)
            with app.read() as view:
                refuse_silence(view, known, place)
                help = parked_help(view, known)
                tell_plan(args, view, known)
            return tell_end(args, known, ended, help)


def refuse_unready(args: Namespace, app: App) -> None:
    """Refuse a configuration with errors, all of them shown, and hooks that are not trusted."""
    if app.settings is not None and app.settings.has_errors:
        if not args.json:
            _show_problems(app)
        raise ConfigError
    app.refuse_untrusted()


def _show_problems(app: App) -> None:
    from hookline.config.render import render  # only a broken configuration needs it

    assert app.settings is not None
    colour = is_terminal(sys.stderr) and not app.environ.get("NO_COLOR")
    # The renderer has made every foreign character visible; what is left is our own colour.
    print(render(app.settings.problems, app.project.root, colour=colour), file=sys.stderr)


def _charge(
    tx: Transaction, app: App, args: Namespace, agent: str, limits: dict[str, Any]
) -> Charge:
    task = tx.graph.task(args.task) if args.task else None
    goal = args.goal or (task.goal if task else None)
    if not goal:
        raise BadInput("what is to be done?", help='such as: hookline run "make the tests pass"')
    task = task or verbs.add(tx, goal)
    name = args.name or unused_name(tx, goal)
    return Charge(
        name=name,
        goal=goal,
        task_id=task.id,
        agent=agent,
        limits=limits,
        plan=args.plan,
        shows_plan=not args.yes,
        part=task.parent_task_id is not None,
    )


COMMANDS = {"run": Command("let an agent work until it is done", _arguments, _run)}
