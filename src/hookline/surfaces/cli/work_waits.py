"""What a run of a worker waits for, since when, and until when: for those who look at the lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.moments import iso
from hookline.domain.sessions import FLOW as SESSION
from hookline.flows.gate_verbs import wait_of
from hookline.flows.merge import TURN
from hookline.hooks.names import short_name
from hookline.hooks.verdicts import asked_person, merge_wait, verdicts
from hookline.surfaces.cli.gate_show import said_by

if TYPE_CHECKING:
    from hookline.domain.runs import JournalEffect, Run
    from hookline.hooks.verdicts import Verdict
    from hookline.ports.store import View


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """Why a run does nothing; `until` is None where nobody can tell."""

    reason: str
    since: str | None = None
    until: str | None = None


def waiting(view: View, run_id: str) -> Waiting | None:
    """What a run waits for; None while something is done for it."""
    run = view.runs.find(run_id)
    until = iso(run.wake_at) if run.wake_at else None
    if run.flow == SESSION:
        told = view.log.events(node_id=run_id, types=("session_waits",)) if until else []
        why = f"waits for its model: {told[-1].data['reason']}" if told else ""
        return Waiting(reason=why, since=told[-1].timestamp, until=until) if told else None
    asked = asked_person(view, run)
    if asked is not None:
        return Waiting(reason=f"waits for you: {_said(asked)}", since=asked.started_at)
    for effect in view.runs.pending(run):
        if _is_queue(effect):
            return Waiting(reason="waits for its turn to merge", since=effect.requested_at)
        if effect.kind == "sleep":  # the one thing that gates sleep for
            return Waiting(reason="waits for its model", since=effect.requested_at, until=until)
    gate = wait_of(view, run)
    return _of_gate(view, run, gate, until) if gate is not None else None


def _of_gate(view: View, run: Run, gate: JournalEffect, until: str | None) -> Waiting:
    said = [each for each in verdicts(view, run.input["taskId"]) if each.run == run.run_id]
    last = merge_wait(view, run) or (said[-1] if said else None)
    who = _said(last) if last is not None else "a gate"
    return Waiting(reason=f"waits for {who}", since=gate.requested_at, until=until)


def _said(verdict: Verdict) -> str:
    said = said_by(verdict.status, verdict.message)
    return f"{short_name(verdict.hook or 'a gate')}: {said}"


def _is_queue(effect: JournalEffect) -> bool:
    return (effect.kind, effect.args.get("name")) == ("signal", TURN)
