"""Verbs on runs: cancel, pause, stop, signals, parking, and starting one again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline import typed
from hookline.domain.runs import model as runs
from hookline.domain.runs.model import (
    ERROR,
    INTERRUPTED,
    OK,
    TERMINAL,
    JournalEffect,
    Resolution,
    Run,
    UnknownEffect,
)
from hookline.errors import BadInput, IllegalTransition
from hookline.flows import journal
from hookline.flows.called_runs import all_open_called, open_called
from hookline.flows.outcomes import CONTROLS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.hooks.calls.delivery import Owner
    from hookline.ports.store import Blobs, Transaction, View


def control(tx: Transaction, owner: Owner, run_id: str, name: str, reason: str) -> bool:
    """Cancel, pause or stop a run and those that it called.

    False if the process that advances one of them has to do it.
    """
    run = _open_run(tx, run_id)
    if owner.is_elsewhere(tx, run.run_id):
        data = {"name": name, "value": {"reason": reason}}
        journal.write(tx, "run_signalled", run.run_id, data)
        return False
    for effect in tx.runs.pending(run):
        if effect.child:
            owner.end_child(effect.child)
    token = tx.next_token()
    tx.runs.leases.take(run.run_id, owner.name, token, 0.0)
    journal.write(tx, CONTROLS[name], run.run_id, {"reason": reason})
    tx.runs.leases.let_go(run.run_id, token, None)
    return control_called(tx, owner, run_id, name, reason)


def control_called(tx: Transaction, owner: Owner, run_id: str, name: str, reason: str) -> bool:
    """A request to a run applies to the runs that it called; a paused one stays paused."""
    told = [
        control(tx, owner, run.run_id, name, reason)
        for run in open_called(tx, run_id)
        if name == "cancel" or run.status != runs.PAUSED
    ]
    return all(told)


def resume(tx: Transaction, run_id: str) -> None:
    """Resume a paused run, with those that it called."""
    for run in (tx.runs.find(run_id), *all_open_called(tx, run_id)):
        if run.status == runs.PAUSED:
            journal.write(tx, "run_resumed", run.run_id, {})


def park(tx: Transaction, owner: Owner, run_id: str, reason: str) -> None:
    """Park a run whose command was told to end, with those that it called."""
    for run in (tx.runs.find(run_id), *all_open_called(tx, run_id)):
        holder, token, _ = tx.runs.leases.holder(run.run_id)
        if holder in (None, owner.name) and run.status == runs.RUNNING:
            journal.write(tx, "run_parked", run.run_id, {"reason": reason, INTERRUPTED: True})
            tx.runs.leases.let_go(run.run_id, token, None)


def send(tx: Transaction, run_id: str, name: str, value: Any) -> None:
    """Send a signal that the flow waits for, or will wait for."""
    run = _open_run(tx, run_id)
    if name in CONTROLS:
        help = f"use `hookline flow {name} {run.run_id}`"
        raise BadInput(f"'{name}' is a signal to the engine, not to the flow", help=help)
    journal.write(tx, "run_signalled", run.run_id, {"name": name, "value": value})


def _open_run(tx: Transaction, run_id: str) -> Run:
    run = tx.runs.find(run_id)
    if run.status in TERMINAL:
        raise IllegalTransition(f"{run.run_id} is {run.status}")
    return run


# Again from a step


class RerunOrigin(NamedTuple):
    """What a run starts again from: a chapter, its state, and the effects that are kept."""

    run: Run
    chapter: int
    state: Any
    effects: list[JournalEffect]


def trace_back(view: View, run: Run, step: str) -> RerunOrigin:
    """What happened before a step; the newest chapter is searched first."""
    for chapter in range(run.chapter, 0, -1):
        then = msgspec.structs.replace(run, chapter=chapter)
        effects = view.runs.effects(then)
        place = next((i for i, e in enumerate(effects) if step in (e.effect_id, e.step)), None)
        if place is not None:
            return RerunOrigin(run, chapter, _state(view, run, chapter), effects[:place])
    raise UnknownEffect(
        f"{run.run_id} has no step '{step}'", help=f"`hookline effect list {run.run_id}` shows them"
    )


def _state(view: View, run: Run, chapter: int) -> Any:
    turns = view.log.events(node_id=run.run_id, types=("run_chapter",))
    return next((e.data["state"] for e in turns if e.data["chapter"] == chapter), None)


def rerun(
    tx: Transaction,
    origin: RerunOrigin,
    blobs: Blobs,
    code_digest: str,
    pins: Mapping[str, Any] | None = None,
) -> str:
    """A new run with the same input, whose journal begins with the kept part of the old one."""
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
    asked = [typed.convert(e, runs.Request, from_attributes=True) for e in origin.effects]
    journal.request(tx, run, asked)
    done = [effect for effect in origin.effects if effect.resolved_seq is not None]
    for effect in sorted(done, key=lambda each: each.resolved_seq or 0):
        result = Resolution(OK if effect.status == OK else ERROR, effect.value, effect.error)
        journal.resolve(tx, run, effect.effect_id, result, blobs)
    return identifier
