"""Going on with a session: which one can be, what has to be said to it, and what stands against."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from hookline.domain import runs, sessions
from hookline.domain.sessions import SIGNAL, SessionBusy, UnknownSession
from hookline.errors import BadInput, IllegalTransition
from hookline.flows import control, journal
from hookline.flows.outcomes import INTERRUPT
from hookline.surfaces.cli.output import untrusted
from hookline.surfaces.cli.session_facts import (
    AT_WORK,
    RAISED,
    STARTING,
    all_sessions,
    facts,
    find,
    last_ending,
)

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.ports.store import Transaction, View
    from hookline.surfaces.cli.session_facts import Facts


RESTING = frozenset({sessions.STOPPED, sessions.LIMIT, sessions.ESCALATED})


def to_go_on_with(app: App, name: str | None, limits: dict[str, Any]) -> Facts:
    """The session that is meant, or why there is none to go on with."""
    with app.read() as view:
        if name is not None:
            known = facts(view, find(view, name))
        else:
            found = [facts(view, run) for run in all_sessions(view) if not _is_over(run)]
            idle = [each for each in found if each.status not in AT_WORK]
            if not found:
                raise UnknownSession(
                    "there is no session to go on with",
                    help='start one: hookline run "what is to be done"',
                )
            known = (idle or found)[0]
        ended = last_ending(view, known.run_id)
    _refuse(known)
    if known.status == sessions.LIMIT and ended is not None:
        _refuse_spent(known, ended, limits)
    return known


def _is_over(run: runs.Run) -> bool:
    return run.status in runs.TERMINAL


def _refuse(known: Facts) -> None:
    name = untrusted(known.name)
    if known.is_over:
        raise IllegalTransition(
            f"{name} ({known.run_id}) is {known.status}: there is nothing to go on with",
            help='start another: hookline run "what is to be done"',
        )
    if known.status in AT_WORK and known.status != STARTING:
        raise SessionBusy(
            f"{name} ({known.run_id}) is at work in process {known.pid}",
            help=f"watch it: `hookline session attach {untrusted(shlex.quote(known.name))}`",
        )


def _refuse_spent(known: Facts, ended: dict[str, Any], limits: dict[str, Any]) -> None:
    reason = ended["reason"]
    more = f"raise it: `hookline run --resume --name {shlex.quote(known.name)} --{reason} N`"
    if reason in RAISED and reason not in limits:
        message = f"{untrusted(known.name)} has reached its limit: {ended['message']}"
        raise BadInput(message, help=untrusted(more))
    if reason == "iterations" and limits[reason] <= ended["iterations"]:
        made = f"{untrusted(known.name)} has made {ended['iterations']} iterations already"
        raise BadInput(made, help=untrusted(more))


def go_on(app: App, known: Facts, limits: dict[str, Any]) -> int:
    """Tell a session to go on, with what it may use from now on; the place in the log."""
    with app.read() as view:
        place = view.log.last()
    app.change(_go_on, known.run_id, limits)
    return place


def refuse_silence(view: View, known: Facts, after: int) -> None:
    """Say why a session did not go on although it was told to: what its flow wrote since."""
    if known.status not in RESTING:
        return
    events = view.log.events(
        node_id=known.run_id, types=("session_resumed", "run_log"), after=after
    )
    if events and events[-1].type == "run_log":
        raise IllegalTransition(
            f"{untrusted(known.name)}: {untrusted(str(events[-1].data.get('message')), 300)}",
            help=f"`hookline task show {known.task_id}` shows who has its task",
        )


def _go_on(tx: Transaction, run_id: str, limits: dict[str, Any]) -> None:
    run = tx.runs.find(run_id)
    standing = tx.runs.value(run_id, sessions.STANDING)
    for seq, name, _ in tx.runs.signals(run):
        if name == INTERRUPT:  # meant for what went on then, not for what begins now
            tx.runs.consume_signal(seq)
    if run.status == runs.PAUSED:
        journal.write(tx, "run_resumed", run_id, {})
    # One that was killed, or waits for its model, goes on by itself; it only hears of new limits.
    if standing != sessions.LIVE or limits:
        control.send(tx, run_id, SIGNAL, {"verb": "resume", "limits": limits})
