"""Sessions steered by hand, from anywhere: stop, pause, resume, and messages to their agents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.domain.sessions.model import WORKER
from hookline.operations.sessions import control
from hookline.queries.sessions import RUNNING, next_command
from hookline.surfaces.cli.background import detach_argument
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import answer, next_step, untrusted
from hookline.surfaces.cli.sessions.arguments import (
    limit_arguments,
    session_argument,
    verbose_argument,
)
from hookline.surfaces.cli.values import read_text
from hookline.trust.people import refuse_agents

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.queries.sessions import SessionFacts

THE_LIVE_ONE = "the one at work"


def stop_arguments(p: ArgumentParser) -> None:
    """What `session stop` takes."""
    session_argument(p, obvious=f"{THE_LIVE_ONE}; `{WORKER}` means the worker")
    p.add_argument("--now", action="store_true", help="do not wait for the end of the turn")


def stop(args: Namespace) -> None:
    """Stop a session after its turn, or at once; or a worker."""
    refuse_agents(os.environ, "session stop")
    with writing() as app:
        if args.name == WORKER or (args.name is None and control.has_worker(app)):
            _stop_workers(args, app)
        else:
            told = f"stops {'now' if args.now else 'after this turn'}"
            _halt(args, app, control.STOP, told, now=args.now)


def pause_arguments(p: ArgumentParser) -> None:
    """What `session pause` takes."""
    session_argument(p, obvious=THE_LIVE_ONE)


def pause(args: Namespace) -> None:
    """Pause a session after its iteration."""
    refuse_agents(os.environ, "session pause")
    with writing() as app:
        _halt(args, app, control.PAUSE, "pauses after this iteration")


def _halt(args: Namespace, app: App, verb: str, told: str, *, now: bool = False) -> None:
    known = control.halt(app, args.name, verb, now=now)
    later = f"{verb}s when it is resumed"
    _answer(args, known, verb, told if known.status == RUNNING else later)


def _stop_workers(args: Namespace, app: App) -> None:
    when = "now" if args.now else "after the turns under way"
    for pid in control.stop_workers(app, now=args.now):
        told = f"the worker (process {pid}) stops {when}"
        answer(args, {"verb": control.STOP, "pid": pid}, told)


def message_arguments(p: ArgumentParser) -> None:
    """What `session message` takes."""
    session_argument(p)
    p.add_argument("text", help="the message; `-` reads stdin")


def message(args: Namespace) -> None:
    """Send a message to a session's agent."""
    refuse_agents(os.environ, "session message")
    text = control.check_message(read_text("-") if args.text == "-" else args.text)
    with writing() as app:
        known = control.send_message(app, args.name, text)
        later = "" if known.is_alive else ", once it is resumed"
        _answer(args, known, control.MESSAGE, f"gets it at the start of the next iteration{later}")


def resume_arguments(p: ArgumentParser) -> None:
    """What `session resume` takes."""
    session_argument(p, obvious="the last one that no limit stopped")
    limit_arguments(p)
    detach_argument(p)
    verbose_argument(p)


def resume(args: Namespace) -> int:
    """Resume a session, like `run --resume`."""
    refuse_agents(os.environ, "session resume")
    from hookline.surfaces.cli.sessions import resume  # starts processes; the others only send

    return resume.resume(args)


def _answer(args: Namespace, known: SessionFacts, verb: str, told: str) -> None:
    sent = {"runId": known.run_id, "name": known.name, "verb": verb, "status": known.status}
    if answer(args, sent, f"{untrusted(known.name)} {told}"):
        next_step(next_command(known))
