"""Sessions and workers controlled by hand: stopped, paused, sent a message, and watched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.sessions import model as sessions
from hookline.domain.sessions.model import UnknownSession
from hookline.domain.text.display import untrusted
from hookline.domain.text.excerpts import last_line
from hookline.errors import BadInput, IllegalTransition
from hookline.flows import control
from hookline.flows.outcomes import INTERRUPT
from hookline.points import TOLD_IN_FEED
from hookline.queries.sessions import known_session, resume_command
from hookline.wiring.running.hosts import interrupt, workers

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.app import App
    from hookline.domain.hooks.records import Delivery
    from hookline.ports.store import Transaction
    from hookline.queries.sessions import SessionFacts

STOP, PAUSE, MESSAGE = "stop", "pause", "message"
MAX_MESSAGE = 32 * 1024


def halt(app: App, name: str | None, verb: str, *, now: bool = False) -> SessionFacts:
    """Stop or pause a session, after its turn or `now`; its status before."""
    known = _open_session(app, name, verb)
    _refuse_idle(known, verb)
    app.change(_send, known.run_id, {"verb": verb}, now=now)
    return known


def send_message(app: App, name: str | None, text: str) -> SessionFacts:
    """Send a message to a session's agent; the session's status before."""
    known = _open_session(app, name, MESSAGE)
    app.change(_send, known.run_id, {"verb": MESSAGE, "text": text})
    return known


def check_message(text: str) -> str:
    """What is sent of a message; an error if there is nothing, or too much."""
    text = text.strip()
    if not text:
        raise BadInput("the message is empty")
    if len(text.encode("utf-8", "replace")) > MAX_MESSAGE:
        raise BadInput(f"a message can have at most {MAX_MESSAGE:,} bytes")
    return text


def has_worker(app: App) -> bool:
    """Whether a worker runs: its sessions end with it."""
    return bool(workers(app.project.folder))


def stop_workers(app: App, *, now: bool = False) -> list[int]:
    """Stop the workers after the turns under way, or `now`; their processes."""
    found = [each.pid for each in workers(app.project.folder) if interrupt(each)]
    if now:
        found = [each.pid for each in workers(app.project.folder) if interrupt(each)] or found
    if not found:
        raise UnknownSession("no worker is running", help="`hookline work` starts one")
    return found


def told_in_feed(app: App, run_id: str) -> Callable[[Delivery], None]:
    """Tells those who watch a session about hooks of events, which are called next to it."""
    tell = app.feeds.of(run_id)

    def observe(row: Delivery) -> None:
        if row.point in TOLD_IN_FEED:
            return
        hook = app.scopes.find(row.hook)
        piped = hook is not None and hook.pipe_output
        if piped or row.failure:
            told = {name: getattr(row, name) for name in ("point", "hook", "status", "error")}
            told |= {
                "durationMs": (row.duration_us or 0) / 1000,
                "exitCode": row.exit_code,
                "stderr": last_line(row.stderr or "") if row.exit_code else "",
                "answer": msgspec.to_builtins(row.answer),
                "piped": piped,
                "seq": row.event_seq,
            }
            tell("hook_ended", told)

    return observe


def _open_session(app: App, name: str | None, verb: str) -> SessionFacts:
    with app.read() as view:
        known = known_session(view, name, verb)
    if known.is_over:
        raise IllegalTransition(f"{untrusted(known.name)} ({known.run_id}) is {known.status}")
    return known


def _refuse_idle(known: SessionFacts, verb: str) -> None:
    """Nobody would hear it: what rests need not be told to."""
    if not known.is_alive:
        stands = "has reached a limit" if known.status == sessions.LIMIT else f"is {known.status}"
        raise IllegalTransition(
            f"{untrusted(known.name)} {stands}: there is nothing to {verb}",
            help=f"resume it: `{resume_command(known)}`; or cancel it:"
            f" `hookline flow cancel {known.run_id}`",
        )


def _send(tx: Transaction, run_id: str, value: dict[str, str], *, now: bool = False) -> None:
    control.send(tx, run_id, sessions.SIGNAL, value)
    # While nothing runs, an interruption would wait for what begins next and cut that short.
    if now and tx.runs.leases.holder(run_id)[0] is not None:
        control.send(tx, run_id, INTERRUPT, {})
