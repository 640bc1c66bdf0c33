"""Sessions steered by hand, from anywhere: stop, pause, resume, and messages to their agents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.domain import sessions
from hookline.domain.sessions import UnknownSession
from hookline.errors import BadInput, IllegalTransition
from hookline.flows import control
from hookline.flows.outcomes import INTERRUPT
from hookline.queries import sessions as queries
from hookline.queries.sessions import known_session, next_command, resume_command
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
from hookline.wiring.detached import WORKER
from hookline.wiring.hosts import interrupt, workers

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.ports.store import Transaction
    from hookline.queries.sessions import SessionFacts

MAX_MESSAGE = 32 * 1024
THE_LIVE_ONE = "the one at work"


def stop_arguments(p: ArgumentParser) -> None:
    """What `session stop` takes."""
    session_argument(p, obvious=f"{THE_LIVE_ONE}; `{WORKER}` means the worker")
    p.add_argument("--now", action="store_true", help="do not wait for the end of the turn")


def stop(args: Namespace) -> None:
    """Stop a session after its turn, or at once; or a worker."""
    refuse_agents(os.environ, "session stop")
    with writing() as app:
        if args.name == WORKER or (args.name is None and _only_a_worker(app)):
            _stop_workers(args, app)
        else:
            told = f"stops {'now' if args.now else 'after this turn'}"
            _halt(args, app, "stop", told, now=args.now)


def pause_arguments(p: ArgumentParser) -> None:
    """What `session pause` takes."""
    session_argument(p, obvious=THE_LIVE_ONE)


def pause(args: Namespace) -> None:
    """Pause a session after its iteration."""
    refuse_agents(os.environ, "session pause")
    with writing() as app:
        _halt(args, app, "pause", "pauses after this iteration")


def _halt(args: Namespace, app: App, verb: str, told: str, *, now: bool = False) -> None:
    known = _open_session(app, args.name, verb)
    _refuse_idle(known, verb)
    app.change(_send, known.run_id, {"verb": verb}, now=now)
    later = f"{verb}s when it is resumed"
    _answer(args, known, verb, told if known.status == queries.RUNNING else later)


def _refuse_idle(known: SessionFacts, verb: str) -> None:
    """Nobody would hear it: what rests need not be told to."""
    if not known.is_alive:
        stands = "has reached a limit" if known.status == sessions.LIMIT else f"is {known.status}"
        raise IllegalTransition(
            f"{untrusted(known.name)} {stands}: there is nothing to {verb}",
            help=f"resume it: `{resume_command(known)}`; or cancel it:"
            f" `hookline flow cancel {known.run_id}`",
        )


def _only_a_worker(app: App) -> bool:
    """Whether a worker is all that could be meant: its sessions end with it."""
    return bool(workers(app.project.folder))


def _stop_workers(args: Namespace, app: App) -> None:
    found = [each.pid for each in workers(app.project.folder) if interrupt(each)]
    if args.now:
        found = [each.pid for each in workers(app.project.folder) if interrupt(each)] or found
    if not found:
        raise UnknownSession("no worker is running", help="`hookline work` starts one")
    when = "now" if args.now else "after the turns under way"
    for pid in found:
        answer(args, {"verb": "stop", "pid": pid}, f"the worker (process {pid}) stops {when}")


def message_arguments(p: ArgumentParser) -> None:
    """What `session message` takes."""
    session_argument(p)
    p.add_argument("text", help="the message; `-` reads stdin")


def message(args: Namespace) -> None:
    """Send a message to a session's agent."""
    refuse_agents(os.environ, "session message")
    text = (read_text("-") if args.text == "-" else args.text).strip()
    if not text:
        raise BadInput("the message is empty")
    if len(text.encode("utf-8", "replace")) > MAX_MESSAGE:
        raise BadInput(f"a message can have at most {MAX_MESSAGE:,} bytes")
    with writing() as app:
        known = _open_session(app, args.name, "message")
        app.change(_send, known.run_id, {"verb": "message", "text": text})
        later = "" if known.is_alive else ", once it is resumed"
        _answer(args, known, "message", f"gets it at the start of the next iteration{later}")


def resume_arguments(p: ArgumentParser) -> None:
    """What `session resume` takes."""
    session_argument(p, obvious="the last one that no limit stopped")
    limit_arguments(p)
    detach_argument(p)
    verbose_argument(p)


def resume(args: Namespace) -> int:
    """Resume a session, like `run --resume`."""
    refuse_agents(os.environ, "session resume")
    from hookline.surfaces.cli.sessions import run  # starts processes; the others only send

    return run.resume(args)


# What stopping, pausing and messages share


def _open_session(app: App, name: str | None, verb: str) -> SessionFacts:
    with app.read() as view:
        known = known_session(view, name, verb)
    if known.is_over:
        raise IllegalTransition(f"{untrusted(known.name)} ({known.run_id}) is {known.status}")
    return known


def _send(tx: Transaction, run_id: str, value: dict[str, str], *, now: bool = False) -> None:
    control.send(tx, run_id, sessions.SIGNAL, value)
    # While nothing runs, an interruption would wait for what begins next and interrupt that.
    if now and tx.runs.holder(run_id)[0] is not None:
        control.send(tx, run_id, INTERRUPT, {})


def _answer(args: Namespace, known: SessionFacts, verb: str, told: str) -> None:
    sent = {"runId": known.run_id, "name": known.name, "verb": verb, "status": known.status}
    if answer(args, sent, f"{untrusted(known.name)} {told}"):
        next_step(next_command(known))
