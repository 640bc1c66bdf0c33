"""Writing the journal: each record is an event of the log, checksummed, large values aside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.digest import sha256
from hookline.domain.moments import iso
from hookline.domain.runs import (
    ERROR,
    OK,
    PENDING,
    TERMINAL,
    EffectResolved,
    JournalDamaged,
    Resolution,
    run_id,
)
from hookline.domain.sessions import FLOW as SESSION
from hookline.errors import BadInput, IllegalTransition
from hookline.hooks.calls.settle import DEPTH_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hookline.domain.events import Event
    from hookline.domain.runs import JournalEffect, Request, Run
    from hookline.ports.store import Blobs, EventLog, Transaction

INLINE = 64 * 1024
STARTED_BY = "startedBy"
_encode = msgspec.json.Encoder(order="deterministic").encode


def start(
    tx: Transaction,
    flow: str,
    given: dict[str, Any],
    metadata: dict[str, Any],
    *,
    code_digest: str,
    pins: dict[str, Any] | None = None,
) -> str:
    """A new run, which waits for someone to advance it; `pins` holds until its next chapter."""
    depth = tx.metadata.get("depth", 0)
    # Hooks that steer runs are not cut, so a run that they start must be.
    if depth > DEPTH_LIMIT + 1:
        raise IllegalTransition(f"hooks started runs {depth} deep, the limit is {DEPTH_LIMIT}")
    identifier = run_id(tx.next_run())
    if depth:
        cause, hook = tx.metadata.get("cause"), tx.metadata.get("hook")
        metadata = {**metadata, STARTED_BY: {"event": cause, "hook": hook, "depth": depth}}
    data = {"flow": flow, "input": given, "metadata": metadata, "codeDigest": code_digest}
    if pins:
        data["pins"] = pins
    write(tx, "run_started", identifier, data)
    return identifier


def origin(base: dict[str, Any], run: Run) -> dict[str, Any]:
    """The metadata of what happens in a run; one that a hook started is as deep as that hook.

    So a hook on the end of a run that starts the next one comes to its limit, too.
    """
    details = {**base, "run": run.run_id, "iteration": run.iteration}
    if run.flow == SESSION:
        number = (run.state or {}).get("iteration", 1)
        details |= {"session": run.input["name"], "iteration": number}
    return {**details, "depth": depth} if (depth := depth_of(run)) else details


def depth_of(run: Run) -> int:
    """How many hooks, one through the other, led to a run."""
    started_by = run.metadata.get(STARTED_BY)
    depth = started_by.get("depth") if isinstance(started_by, dict) else None
    return depth if isinstance(depth, int) and depth > 0 else 0


def request(
    tx: Transaction, run: Run, asked: Sequence[Request], blobs: Blobs | None = None
) -> None:
    """Effects that the flow asks for; without `blobs`, large arguments were put aside before."""
    for each in asked:
        data = {
            "chapter": run.chapter,
            "effectId": each.effect_id,
            "step": each.step,
            "kind": each.kind,
            "args": {name: _outside(value, blobs) for name, value in each.args.items()},
            "digest": each.digest,
            "metadata": each.metadata,
            "policy": each.policy,
        }
        write(tx, "effect_requested", run.run_id, data)


def resolve(
    tx: Transaction,
    run: Run,
    effect_id: str,
    resolution: Resolution,
    blobs: Blobs | None,
    started: float | None = None,
) -> Event:
    """An effect's result, and when work on it began; the first counts, a second is refused."""
    effect = tx.runs.effect(run, effect_id)
    if effect.status != PENDING:
        raise EffectResolved(f"{run.run_id} has a result for '{effect_id}' already")
    if run.status in TERMINAL:
        raise IllegalTransition(f"{run.run_id} is {run.status}")
    data: dict[str, Any] = {
        "chapter": run.chapter,
        "effectId": effect_id,
        "status": resolution.status,
    }
    if started is not None:
        data["startedAt"] = iso(started)
    if resolution.status == OK:
        data["value"] = _outside(resolution.value, blobs)
    elif resolution.status == ERROR:
        data["error"] = (resolution.error or "failed")[:INLINE]
        if resolution.value is not None:
            data["value"] = _outside(resolution.value, blobs)
    else:
        raise BadInput(f"a result is ok or error, not {resolution.status!r}")
    return write(tx, "effect_resolved", run.run_id, data)


def started_at(log: EventLog, effect: JournalEffect) -> str:
    """When work on an effect began that has a result; what only waited began when it was asked."""
    ended = log.find(effect.resolved_seq) if effect.resolved_seq is not None else None
    return str(ended.data.get("startedAt") or effect.requested_at) if ended else effect.requested_at


def write(tx: Transaction, event_type: str, node: str, data: dict[str, Any]) -> Event:
    """One record of the journal."""
    return tx.append(event_type, node, {**data, "checksum": checksum(data)})


def checksum(data: dict[str, Any]) -> str:
    """What tells a damaged record from a whole one."""
    return str(sha256(_encode(data)).hexdigest()[:16])


def verify(events: Iterable[Event]) -> Iterator[Event]:
    """The events again; JournalDamaged names the first whose checksum does not fit."""
    for event in events:
        verify_one(event)
        yield event


def verify_one(event: Event) -> None:
    """JournalDamaged if the record's checksum does not fit."""
    data = {name: value for name, value in event.data.items() if name != "checksum"}
    if event.data.get("checksum") != checksum(data):
        raise JournalDamaged(f"event {event.seq} ({event.type} of {event.node_id}) is damaged")


def prove(log: EventLog, run: Run, effects: Sequence[JournalEffect]) -> None:
    """Hold the rows of a chapter against its records; JournalDamaged names what differs."""
    begun = int(run.pins.get("seq", 0))
    types = ("run_started", "run_chapter", "effect_requested", "effect_resolved")
    try:
        events = log.events(node_id=run.run_id, after=begun - 1, types=types)
    except msgspec.MsgspecError as problem:
        raise _unreadable(log, run, effects) from problem
    asked: dict[str, dict[str, Any]] = {}
    answers: dict[str, dict[str, Any]] = {}
    for event in verify(events):
        if event.type == "run_chapter" and event.data["state"] != run.state:
            raise JournalDamaged(f"the state of {run.run_id} is not that of event {event.seq}")
        if event.type.startswith("effect_"):
            found = asked if event.type == "effect_requested" else answers
            found[event.data["effectId"]] = event.data
    for effect in effects:
        _compare(run, effect, asked.pop(effect.effect_id, {}), answers.pop(effect.effect_id, {}))
    for effect_id in (*asked, *answers):
        raise JournalDamaged(f"{run.run_id} has lost the row of '{effect_id}'")


def _compare(
    run: Run, effect: JournalEffect, asked: dict[str, Any], answer: dict[str, Any]
) -> None:
    said = (asked.get("kind"), asked.get("args"), asked.get("digest"))
    result = (answer.get("status", PENDING), answer.get("value"), answer.get("error"))
    rows = (effect.kind, effect.args, effect.digest), (effect.status, effect.value, effect.error)
    if rows != (said, result):
        raise JournalDamaged(f"the row of '{effect.effect_id}' of {run.run_id} is damaged")


def _unreadable(log: EventLog, run: Run, effects: Sequence[JournalEffect]) -> JournalDamaged:
    """Which record it is that cannot be read."""
    places = [e.requested_seq for e in effects]
    places += [e.resolved_seq for e in effects if e.resolved_seq is not None]
    for seq in sorted({int(run.pins.get("seq", 1)), *places}):
        try:
            log.find(seq)
        except msgspec.MsgspecError:
            return JournalDamaged(f"event {seq} of {run.run_id} is damaged: it cannot be read")
    return JournalDamaged(f"a record of {run.run_id} cannot be read")


def inside(value: Any, blobs: Blobs) -> Any:
    """A value as the flow sees it: what was put aside is fetched."""
    if _is_reference(value):
        return msgspec.json.decode(blobs.get(value["$blob"]))
    return value


def with_arguments(effect: JournalEffect, blobs: Blobs) -> JournalEffect:
    """An effect with its whole arguments: those that were put aside are fetched."""
    if not any(map(_is_reference, effect.args.values())):
        return effect
    args = {name: inside(value, blobs) for name, value in effect.args.items()}
    whole: JournalEffect = msgspec.structs.replace(effect, args=args)
    return whole


def _is_reference(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"$blob", "bytes"}


def _outside(value: Any, blobs: Blobs | None) -> Any:
    if blobs is None:
        return value
    encoded = msgspec.json.encode(value)
    # A value that looks like a reference of ours must not be taken for one.
    if len(encoded) <= INLINE and not _is_reference(value):
        return value
    return {"$blob": blobs.put(encoded), "bytes": len(encoded)}
