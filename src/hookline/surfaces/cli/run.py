"""`hookline run`: an agent works in a loop until it is done, stuck or spent."""

from __future__ import annotations

import math
import shlex
import sys
from typing import TYPE_CHECKING, Any

from hookline.adapters.feed import FeedReader
from hookline.domain import sessions
from hookline.domain.sessions import Charge
from hookline.errors import NEEDS_PERSON, BadInput, ConfigError, Untrusted, UsageError
from hookline.outside import start_session
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.live_text import plural
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import (
    is_terminal,
    next_step,
    note,
    paint,
    say,
    say_json,
    untrusted,
)
from hookline.surfaces.cli.session_agent import chosen_agent
from hookline.surfaces.cli.session_drive import drive, new_records
from hookline.surfaces.cli.session_facts import PARKED, PAUSED, RAISED, WAITING, resume_command
from hookline.surfaces.cli.session_names import check_name, unused_name
from hookline.surfaces.cli.session_resume import go_on, to_go_on_with
from hookline.tasks import verbs

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.ports import Transaction
    from hookline.surfaces.cli.session_facts import Facts

EXITS = {"completed": 0, "failed": 1, "escalated": 4, "limit": 5, "stopped": 130}
STYLES = {"completed": "green", "limit": "yellow", "stopped": "yellow"}


def _arguments(p: ArgumentParser) -> None:
    p.add_argument("goal", nargs="?", help="what is to be done")
    p.add_argument("--task", metavar="ID", help="work on this task (its goal is the default)")
    p.add_argument("--agent", metavar="NAME", help="the agent profile")
    p.add_argument("--name", metavar="S", help="the session's name; one is made up otherwise")
    p.add_argument(
        "--resume", action="store_true", help="go on with a session, by default the last"
    )
    limit_arguments(p)
    verbose_argument(p)


def limit_arguments(p: ArgumentParser) -> None:
    """What a session may use."""
    p.add_argument("--iterations", type=int, metavar="N", help="at most so many iterations")
    p.add_argument("--minutes", type=float, metavar="N", help="at most so many minutes")
    p.add_argument("--usd", type=float, metavar="N", help="at most so much money")
    p.add_argument("--tokens", type=int, metavar="N", help="at most so many tokens")


def verbose_argument(p: ArgumentParser) -> None:
    """How much is shown."""
    p.add_argument(
        "-v",
        dest="verbose",
        action="count",
        default=0,
        help="more about each step; -vv shows what hooks and the agent say",
    )


def _run(args: Namespace) -> int:
    if args.resume:
        if args.goal or args.task or args.agent:
            raise UsageError("a session that goes on keeps its goal, its task and its agent")
        return resume(args)
    limits = given_limits(args)
    if args.name is not None:
        check_name(args.name)
    with writing() as app:
        refuse_unready(args, app)
        agent = chosen_agent(app, args.agent)
        run_id = start_session(app, lambda tx: _charge(tx, args, agent, limits))
        return _watched(args, app, run_id, FeedReader(app.project.folder, run_id))


def resume(args: Namespace) -> int:
    """Go on with a session that was stopped, paused, killed or reached a limit."""
    limits = given_limits(args)
    with writing() as app:
        refuse_unready(args, app)
        known = to_go_on_with(app, args.name, limits)
        chosen_agent(app, known.agent)
        reader = new_records(app, known.run_id)
        go_on(app, known, limits)
        if not args.json:
            note(f"going on with {untrusted(known.name)} ({known.run_id}): {untrusted(known.goal)}")
        return _watched(args, app, known.run_id, reader)


def given_limits(args: Namespace) -> dict[str, Any]:
    """The limits that were typed; each must leave room for something."""
    limits = {name: value for name in RAISED if (value := getattr(args, name)) is not None}
    for name, value in limits.items():
        least = 1 if isinstance(value, int) else 0
        if not math.isfinite(value) or value < least or not value:
            raise BadInput(f"--{name} must be {'at least 1' if least else 'more than 0'}")
    return limits


def refuse_unready(args: Namespace, app: App) -> None:
    """Refuse a configuration with errors, all of them shown, and hooks that are not trusted."""
    if app.settings is not None and app.settings.has_errors:
        if not args.json:
            _show_problems(app)
        raise ConfigError
    if app.trust is not None and not app.trust.verdict.trusted:
        raise Untrusted


def _show_problems(app: App) -> None:
    from hookline.config.render import render  # only a broken configuration needs it

    assert app.settings is not None
    colour = is_terminal(sys.stderr) and not app.environ.get("NO_COLOR")
    # The renderer has made every foreign character visible; what is left is our own colour.
    print(render(app.settings.problems, app.project.root, colour=colour), file=sys.stderr)


def _charge(tx: Transaction, args: Namespace, agent: str, limits: dict[str, Any]) -> Charge:
    task = tx.graph.task(args.task) if args.task else None
    goal = args.goal or (task.goal if task else None)
    if not goal:
        raise BadInput("what is to be done?", help='such as: hookline run "make the tests pass"')
    task = task or verbs.add(tx, goal)
    name = args.name or unused_name(tx, goal)
    return Charge(name=name, goal=goal, task_id=task.id, agent=agent, limits=limits)


# The end


def _watched(args: Namespace, app: App, run_id: str, reader: FeedReader) -> int:
    known, ended = drive(args, app, run_id, reader)
    if known.status in (PAUSED, WAITING, PARKED):
        return _rests(args, known)
    outcome = known.status if known.status in EXITS else sessions.FAILED
    if ended is None or ended["outcome"] != outcome:  # it broke: no ending was written
        reason = known.reason or "nothing is known of its end"
        ended = {"outcome": outcome, "reason": reason, "iterations": known.iteration}
    if args.json:
        say_json({"type": "session_ended", "data": ended})
    else:
        tell_end(known, ended)
    return EXITS[outcome]


def _rests(args: Namespace, known: Facts) -> int:
    """The process ends, the session does not."""
    if not args.json:
        why = f": {untrusted(known.reason)}" if known.reason else ""
        note(f"{untrusted(known.name)} is {known.status}{why}")
        note(f"go on with `{resume_command(known)}`")
    return NEEDS_PERSON if known.status == PARKED else 0


def tell_end(known: Facts, ended: dict[str, Any]) -> None:
    """How a session ended, and what to type next."""
    outcome = ended["outcome"]
    style = STYLES.get(outcome, "red")
    count = plural(ended["iterations"], "iteration")
    why = untrusted(str(ended.get("message") or ended["reason"]), 500)
    say(f"{paint(outcome, style)} after {count}: {why}")
    name = untrusted(shlex.quote(known.name))
    if outcome == sessions.STOPPED:
        note(f"go on with `{resume_command(known)}`")
    elif outcome == sessions.LIMIT:
        raised = f" --{ended['reason']} N" if ended["reason"] in RAISED else ""
        note(f"go on with `{resume_command(known, raised)}`")
    elif outcome == sessions.ESCALATED:
        note(f"{known.task_id} is blocked; see to it, then `{resume_command(known)}`")
    next_step(f"hookline session report {name}", "the whole story as one page")


COMMANDS = {"run": Command("let an agent work until it is done", _arguments, _run)}
