"""`hookline session stop|pause|resume|message`: sessions, steered by hand from anywhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hookline.domain.sessions import LIMIT, SIGNAL
from hookline.errors import BadInput, IllegalTransition
from hookline.flows import control
from hookline.flows.outcomes import INTERRUPT
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import next_step, say, say_json, untrusted
from hookline.surfaces.cli.session_arguments import (
    limit_arguments,
    session_argument,
    verbose_argument,
)
from hookline.surfaces.cli.session_facts import (
    RUNNING,
    facts,
    find,
    next_command,
    resume_command,
)
from hookline.surfaces.cli.values import read_text
from hookline.trust import refuse_agents

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.ports.store import Transaction
    from hookline.surfaces.cli.session_facts import Facts

MAX_MESSAGE = 32 * 1024


def _stop_arguments(p: ArgumentParser) -> None:
    session_argument(p)
    p.add_argument("--now", action="store_true", help="do not wait for the end of the turn")


def _stop(args: Namespace) -> None:
    refuse_agents(os.environ, "session stop")
    with writing() as app:
        known = _open_session(app, args.name)
        _refuse_idle(known, "stop")
        app.change(_send, known.run_id, {"verb": "stop"}, now=args.now)
        how = "now" if args.now and known.status == RUNNING else "after this turn"
        _answer(args, known, "stop", f"stops {_when(known, how)}")


def _pause(args: Namespace) -> None:
    refuse_agents(os.environ, "session pause")
    with writing() as app:
        known = _open_session(app, args.name)
        _refuse_idle(known, "pause")
        app.change(_send, known.run_id, {"verb": "pause"})
        _answer(args, known, "pause", f"pauses {_when(known, 'after this iteration')}")


def _when(known: Facts, how: str) -> str:
    return how if known.status == RUNNING else "once a process goes on with it"


def _refuse_idle(known: Facts, verb: str) -> None:
    """Nobody would hear it: what rests need not be told to."""
    if not known.is_alive:
        raise IllegalTransition(
            f"{untrusted(known.name)} {_stands(known)}: there is nothing to {verb}",
            help=f"go on with it: `{resume_command(known)}`; or give it up:"
            f" `hookline flow cancel {known.run_id}`",
        )


def _stands(known: Facts) -> str:
    return "has reached a limit" if known.status == LIMIT else f"is {known.status}"


def _message_arguments(p: ArgumentParser) -> None:
    session_argument(p)
    p.add_argument("text", help="what the agent is to hear; `-` reads stdin")


def _message(args: Namespace) -> None:
    refuse_agents(os.environ, "session message")
    text = (read_text("-") if args.text == "-" else args.text).strip()
    if not text:
        raise BadInput("a message must say something")
    if len(text.encode("utf-8", "replace")) > MAX_MESSAGE:
        raise BadInput(f"a message has at most {MAX_MESSAGE:,} bytes")
    with writing() as app:
        known = _open_session(app, args.name)
        app.change(_send, known.run_id, {"verb": "message", "text": text})
        later = "" if known.is_alive else ", once it is resumed"
        _answer(args, known, "message", f"hears it at the start of the next iteration{later}")


def _resume_arguments(p: ArgumentParser) -> None:
    session_argument(p)
    limit_arguments(p)
    verbose_argument(p)


def _resume(args: Namespace) -> int:
    refuse_agents(os.environ, "session resume")
    from hookline.surfaces.cli.run import resume  # starts processes; the others only send

    return resume(args)


# What they share


def _open_session(app: App, name: str) -> Facts:
    with app.read() as view:
        known = facts(view, find(view, name))
    if known.is_over:
        raise IllegalTransition(f"{untrusted(known.name)} ({known.run_id}) is {known.status}")
    return known


def _send(tx: Transaction, run_id: str, value: dict[str, Any], *, now: bool = False) -> None:
    control.send(tx, run_id, SIGNAL, value)
    # While nothing goes on, an interruption would wait for what begins next and cut that short.
    if now and tx.runs.holder(run_id)[0] is not None:
        control.send(tx, run_id, INTERRUPT, {})


def _answer(args: Namespace, known: Facts, verb: str, told: str) -> None:
    if args.json:
        sent = {"runId": known.run_id, "name": known.name, "verb": verb, "status": known.status}
        say_json(sent)
        return
    say(f"{untrusted(known.name)} {told}")
    next_step(next_command(known))


CONTROL_COMMANDS = {
    "stop": Command("end a session after its turn, or now", _stop_arguments, _stop),
    "pause": Command("let a session rest after its iteration", session_argument, _pause),
    "resume": Command("go on with a session, as `run --resume`", _resume_arguments, _resume),
    "message": Command("tell a session's agent something", _message_arguments, _message),
}
