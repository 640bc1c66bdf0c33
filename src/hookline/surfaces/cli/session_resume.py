"""Going on with a session: which one can be, what has to be said to it, and what stands against."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.blobs import FileBlobs
from hookline.domain import runs, sessions
from hookline.domain.limits import BUDGETS, used_up
from hookline.domain.sessions import SIGNAL, SessionBusy, UnknownSession
from hookline.errors import BadInput, IllegalTransition
from hookline.flows import control, journal
from hookline.flows.outcomes import INTERRUPT
from hookline.flows.session_plan import session_flow
from hookline.flows.session_state import PINS
from hookline.surfaces.cli.output import untrusted
from hookline.surfaces.cli.session_facts import (
    RUNNING,
    all_sessions,
    facts,
    find,
    resume_command,
)

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.ports.store import Blobs, Transaction, View
    from hookline.surfaces.cli.session_facts import Facts


RESTING = frozenset({sessions.STOPPED, sessions.LIMIT, sessions.ESCALATED})


def to_go_on_with(app: App, name: str | None, limits: dict[str, Any]) -> Facts:
    """The session that is meant, or why there is none to go on with."""
    with app.read() as view:
        if name is not None:
            known = facts(view, find(view, name))
        else:
            found = [facts(view, run) for run in all_sessions(view) if not _is_over(run)]
            idle = [each for each in found if each.status != RUNNING]
            if not found:
                raise UnknownSession(
                    "there is no session to go on with",
                    help='start one: hookline run "what is to be done"',
                )
            # At a limit it goes on only if that is raised, and whoever raises one means it.
            known = min(idle or found, key=lambda s: s.status == sessions.LIMIT and not limits)
        run, used = view.runs.find(known.run_id), _used(view, known.run_id)
    _refuse(known)
    _refuse_spent(known, {**_limits(app, run), **limits}, used)
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
    if known.status == RUNNING:
        raise SessionBusy(
            f"{name} ({known.run_id}) is at work in process {known.pid}",
            help=f"watch it: `hookline session attach {untrusted(shlex.quote(known.name))}`",
        )


def _limits(app: App, run: runs.Run) -> dict[str, Any]:
    """What a session may use by the configuration as it is now, and by what was typed before."""
    sections = app.settings.sections if app.settings is not None else None
    # Its prompts are read as well: one that cannot be is told now, not when nobody looks.
    plan = session_flow(sections, app.standing, app.project.root).pins[PINS]
    return {**plan["limits"], **run.input.get("limits", {}), **(run.state or {}).get("limits", {})}


def _used(view: View, run_id: str) -> dict[str, Any]:
    """What a session had used when it last rested, or when its last iteration began."""
    rests = view.log.events(node_id=run_id, types=("session_ended", "session_paused"))
    state = view.runs.find(run_id).state or {}
    begun, rested = state.get("progress", {}), rests[-1].data.get("used", {}) if rests else {}
    return {name: max(begun.get(name, 0), rested.get(name, 0)) for name in BUDGETS}


def _refuse_spent(known: Facts, limits: dict[str, Any], used: dict[str, Any]) -> None:
    limit = used_up(limits, used)
    if limit is not None:
        raise BadInput(
            f"{untrusted(known.name)} has reached its limit: {limit.message}",
            help=f"raise it: `{resume_command(_at(known, limit.reason, used))}`",
        )


def _at(known: Facts, limit: str, used: dict[str, Any]) -> Facts:
    return msgspec.structs.replace(known, limit=limit, used=used.get(limit))


def go_on(app: App, known: Facts, limits: dict[str, Any]) -> int:
    """Tell a session to go on, with what it may use from now on; the place in the log."""
    with app.read() as view:
        place = view.log.last()
    app.change(tell_to_go_on, known.run_id, limits, FileBlobs(app.project.blobs))
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


def tell_to_go_on(tx: Transaction, run_id: str, limits: dict[str, Any], blobs: Blobs) -> None:
    """Let whoever advances a session go on with it; what was wanted of it before is over."""
    run = tx.runs.find(run_id)
    standing = tx.runs.value(run_id, sessions.STANDING)
    for seq, name, value in tx.runs.signals(run):
        is_stop = name == SIGNAL and value["verb"] in ("stop", "pause")
        if is_stop or name == INTERRUPT:  # meant for what went on then, not for what begins now
            tx.runs.consume_signal(seq)
    if run.status == runs.PAUSED:
        journal.write(tx, "run_resumed", run_id, {})
    # One that was killed, or waits for its model, goes on by itself; it only hears of new limits.
    if standing != sessions.LIVE or limits or _was_left_in_its_ending(tx, run, blobs):
        control.send(tx, run_id, SIGNAL, {"verb": "resume", "limits": limits})


def _was_left_in_its_ending(tx: Transaction, run: runs.Run, blobs: Blobs) -> bool:
    """Whether a session comes to its end first, and then has to be told to go on.

    One that spent a budget is not: that must be raised.
    """
    ends = [e for e in tx.runs.pending(run) if e.args.get("point") == "session_end"]
    if not ends:
        return False
    ended = journal.with_arguments(ends[0], blobs).args["payload"]
    return ended["outcome"] != sessions.LIMIT or ended["reason"] not in BUDGETS
