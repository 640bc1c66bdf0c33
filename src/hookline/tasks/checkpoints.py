"""Checkpoints: where an agent stood in a task, kept so that another can go on from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.moments import later, seconds
from hookline.errors import BadInput, HooklineError
from hookline.tasks.places import find_event, name_of
from hookline.tasks.verbs import check_text

if TYPE_CHECKING:
    from hookline.domain.events import Event
    from hookline.ports.store import EventLog, Transaction

CREATED, RESUMED = "checkpoint_created", "checkpoint_resumed"
WEEK = 7 * 24 * 60
YEAR = 366 * 24 * 60
MAX_CONTEXT = 64 * 1024
MAX_DRAFT = 256 * 1024


class UnknownCheckpoint(HooklineError):
    """There is no such checkpoint."""

    code = "unknown-checkpoint"
    help = "`hookline checkpoint list TASK` shows them"


class CheckpointExpired(HooklineError):
    """This checkpoint is too old to go on from."""

    code = "checkpoint-expired"


class Standing(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
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


def create(tx: Transaction, task: str, standing: Standing) -> Checkpoint:
    """Keep where an agent stands in a task."""
    _check(standing)
    data = msgspec.to_builtins(standing)
    data["expiresAt"] = later(tx.now, data.pop("expiresInMinutes") * 60)
    return _checkpoint(tx.append(CREATED, tx.graph.task(task).id, data), tx.now)


def create_from(tx: Transaction, task: str, data: dict[str, Any]) -> Checkpoint:
    """Keep what a stop hook gave as `checkpointData`."""
    try:
        standing = msgspec.convert(data, Standing)
    except msgspec.ValidationError as problem:
        raise BadInput(f"the hook's checkpointData cannot be kept: {problem}") from problem
    return create(tx, task, standing)


def listed(log: EventLog, task: str, now: str) -> list[Checkpoint]:
    """The checkpoints of a task, oldest first, those that expired included."""
    return [_checkpoint(event, now) for event in log.events(node_id=task, types=(CREATED,))]


def get(log: EventLog, name: str, now: str) -> Checkpoint:
    """One checkpoint, or UnknownCheckpoint."""
    return _checkpoint(find_event(log, name, "CP", CREATED, UnknownCheckpoint), now)


def resume(tx: Transaction, name: str) -> Checkpoint:
    """Go on from a checkpoint; one that expired is refused and told its age."""
    found = get(tx.log, name, tx.now)
    if found.expired:
        raise CheckpointExpired(
            f"{found.id} was made {_age(found, tx.now)} ago and expired at {found.expires_at}",
            help=f"look at it with checkpoint_get if you must; {found.task_id} has moved on since,"
            " so read the task and the files anew",
        )
    tx.append(RESUMED, found.task_id, {"checkpointId": found.id})
    return found


def _checkpoint(event: Event, now: str) -> Checkpoint:
    data = event.data
    return Checkpoint(
        id=name_of("CP", event),
        task_id=event.node_id,
        created_at=event.timestamp,
        created_by=event.metadata.get("triggeredBy"),
        expires_at=data["expiresAt"],
        expired=data["expiresAt"] <= now,
        execution_phase=data["executionPhase"],
        execution_step=data["executionStep"],
        agent_context=data["agentContext"],
        draft_content=data["draftContent"],
        draft_type=data["draftType"],
    )


def _check(standing: Standing) -> None:
    for name, text in (
        ("executionPhase", standing.execution_phase),
        ("draftType", standing.draft_type),
    ):
        if text is not None:
            check_text(name, text, empty=True)
    sizes = (
        ("agentContext", msgspec.json.encode(standing.agent_context), MAX_CONTEXT),
        ("draftContent", msgspec.json.encode(standing.draft_content), MAX_DRAFT),
    )
    for name, data, most in sizes:
        if len(data) > most:
            raise BadInput(
                f"{name} has {len(data):,} bytes, at most {most:,} fit",
                help="write large content to a file and name the file",
            )
    if not 0 < standing.expires_in_minutes <= YEAR:
        raise BadInput(
            f"a checkpoint lasts up to a year, not {standing.expires_in_minutes:g} minutes"
        )


def _age(found: Checkpoint, now: str) -> str:
    minutes = int((seconds(now) - seconds(found.created_at)) // 60)
    days, hours = minutes // 1440, minutes // 60
    if days:
        return f"{days} days"
    return f"{hours} hours" if hours else f"{minutes} minutes"
