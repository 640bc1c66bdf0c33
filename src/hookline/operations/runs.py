"""Runs of flows controlled by hand: answered, resumed, paused, stopped and cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.runs import model as runs
from hookline.domain.runs.model import (
    OK,
    PENDING,
    TERMINAL,
    EffectResolved,
    JournalEffect,
    Resolution,
    Run,
    UnknownEffect,
)
from hookline.domain.work.submissions import MERGE, SUBMIT
from hookline.errors import BadInput, IllegalTransition
from hookline.flows import control, journal
from hookline.flows.called_runs import all_open_called, first_caller
from hookline.pipeline.checked_work import CHECKING_FLOWS
from hookline.trust.people import refuse_agents
from hookline.wiring.calling.calls import owner_of
from hookline.wiring.running.detached import start
from hookline.wiring.running.flows import renew_typed
from hookline.wiring.running.hosts import advancing, is_served

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.ports.store import Transaction

# What was done, in the reason of a run that was not given another one.
DONE = {"cancel": "cancelled", "pause": "paused", "stop": "stopped"}


def steered(app: App, identifier: str) -> Run:
    """The run that a person steers; an agent may not steer what checks its work."""
    with app.read() as view:
        run = view.runs.find(identifier)
    if run.flow in CHECKING_FLOWS:
        refuse_agents(app.environ, f"flow control of a {run.flow}")
    return run


def control_run(app: App, run_id: str, name: str, reason: str | None) -> bool:
    """Cancel, pause or stop a run; False if the process that advances it has to do it."""
    why = reason or f"{DONE[name]} by hand"
    return app.change(control.control, owner_of(app), run_id, name, why)


def resume(app: App, run: Run) -> None:
    """Let a run be advanced again, with those that it called."""
    if run.status in TERMINAL:
        help = f"`hookline flow rerun {run.run_id} --from STEP` runs it again"
        raise IllegalTransition(f"{run.run_id} is {run.status}", help=help)
    renew_typed(app, run)
    with app.read() as view:
        found = [run, *all_open_called(view, run.run_id)]
    if any(each.status == runs.PAUSED for each in found):
        app.change(control.resume, run.run_id)


def answer(app: App, identifier: str, name: str, value: bool, note: str | None) -> str:
    """Answer a breakpoint, by its effect's id or its step; the effect's id."""
    refuse_agents(app.environ, "answer")
    with app.read() as view:
        run = view.runs.find(identifier)
        effect = _breakpoint(run, view.runs.effects(run), name)
    post(app, run.run_id, effect.effect_id, Resolution(OK, {"answer": value, "note": note}))
    return effect.effect_id


def _breakpoint(run: Run, effects: list[JournalEffect], name: str) -> JournalEffect:
    known = [e for e in effects if e.kind == "breakpoint" and name in (e.effect_id, e.step)]
    exact = [e for e in known if e.effect_id == name]
    waiting = [e for e in exact or known if e.status == PENDING]
    if len(waiting) == 1:
        return waiting[0]
    if waiting:
        names = ", ".join(e.effect_id for e in waiting)
        raise BadInput(f"several breakpoints of {run.run_id} are called '{name}': {names}")
    if known:
        raise EffectResolved(f"{run.run_id} already has an answer for '{name}'")
    help = f"`hookline effect list {run.run_id} --pending` shows what waits"
    raise UnknownEffect(f"{run.run_id} has no breakpoint '{name}'", help=help)


def post(app: App, run_id: str, effect_id: str, resolution: Resolution) -> Run:
    """Record the result of an effect; whoever advances the run continues with it."""

    def record(tx: Transaction) -> Run:
        run = tx.runs.find(run_id)
        if tx.runs.effect(run, effect_id).kind == "breakpoint":
            refuse_agents(app.environ, "effect post to a breakpoint")
        if run.flow in CHECKING_FLOWS:  # an agent must not write its own verdict
            refuse_agents(app.environ, f"effect post to a {run.flow}")
        journal.resolve(tx, run, effect_id, resolution, app.blobs)
        return run

    return app.change(record)


def continue_later(app: App, run_id: str) -> bool:
    """Have a process in the background advance a run that no process advances; whether one does.

    What is started is the command that a person would type.
    """
    with app.read() as view:
        run = view.runs.find(run_id)
        first = first_caller(view, run)
        is_advanced = advancing(view, first.run_id) or is_served(app.project.folder, first.run_id)
    if run.status in TERMINAL or is_advanced:
        return False
    is_gated = first.flow in (SUBMIT, MERGE)
    words = [first.flow, str(first.input["taskId"])] if is_gated else ["orchestrate", first.run_id]
    start(app.project, words, first.run_id, app.environ)
    return True
