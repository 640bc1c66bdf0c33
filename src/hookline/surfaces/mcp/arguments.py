"""What each tool takes, as types: calls are checked by them, and agents read them as schemas."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hookline import typed
from hookline.errors import BadInput
from hookline.hooks.registered import REGISTERABLE
from hookline.tasks.notes import Kind

_NULL = {"type": "null"}
_REF = "#/$defs/"
_DROPPED = ("title", "default")
# Where msgspec says that a value is wrong.
_FIELD = re.compile(r" - at `\$\.(\w+)`$")

Count = Annotated[int, Meta(ge=1, le=1000)]
Open = Literal["created", "ready", "active", "blocked", "submitted", "needs_continuation"]
Over = Literal["completed", "failed", "cancelled"]


def _about(text: str) -> Meta:
    return Meta(description=text)


class ToolArguments(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """The base of all arguments: a name that nobody knows is an error, null is left out."""


class TaskId(ToolArguments):
    """A task."""

    task_id: str


class IterationId(ToolArguments):
    """A loop."""

    iteration_id: str


# stop hooks


Hooks = Annotated[
    list[dict[str, Any] | str],
    _about("of all_of, any_of, not: each a hookType, or {hookType, command, ...} as here"),
]


class HookRegister(TaskId):
    """A stop hook to register."""

    hook_type: Annotated[str, _about(", ".join(REGISTERABLE))] | None = None
    metadata: dict[str, Any] | None = None
    arguments: Annotated[dict[str, Any], _about("of the hookType, if it takes any")] | None = None
    command: Annotated[str, _about("shell line; exit 0 completes")] | None = None
    python: Annotated[str, _about("module:function")] | None = None
    when: Annotated[str, _about("condition, such as iteration > 3")] | None = None
    timeout: Annotated[float, _about("seconds")] | None = None
    enabled: bool | None = None
    hooks: Hooks | None = None


class LoopReport(IterationId):
    """What an agent did in an iteration."""

    agent_output: Annotated[str, _about("your final text of this iteration")] = ""
    files_modified: list[str] = []
    draft_content: str | None = None
    draft_type: str | None = None


# loops


class CircuitBreaker(ToolArguments):
    """When a loop counts as stuck, each in iterations; 0 is never."""

    failures: int | None = None
    identical_output: int | None = None
    no_change: int | None = None
    thrashing: int | None = None
    quality_regression: int | None = None


_RULES = (
    "{name, type, ...}: command {command}; content_pattern {pattern, files};"
    " coverage {report, minimum}; file_existence {files}; custom {python}"
)
Rules = Annotated[list[dict[str, Any]], _about(_RULES)]
Breaker = Annotated[CircuitBreaker, _about("escalate after so many iterations in a row")]


class LoopStart(TaskId):
    """A loop to begin."""

    max_iterations: Count = 10
    completion_promises: list[str] | None = None
    validation_rules: Rules | None = None
    circuit_breaker: Breaker | None = None
    circuit_breaker_threshold: int | None = None
    execution_phase: str | None = None


class IterationComplete(IterationId):
    """A loop to end."""

    completion_promise: Annotated[str, _about("COMPLETE, BLOCKED or ESCALATE")] = "COMPLETE"
    summary: str | None = None


# tasks


class TaskCreate(ToolArguments):
    """A task to add."""

    goal: str
    labels: list[str] | None = None
    deliverables: list[str] | None = None
    priority: Annotated[int, _about("0 is first, 2 the default")] | None = None
    type: str | None = None
    depends_on: list[str] | None = None
    parent_task_id: Annotated[str, _about("default: your session's task")] | None = None
    notes: list[str] | None = None


class TaskList(ToolArguments):
    """Which tasks to list."""

    state: Literal[Open, Over, "all"] | None = None
    label: str | None = None
    type: str | None = None
    parent_task_id: str | None = None
    limit: Count = 50


class TaskNext(ToolArguments):
    """Whether to take the task."""

    claim: Annotated[bool, _about("take it, for 15 minutes")] = False


NewState = Annotated[
    Literal["active", "ready", "failed", "cancelled"],
    _about("active: begin; ready: unblock or give back"),
]


class TaskUpdate(TaskId):
    """What to change about a task."""

    goal: str | None = None
    labels: list[str] | None = None
    deliverables: list[str] | None = None
    priority: int | None = None
    note: str | None = None
    state: NewState | None = None
    reason: Annotated[str, _about("why it failed or is cancelled")] | None = None


class TaskComplete(TaskId):
    """What came out of a task."""

    result: str | None = None
    artifacts: list[str] | None = None


class TaskBlock(TaskId):
    """What blocks a task."""

    reason: str
    required_knowledge: list[str] | None = None


class DepAdd(TaskId):
    """A dependency to add."""

    depends_on: str


# notes, checkpoints, session, log


class NoteAdd(ToolArguments):
    """A note to record."""

    kind: Kind
    text: str
    task_id: str | None = None


class NoteList(ToolArguments):
    """Which notes to list."""

    task_id: Annotated[str, _about("with it: its notes and those for all")] | None = None
    kind: Kind | None = None
    limit: Count = 50


class CheckpointCreate(TaskId):
    """Where an agent is in its task."""

    execution_phase: str | None = None
    execution_step: int | str | None = None
    agent_context: Annotated[dict[str, Any], _about("what you must know to continue")] | None = None
    draft_content: str | None = None
    draft_type: str | None = None
    expires_in_minutes: Annotated[float, _about("default: 7 days")] | None = None


class CheckpointId(ToolArguments):
    """A checkpoint."""

    checkpoint_id: str


class SessionComplete(ToolArguments):
    """What a session achieved."""

    summary: str | None = None


class EventsTail(ToolArguments):
    """Which events to show."""

    limit: Count = 20
    task_id: str | None = None
    type: str | None = None
    after: Annotated[int, _about("only events after this seq")] | None = None


# As agents read and write them


def schema_of(kind: type[ToolArguments]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, without titles, references and null."""
    (root,), parts = msgspec.json.schema_components((kind,), ref_template=_REF + "{name}")
    schema = _short(root, parts)
    schema.pop("description", None)
    return schema


def read(
    kind: type[ToolArguments],
    arguments: Mapping[str, Any],
    tool: str,
    clean: Callable[[Any], Any],
) -> ToolArguments:
    """The arguments of a call, clean, or an error that shows the wrong one and what is wanted."""
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        msgspec.json.encode(given)  # half a surrogate pair is text that nothing can store
        return typed.convert(clean(given), kind)
    except (UnicodeEncodeError, RecursionError) as problem:
        raise BadInput(f"{tool}: the arguments are not JSON that can be stored") from problem
    except msgspec.ValidationError as problem:
        wanted = _allowed(kind, str(problem)) or f"{tool} takes {_fields(kind)}"
        raise BadInput(f"{tool}: {problem}", help=wanted) from problem


def _allowed(kind: type[ToolArguments], problem: str) -> str | None:
    """The values that the wrong field can have, if they are few."""
    found = _FIELD.search(problem)
    if found is None:
        return None
    values = schema_of(kind)["properties"].get(found[1], {}).get("enum")
    return f"{found[1]} can be {', '.join(values)}" if values else None


def _fields(kind: type[ToolArguments]) -> str:
    fields = msgspec.structs.fields(kind)
    names = [f.encode_name if f.required else f"{f.encode_name}?" for f in fields]
    return f"{{{', '.join(names)}}}"


def _short(schema: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    """The schema with its references in place and without what says nothing."""
    if "$ref" in schema:
        return _short(parts[schema["$ref"].removeprefix(_REF)], parts)
    found = {name: value for name, value in schema.items() if name not in _DROPPED}
    choices = [each for each in found.pop("anyOf", ()) if each != _NULL]
    if len(choices) == 1:
        found = {**_short(choices[0], parts), **found}
    elif choices:
        found["anyOf"] = [_short(each, parts) for each in choices]
    if "enum" in found:  # the type is for clients that want one everywhere
        found |= {"type": "string", "enum": [each for each in found["enum"] if each is not None]}
    if "items" in found:
        found["items"] = _short(found["items"], parts)
    if "properties" in found:
        found["properties"] = {
            name: _short(value, parts) for name, value in found["properties"].items()
        }
    if not found.get("required", True):
        del found["required"]
    return found
