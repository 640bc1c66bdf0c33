"""Resuming a session: which one, with which limits, and what prevents it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.runs import model as runs
from hookline.domain.sessions import model as sessions
from hookline.domain.sessions.limits import BUDGETS, used_up
from hookline.domain.sessions.model import SIGNAL, SessionBusy, UnknownSession
from hookline.domain.text.display import untrusted
from hookline.errors import BadInput, IllegalTransition
from hookline.flows import control, journal
from hookline.flows.outcomes import INTERRUPT
from hookline.points import END, points_at
from hookline.queries.sessions import RUNNING, SessionFacts, facts, resume_command, several
from hookline.sessions.names import all_sessions, find
from hookline.sessions.plan import session_flow
from hookline.sessions.state import PINS

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.ports.store import Blobs, Transaction, View
    from hookline.sessions.requests import Amounts


RESTING = frozenset({sessions.STOPPED, sessions.LIMIT, sessions.ESCALATED})


def to_go_on_with(app: App, name: str | None, limits: Amounts) -> SessionFacts:
    """The session that is meant, or why there is none to resume."""
    with app.read() as view:
        if name is not None:
            known = facts(view, find(view, name))
        else:
            left = (run for run in all_sessions(view) if run.status not in runs.TERMINAL)
            found = [facts(view, run) for run in left]
            idle = [each for each in found if each.status != RUNNING]
            if not found:
                help = 'start one: hookline run "what the agent should do"'
                raise UnknownSession("there is no session to resume", help=help)
            if not idle and len(found) > 1:
                why = f"all {len(found)} sessions are at work: there is none to resume"
                raise SessionBusy(why, help="`hookline status` shows them")
            known = _only(idle, limits) if idle else found[0]
        run, used = view.runs.find(known.run_id), _used(view, known.run_id)
    _refuse(known)
    _refuse_spent(known, {**_limits(app, run), **limits}, used)
    return known


def _only(idle: list[SessionFacts], limits: Amounts) -> SessionFacts:
    """The one that is meant: a session at a limit is, if one is raised, and only then."""
    meant = [each for each in idle if (each.status == sessions.LIMIT) == bool(limits)] or idle
    if len(meant) > 1:
        ways = [resume_command(each) for each in meant]
        raise several(f"{len(meant)} sessions can be resumed", ways)
    return meant[0]


def _refuse(known: SessionFacts) -> None:
    name = untrusted(known.name)
    if known.is_over:
        why = f"{name} ({known.run_id}) is {known.status}: there is nothing to resume"
        raise IllegalTransition(why, help='start another: hookline run "what the agent should do"')
    if known.status == RUNNING:
        help = f"watch it: `hookline session attach {untrusted(shlex.quote(known.name))}`"
        raise SessionBusy(f"{name} ({known.run_id}) is running in process {known.pid}", help=help)


def _limits(app: App, run: runs.Run) -> Amounts:
    """A session's limits by the current configuration and by what was typed before."""
    sections = app.settings.sections if app.settings is not None else None
    # Its prompts are read as well, so that a missing one is reported now and not later.
    plan = session_flow(sections, app.scopes, app.project.root).pins[PINS]
    return {**plan["limits"], **run.input.get("limits", {}), **(run.state or {}).get("limits", {})}


def _used(view: View, run_id: str) -> Amounts:
    """What a session had used when it last paused, or when its last iteration began."""
    rests = view.log.events(node_id=run_id, types=("session_ended", "session_paused"))
    state = view.runs.find(run_id).state or {}
    begun, rested = state.get("progress", {}), rests[-1].data.get("used", {}) if rests else {}
    return {name: max(begun.get(name, 0), rested.get(name, 0)) for name in BUDGETS}


def _refuse_spent(known: SessionFacts, limits: Amounts, used: Amounts) -> None:
    limit = used_up(limits, used)
    if limit is not None:
        help = f"raise it: `{resume_command(_at(known, limit.reason, used))}`"
        raise BadInput(f"{untrusted(known.name)} has reached its limit: {limit.message}", help=help)


def _at(known: SessionFacts, limit: str, used: Amounts) -> SessionFacts:
    return msgspec.structs.replace(known, limit=limit, used=used.get(limit))


def go_on(app: App, known: SessionFacts, limits: Amounts) -> int:
    """Tell a session to resume, with its limits from now on; the position in the log."""
    with app.read() as view:
        place = view.log.last()
    app.change(tell_to_go_on, known.run_id, limits, app.blobs)
    return place


def refuse_silence(view: View, known: SessionFacts, after: int) -> None:
    """Raise why a session did not resume, as its flow has logged since."""
    if known.status not in RESTING:
        return
    types = ("session_resumed", "run_log")
    events = view.log.events(node_id=known.run_id, types=types, after=after)
    if events and events[-1].type == "run_log":
        why = f"{untrusted(known.name)}: {untrusted(str(events[-1].data.get('message')), 300)}"
        help = f"`hookline task show {known.task_id}` shows who has its task"
        raise IllegalTransition(why, help=help)


def tell_to_go_on(tx: Transaction, run_id: str, limits: Amounts, blobs: Blobs) -> None:
    """Let a process resume a session; earlier requests to stop it are void."""
    run = tx.runs.find(run_id)
    status = tx.runs.value(run_id, sessions.STANDING)
    for seq, name, value in tx.runs.signals(run):
        is_stop = name == SIGNAL and value["verb"] in ("stop", "pause")
        if is_stop or name == INTERRUPT:  # meant for what ran then, not for what begins now
            tx.runs.consume_signal(seq)
    if run.status == runs.PAUSED:
        journal.write(tx, "run_resumed", run_id, {})
    # One that was killed, or waits for its model, continues anyway; it only gets new limits.
    if status != sessions.LIVE or limits or _was_left_in_its_ending(tx, run, blobs):
        control.send(tx, run_id, SIGNAL, {"verb": "resume", "limits": limits})


def _was_left_in_its_ending(tx: Transaction, run: runs.Run, blobs: Blobs) -> bool:
    """Whether a session ends first, and then has to be told to resume.

    One that spent a budget does not: that must be raised.
    """
    ends = [e for e in tx.runs.pending(run) if e.args.get("point") in points_at(END)]
    if not ends:
        return False
    ended = journal.with_arguments(ends[0], blobs).args["payload"]
    return ended["outcome"] != sessions.LIMIT or ended["reason"] not in BUDGETS
