"""What each tool takes, as types: calls are checked by them, and agents read them as schemas."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hookline.hooks.registered import REGISTERABLE
from hookline.tasks.notes import Kind

Count = Annotated[int, Meta(ge=1, le=1000)]


def _about(text: str) -> Meta:
    return Meta(description=text)


class Arguments(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """The base of all arguments: a name that nobody knows is an error, null is left out."""


class TaskId(Arguments):
    """A task."""

    task_id: str


# stop hooks


class HookRegister(Arguments):
    """A stop hook to register."""

    task_id: str
    hook_type: Annotated[str, _about(", ".join(REGISTERABLE))] | None = None
    metadata: dict[str, Any] | None = None
    arguments: Annotated[dict[str, Any], _about("of the hookType, if it takes any")] | None = None
    command: Annotated[str, _about("shell line; exit 0 completes")] | None = None
    python: Annotated[str, _about("module:function")] | None = None
    when: Annotated[str, _about("condition, such as iteration > 3")] | None = None
    timeout: Annotated[float, _about("seconds")] | None = None
    enabled: bool | None = None
    hooks: (
        Annotated[
            list[dict[str, Any] | str],
            _about("of all_of, any_of, not: each a hookType, or {hookType, command, ...} as here"),
        ]
        | None
    ) = None


class IterationReport(Arguments):
    """What an agent did in an iteration."""

    iteration_id: str
    agent_output: Annotated[str, _about("your final text of this iteration")] = ""
    files_modified: list[str] | None = None
    draft_content: str | None = None
    draft_type: str | None = None


# loops


class CircuitBreaker(Arguments):
    """When a loop counts as stuck, each in iterations; 0 is never."""

    failures: int | None = None
    identical_output: int | None = None
    no_change: int | None = None
    thrashing: int | None = None
    quality_regression: int | None = None


class IterationStart(Arguments):
    """A loop to begin."""

    task_id: str
    max_iterations: Annotated[int, Meta(ge=1, le=1000)] = 10
    completion_promises: list[str] | None = None
    validation_rules: (
        Annotated[
            list[dict[str, Any]],
            _about(
                "{name, type, ...}: command {command}; content_pattern {pattern, files};"
                " coverage {report, minimum}; file_existence {files}; custom {python}"
            ),
        ]
        | None
    ) = None
    circuit_breaker: (
        Annotated[CircuitBreaker, _about("escalate after so many iterations in a row")] | None
    ) = None
    circuit_breaker_threshold: int | None = None
    execution_phase: str | None = None


class IterationId(Arguments):
    """A loop."""

    iteration_id: str


class IterationComplete(Arguments):
    """A loop to end."""

    iteration_id: str
    completion_promise: Annotated[str, _about("COMPLETE, BLOCKED or ESCALATE")] = "COMPLETE"
    summary: str | None = None


# tasks


class TaskCreate(Arguments):
    """A task to add."""

    goal: str
    labels: list[str] | None = None
    deliverables: list[str] | None = None
    priority: Annotated[int, _about("0 is first, 2 the default")] | None = None
    type: str | None = None
    depends_on: list[str] | None = None
    parent_task_id: Annotated[str, _about("default: your session's task")] | None = None
    notes: list[str] | None = None


class TaskList(Arguments):
    """Which tasks to list."""

    state: (
        Literal[
            "created",
            "ready",
            "active",
            "blocked",
            "submitted",
            "needs_continuation",
            "completed",
            "failed",
            "cancelled",
            "all",
        ]
        | None
    ) = None
    label: str | None = None
    type: str | None = None
    parent_task_id: str | None = None
    limit: Count = 50


class TaskNext(Arguments):
    """Whether to take the task."""

    claim: Annotated[bool, _about("take it, for 15 minutes")] = False


class TaskUpdate(Arguments):
    """What to change about a task."""

    task_id: str
    goal: str | None = None
    labels: list[str] | None = None
    deliverables: list[str] | None = None
    priority: int | None = None
    note: str | None = None
    state: (
        Annotated[
            Literal["active", "ready", "failed", "cancelled"],
            _about("active: begin; ready: unblock or give back"),
        ]
        | None
    ) = None
    reason: Annotated[str, _about("why it failed or is cancelled")] | None = None


class TaskComplete(Arguments):
    """What came out of a task."""

    task_id: str
    result: str | None = None
    artifacts: list[str] | None = None


class TaskBlock(Arguments):
    """What stands in a task's way."""

    task_id: str
    reason: str
    required_knowledge: list[str] | None = None


class DepAdd(Arguments):
    """A dependency to add."""

    task_id: str
    depends_on: str


# notes, checkpoints, session, log


class NoteAdd(Arguments):
    """A note to write down."""

    kind: Kind
    text: str
    task_id: str | None = None


class NoteList(Arguments):
    """Which notes to list."""

    task_id: Annotated[str, _about("with it: its notes and those for all")] | None = None
    kind: Kind | None = None
    limit: Count = 50


class CheckpointCreate(Arguments):
    """Where an agent stands."""

    task_id: str
    execution_phase: str | None = None
    execution_step: int | str | None = None
    agent_context: Annotated[dict[str, Any], _about("what you must know to go on")] | None = None
    draft_content: str | None = None
    draft_type: str | None = None
    expires_in_minutes: Annotated[float, _about("default: 7 days")] | None = None


class CheckpointId(Arguments):
    """A checkpoint."""

    checkpoint_id: str


class SessionComplete(Arguments):
    """What a session achieved."""

    summary: str | None = None


class EventsTail(Arguments):
    """Which events to show."""

    limit: Count = 20
    task_id: str | None = None
    type: str | None = None
    after: Annotated[int, _about("only events after this seq")] | None = None
