"""Checkpoints: an agent's progress on a task, kept so that another can resume from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.timestamps import later, seconds
from hookline.errors import BadInput, HooklineError
from hookline.tasks.log_ids import find_event, name_of
from hookline.tasks.verbs import optional_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.domain.events import Event
    from hookline.ports.store import EventLog, Transaction

CREATED, RESUMED = "checkpoint_created", "checkpoint_resumed"
WEEK = 7 * 24 * 60
YEAR = 366 * 24 * 60
MAX_CONTEXT = 64 * 1024
MAX_DRAFT = 256 * 1024


class UnknownCheckpoint(HooklineError, code="unknown-checkpoint"):
    """There is no such checkpoint."""

    help = "`hookline checkpoint list TASK` shows them"


class CheckpointExpired(HooklineError, code="checkpoint-expired"):
    """This checkpoint is too old to resume from."""


class CheckpointState(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """What a checkpoint keeps; a stop hook's `checkpointData` has the same fields."""

    execution_phase: str | None = None
    execution_step: int | str | None = None
    agent_context: dict[str, Any] = {}
    draft_content: str | None = None
    draft_type: str | None = None
    expires_in_minutes: float = WEEK


class Checkpoint(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A checkpoint as every surface shows it."""

    id: str
    task_id: str
    created_at: str
    expires_at: str
    expired: bool
    created_by: str | None = None
    execution_phase: str | None = None
    execution_step: int | str | None = None
    agent_context: dict[str, Any] = {}
    draft_content: str | None = None
    draft_type: str | None = None


def create(tx: Transaction, task: str, state: CheckpointState) -> Checkpoint:
    """Store an agent's progress on a task."""
    _check(state)
    data = msgspec.to_builtins(state)
    data["expiresAt"] = later(tx.now, data.pop("expiresInMinutes") * 60)
    return _checkpoint(tx.append(CREATED, tx.graph.task(task).id, data), tx.now)


def create_from(tx: Transaction, task: str, data: Mapping[str, Any]) -> Checkpoint:
    """Store what a stop hook gave as `checkpointData`."""
    try:
        state = typed.convert(data, CheckpointState)
    except msgspec.ValidationError as problem:
        raise BadInput(f"the hook's checkpointData cannot be kept: {problem}") from problem
    return create(tx, task, state)


def listed(log: EventLog, task: str, now: str) -> list[Checkpoint]:
    """The checkpoints of a task, oldest first, those that expired included."""
    return [_checkpoint(event, now) for event in log.events(node_id=task, types=(CREATED,))]


def get(log: EventLog, name: str, now: str) -> Checkpoint:
    """One checkpoint, or UnknownCheckpoint."""
    return _checkpoint(find_event(log, name, "CP", CREATED, UnknownCheckpoint), now)


def resume(tx: Transaction, name: str) -> Checkpoint:
    """Resume from a checkpoint; an expired one is refused with its age."""
    found = get(tx.log, name, tx.now)
    if found.expired:
        raise CheckpointExpired(
            f"{found.id} was made {_age(found, tx.now)} ago and expired at {found.expires_at}",
            help=f"look at it with checkpoint_get if you must; {found.task_id} has moved on since,"
            " so read the task and the files again",
        )
    tx.append(RESUMED, found.task_id, {"checkpointId": found.id})
    return found


def _checkpoint(event: Event, now: str) -> Checkpoint:
    about = {
        "id": name_of("CP", event),
        "taskId": event.node_id,
        "createdAt": event.timestamp,
        "createdBy": event.metadata.get("triggeredBy"),
        "expired": event.data["expiresAt"] <= now,
    }
    return typed.convert({**event.data, **about}, Checkpoint)


def _check(state: CheckpointState) -> None:
    optional_text("executionPhase", state.execution_phase)
    optional_text("draftType", state.draft_type)
    sizes = (
        ("agentContext", msgspec.json.encode(state.agent_context), MAX_CONTEXT),
        ("draftContent", msgspec.json.encode(state.draft_content), MAX_DRAFT),
    )
    for name, data, most in sizes:
        if len(data) > most:
            help = "put large content in a file and pass its name"
            raise BadInput(f"{name} has {len(data):,} bytes; the limit is {most:,}", help=help)
    if not 0 < state.expires_in_minutes <= YEAR:
        raise BadInput(f"a checkpoint lasts up to a year, not {state.expires_in_minutes:g} minutes")


def _age(found: Checkpoint, now: str) -> str:
    minutes = int((seconds(now) - seconds(found.created_at)) // 60)
    days, hours = minutes // 1440, minutes // 60
    if days:
        return f"{days} days"
    return f"{hours} hours" if hours else f"{minutes} minutes"
