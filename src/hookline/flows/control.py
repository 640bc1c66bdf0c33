"""Verbs on runs from outside: cancel, pause, stop, signals, parking, and starting one again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.domain import runs
from hookline.domain.runs import ERROR, OK, TERMINAL, Resolution, UnknownEffect
from hookline.errors import BadInput, IllegalTransition
from hookline.flows import journal

if TYPE_CHECKING:
    from hookline.domain.runs import JournalEffect, Run
    from hookline.hooks.calls.delivery import Owner
    from hookline.ports.store import Blobs, Transaction, View

CONTROLS = {"cancel": "run_cancelled", "pause": "run_paused", "stop": "run_parked"}


def control(tx: Transaction, owner: Owner, run_id: str, name: str, reason: str) -> bool:
    """Cancel, pause or stop a run; False when the process that advances it must do that."""
    run = _open_run(tx, run_id)
    holder, _, until = tx.runs.holder(run.run_id)
    if holder is not None and not owner.is_free(holder, until):
        data = {"name": name, "value": {"reason": reason}}
        journal.write(tx, "run_signalled", run.run_id, data)
        return False
    for effect in tx.runs.pending(run):
        if effect.child:
            owner.end_child(effect.child)
    token = tx.next_token()
    tx.runs.take(run.run_id, owner.name, token, 0.0)
    if name == "cancel":
        from hookline.flows import session_verbs  # much, for what is seldom done

        session_verbs.break_off(tx, run, runs.CANCELLED, reason)
    journal.write(tx, CONTROLS[name], run.run_id, {"reason": reason})
    tx.runs.let_go(run.run_id, token, None)
    return True


def park(tx: Transaction, owner: Owner, run_id: str, reason: str) -> None:
    """Park a run that this process advanced and will not advance any more."""
    run = tx.runs.find(run_id)
    holder, token, _ = tx.runs.holder(run_id)
    if holder in (None, owner.name) and run.status == runs.RUNNING:
        journal.write(tx, "run_parked", run.run_id, {"reason": reason})
        tx.runs.let_go(run.run_id, token, None)


def send(tx: Transaction, run_id: str, name: str, value: Any) -> None:
    """Send a signal that the flow waits for, or will."""
    run = _open_run(tx, run_id)
    if name in CONTROLS:
        raise BadInput(
            f"'{name}' is a signal to the engine, not to the flow",
            help=f"use `hookline flow {name} {run.run_id}`",
        )
    journal.write(tx, "run_signalled", run.run_id, {"name": name, "value": value})


def _open_run(tx: Transaction, run_id: str) -> Run:
    run = tx.runs.find(run_id)
    if run.status in TERMINAL:
        raise IllegalTransition(f"{run.run_id} is {run.status}")
    return run


# Again from a step


class Origin(NamedTuple):
    """What a run is begun again from: a chapter, its state, and the effects that are kept."""

    run: Run
    chapter: int
    state: Any
    effects: list[JournalEffect]


def trace_back(view: View, run: Run, step: str) -> Origin:
    """What happened before a step, which is looked for in the newest chapter first."""
    for chapter in range(run.chapter, 0, -1):
        then = msgspec.structs.replace(run, chapter=chapter)
        effects = view.runs.effects(then)
        place = next((i for i, e in enumerate(effects) if step in (e.effect_id, e.step)), None)
        if place is not None:
            return Origin(run, chapter, _state(view, run, chapter), effects[:place])
    raise UnknownEffect(
        f"{run.run_id} has no step '{step}'",
        help=f"`hookline effect list {run.run_id}` shows them",
    )


def _state(view: View, run: Run, chapter: int) -> Any:
    turns = view.log.events(node_id=run.run_id, types=("run_chapter",))
    return next((e.data["state"] for e in turns if e.data["chapter"] == chapter), None)


def rerun(
    tx: Transaction,
    origin: Origin,
    blobs: Blobs,
    code_digest: str,
    pins: dict[str, Any] | None = None,
) -> str:
    """A new run with the same input, whose journal holds what is kept of the old one's."""
    metadata = {**origin.run.metadata, "rerunOf": origin.run.run_id}
    old = origin.run
    identifier = journal.start(
        tx, old.flow, old.input, metadata, code_digest=code_digest, pins=pins
    )
    if origin.chapter > 1:
        data = {"chapter": origin.chapter, "state": origin.state, "codeDigest": code_digest}
        if pins:
            data["pins"] = pins
        journal.write(tx, "run_chapter", identifier, data)
    run = tx.runs.find(identifier)
    journal.request(tx, run, [_request(effect) for effect in origin.effects])
    done = [effect for effect in origin.effects if effect.resolved_seq is not None]
    for effect in sorted(done, key=lambda each: each.resolved_seq or 0):
        result = Resolution(OK if effect.status == OK else ERROR, effect.value, effect.error)
        journal.resolve(tx, run, effect.effect_id, result, blobs)
    return identifier


def _request(effect: JournalEffect) -> runs.Request:
    return runs.Request(
        effect.effect_id,
        effect.step,
        effect.kind,
        effect.args,
        effect.metadata,
        effect.policy,
        effect.digest,
    )
