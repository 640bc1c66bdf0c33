"""Writes the journal: each record is a checksummed event of the log; large values are blobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.digest import sha256
from hookline.domain.runs.model import (
    ERROR,
    OK,
    PENDING,
    TERMINAL,
    EffectResolved,
    JournalDamaged,
    Resolution,
    run_id,
)
from hookline.domain.tasks import task_number
from hookline.domain.timestamps import iso
from hookline.errors import BadInput, IllegalTransition, StoreCorrupt
from hookline.hooks.calls.settle import DEPTH_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hookline.domain.events import Event
    from hookline.domain.runs.model import Caller, JournalEffect, Request, Run
    from hookline.ports.store import Blobs, EventLog, Transaction


INLINE = 64 * 1024
# How much of a task's result is kept; the task itself has all of it.
LONGEST = 256 * 1024
STARTED_BY = "startedBy"
_encode = msgspec.json.Encoder(order="deterministic").encode


def start(
    tx: Transaction,
    flow: str,
    given: Mapping[str, Any],
    metadata: Mapping[str, Any],
    *,
    code_digest: str,
    pins: Mapping[str, Any] | None = None,
    caller: Caller | None = None,
) -> str:
    """A new run, which waits to be advanced; `pins` holds until its next chapter."""
    depth = tx.metadata.get("depth", 0)
    if caller is not None:
        depth = depth_of(tx.runs.find(caller.run_id)) + 1
        if depth > DEPTH_LIMIT:
            raise IllegalTransition(f"flows called flows {depth} deep, the limit is {DEPTH_LIMIT}")
    # Steering hooks have no limit of depth, so the runs that they start must have one.
    if depth > DEPTH_LIMIT + 1:
        raise IllegalTransition(f"hooks started runs {depth} deep, the limit is {DEPTH_LIMIT}")
    identifier = run_id(tx.next_run())
    if caller is not None:
        by = {"run": caller.run_id, "effect": caller.effect_id, "depth": depth}
        metadata = {**metadata, STARTED_BY: by}
    elif depth:
        cause, hook = tx.metadata.get("cause"), tx.metadata.get("hook")
        metadata = {**metadata, STARTED_BY: {"event": cause, "hook": hook, "depth": depth}}
    data = {"flow": flow, "input": given, "metadata": metadata, "codeDigest": code_digest}
    if pins:
        data["pins"] = pins
    if caller is not None:
        data["calledBy"] = msgspec.to_builtins(caller)
    write(tx, "run_started", identifier, data)
    return identifier


def origin(base: Mapping[str, Any], run: Run, more: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a run's events; a run that a hook started is as deep as that hook.

    So a hook at the end of a run that starts the next one reaches the limit, too.
    """
    details = {**base, "run": run.run_id, "iteration": run.iteration, **more}
    return {**details, "depth": depth} if (depth := depth_of(run)) else details


def depth_of(run: Run) -> int:
    """How many nested hooks and flows led to a run."""
    started_by = run.metadata.get(STARTED_BY)
    depth = started_by.get("depth") if isinstance(started_by, dict) else None
    return depth if isinstance(depth, int) and depth > 0 else 0


def request(
    tx: Transaction, run: Run, asked: Sequence[Request], blobs: Blobs | None = None
) -> None:
    """Record requested effects; without `blobs`, large arguments were stored before."""
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
    """Record an effect's result, and when work on it began; a second result is refused."""
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


def started_at(log: EventLog, effect: JournalEffect) -> str | None:
    """When work on a resolved effect began; None if it is unknown, as for a posted result.

    An effect that only waited began when it was requested.
    """
    ended = log.find(effect.resolved_seq) if effect.resolved_seq is not None else None
    began = ended.data.get("startedAt") if ended else None
    return began or (effect.requested_at if effect.waits else None)


def write(tx: Transaction, event_type: str, node: str, data: Mapping[str, Any]) -> Event:
    """One record of the journal."""
    return tx.append(event_type, node, {**data, "checksum": checksum(data)})


def checksum(data: Mapping[str, Any]) -> str:
    """The checksum of a record."""
    return str(sha256(_encode(data)).hexdigest()[:16])


def verify(events: Iterable[Event]) -> Iterator[Event]:
    """The same events; JournalDamaged names the first with a wrong checksum."""
    for event in events:
        verify_one(event)
        yield event


def verify_one(event: Event) -> None:
    """Raise JournalDamaged if the record's checksum is wrong."""
    data = {name: value for name, value in event.data.items() if name != "checksum"}
    if event.data.get("checksum") != checksum(data):
        raise JournalDamaged(f"event {event.seq} ({event.type} of {event.node_id}) is damaged")


def prove(log: EventLog, run: Run, effects: Sequence[JournalEffect]) -> None:
    """Compare the rows of a chapter with its records; JournalDamaged names what differs."""
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
    run: Run, effect: JournalEffect, asked: Mapping[str, Any], answer: Mapping[str, Any]
) -> None:
    said = (asked.get("kind"), asked.get("args"), asked.get("digest"))
    result = (answer.get("status", PENDING), answer.get("value"), answer.get("error"))
    rows = (effect.kind, effect.args, effect.digest), (effect.status, effect.value, effect.error)
    if rows != (said, result):
        raise JournalDamaged(f"the row of '{effect.effect_id}' of {run.run_id} is damaged")


def _unreadable(log: EventLog, run: Run, effects: Sequence[JournalEffect]) -> JournalDamaged:
    """The error for a record that cannot be read."""
    places = [e.requested_seq for e in effects]
    places += [e.resolved_seq for e in effects if e.resolved_seq is not None]
    for seq in sorted({int(run.pins.get("seq", 1)), *places}):
        try:
            log.find(seq)
        except msgspec.MsgspecError:
            return JournalDamaged(f"event {seq} of {run.run_id} is damaged: it cannot be read")
    return JournalDamaged(f"a record of {run.run_id} cannot be read")


def inside(value: Any, blobs: Blobs) -> Any:
    """A value as the flow sees it: large ones are fetched."""
    if _is_reference(value):
        return msgspec.json.decode(blobs.get(value["$blob"]))
    return value


def shown(value: Any, blobs: Blobs) -> Any:
    """A value for people; of one that was pruned or is damaged, why it cannot be read."""
    try:
        return inside(value, blobs)
    except StoreCorrupt as problem:
        return {"error": problem.message, "text": ""}


def with_arguments(effect: JournalEffect, blobs: Blobs) -> JournalEffect:
    """An effect with all its arguments: large ones are fetched."""
    if not any(map(_is_reference, effect.args.values())):
        return effect
    args = {name: inside(value, blobs) for name, value in effect.args.items()}
    return msgspec.structs.replace(effect, args=args)


def _is_reference(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"$blob", "bytes"}


def _outside(value: Any, blobs: Blobs | None) -> Any:
    if blobs is None:
        return value
    encoded = msgspec.json.encode(value)
    # A value that looks like a reference must not be taken for one.
    if len(encoded) <= INLINE and not _is_reference(value):
        return value
    return {"$blob": blobs.put(encoded), "bytes": len(encoded)}


# Tasks that runs wait for


def resolve_task(tx: Transaction, event: Event) -> None:
    """Give the end of a task to every run that waits for it."""
    for waiting, chapter, effect_id in tx.runs.waiting_for_task(task_number(event.node_id)):
        run = tx.runs.find(waiting)
        if run.status in TERMINAL or run.chapter != chapter:
            continue
        resolve(tx, run, effect_id, _resolution(event), None)


def _resolution(event: Event) -> Resolution:
    if event.type == "task_completed":
        result, artifacts = event.data.get("result"), event.data.get("artifacts", [])
        value: dict[str, Any] = {"taskId": event.node_id, "result": result, "artifacts": artifacts}
        if len(msgspec.json.encode(value)) > LONGEST:
            value |= {"result": (result or "")[: LONGEST // 8], "artifacts": [], "truncated": True}
        return Resolution(OK, value)
    how = event.type.removeprefix("task_")
    why = event.data.get("error") or event.data.get("reason")
    return Resolution(ERROR, error=f"{event.node_id} was {how}" + (f": {why}" if why else ""))
