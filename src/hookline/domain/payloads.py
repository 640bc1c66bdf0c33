"""The payload that hooks receive at each point, as types.

For events of the log this is the event's `data`: the fields that subscribers rely on. Data may
carry more, because the log is also what the tables are rebuilt from.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from hookline import typed
from hookline.domain.events import Event
from hookline.errors import BadInput
from hookline.points import POINTS


class Payload(msgspec.Struct, rename="camel", kw_only=True):
    """JSON on the wire is camelCase; unknown fields are ignored."""


class TaskCreated(Payload):
    """The new task as it was asked for."""

    goal: str
    deliverables: tuple[str, ...]
    labels: tuple[str, ...]
    priority: int


class TaskReady(Payload):
    """Nothing to add: the event's node is the task."""


class TaskClaimed(Payload):
    """Who holds the task, and the token of this claim."""

    agent: str
    token: int


class TaskReleased(Payload):
    """Who held the task, and why it was released."""

    agent: str | None = None
    reason: str | None = None


class TaskStarted(Payload):
    """Data from whoever started the task."""

    context: Any = None


class TaskUpdated(Payload):
    """The fields that changed, with their new values."""

    changes: dict[str, Any]


class TaskBlocked(Payload):
    """What blocks the task."""

    reason: str
    required_knowledge: tuple[str, ...] = ()


class TaskUnblocked(Payload):
    """The state that the task went back to."""

    state: str


class TaskSubmitted(Payload):
    """The result as the agent reports it."""

    result: str | None = None


class TaskNeedsContinuation(Payload):
    """Why the work was sent back: the gate, what it said, and earlier attempts."""

    reason: str | None = None
    gate: str | None = None
    output: str | None = None
    attempts: tuple[dict[str, Any], ...] = ()


class TaskCompleted(Payload):
    """The result."""

    result: str | None = None
    artifacts: tuple[str, ...] = ()


class TaskFailed(Payload):
    """What went wrong."""

    error: str | None = None


class TaskCancelled(Payload):
    """Why it was cancelled."""

    reason: str | None = None


class TaskDeleted(Payload):
    """How many edges were removed with it."""

    edges_removed: int


class DependencyAdded(Payload):
    """`from_id` now depends on `to_id`."""

    from_id: str
    to_id: str
    edge_type: str


class DependencyRemoved(Payload):
    """`from_id` no longer depends on `to_id`."""

    edge_id: str
    from_id: str
    to_id: str


class DependencySatisfied(Payload):
    """The task that can continue, and the last one it waited for."""

    dependent_task_id: str
    completed_task_id: str


class HookError(Payload):
    """Which hook failed, how, and at which event."""

    hook_name: str
    error: str
    original_event: Event


class ActionError(Payload):
    """Which action could not be carried out, and why."""

    action_type: str
    error: str
    payload: Any


class AgentMetrics(Payload):
    """An agent's finished task in figures."""

    goal: str
    labels: tuple[str, ...]
    priority: int
    duration_ms: int | None
    deliverables: tuple[str, ...]


class CascadeLimit(Payload):
    """Where a chain of hooks was cut, and which hooks did not run."""

    depth: int
    limit: int
    event_seq: int
    hooks: tuple[str, ...]


class AttentionNeeded(Payload):
    """What waits for a person, or what they should know.

    `key` names it for as long as it `waits`; what does not wait is over when it is told.
    """

    kind: str
    id: str
    since: str
    message: str
    command: str
    key: str
    waits: bool
    outcome: str | None = None
    reason: str | None = None


class AttentionOver(Payload):
    """What waited, under the key that it was announced with."""

    kind: str
    id: str
    since: str
    message: str
    command: str
    key: str


class SessionStart(Payload):
    """The session that begins."""

    session: str
    goal: str | None = None
    agent: str | None = None
    iteration: int = 1
    task_id: str | None = None
    task_content: str | None = None


class Iteration(Payload):
    """The iteration that begins."""

    session: str
    iteration: int
    agent: str | None = None
    task_id: str | None = None
    task_content: str | None = None


class IterationDone(Iteration):
    """The iteration that ended, and the files that git saw change in it."""

    files_modified: tuple[str, ...] = ()


class SessionEnd(Payload):
    """How the session ended."""

    session: str
    outcome: str
    reason: str | None = None
    message: str | None = None
    iterations: int = 0
    turns: int = 0
    resumable: bool = False
    agent: str | None = None
    task_id: str | None = None
    task_content: str | None = None


class TaskDone(Payload):
    """A task that was completed during the session."""

    session: str
    iteration: int
    task_id: str
    task_content: str
    agent: str | None = None


class IterationError(Iteration, kw_only=True):
    """The iteration that failed."""

    error: str


class ValidationResult(Payload):
    """One validation rule's finding."""

    rule_name: str
    passed: bool
    message: str | None = None


class CompletionPromise(Payload):
    """A completion signal found in the agent's own text."""

    type: Literal["COMPLETE", "CONTINUE", "BLOCKED", "ESCALATE"]
    detected: bool
    content: str
    detected_at: str | None = None


class AgentContext(Payload):
    """What a stop hook decides on."""

    task_id: str | None
    iteration: int
    execution_phase: str | None = None
    files_modified: tuple[str, ...] = ()
    validation_results: tuple[ValidationResult, ...] = ()
    completion_promises: tuple[CompletionPromise, ...] = ()
    agent_output: str | None = None
    draft_content: str | None = None
    draft_type: str | None = None
    work: dict[str, Any] | None = None
    session: str | None = None
    agent: str | None = None
    task_content: str | None = None


class GateContext(Payload, rename=None):
    """What a gate checks. Its fields keep the names that gate authors know."""

    task_id: str
    task_title: str
    task_path: str
    task_type: str | None
    branch_name: str
    base_branch: str
    worktree: str
    agent_name: str
    commits_count: int
    extra: dict[str, Any] = {}


class IterationStart(Payload):
    """An iteration of a run begins."""

    run_id: str
    iteration: int
    timestamp: str


class IterationEnd(IterationStart):
    """An iteration of a run ends."""

    status: Literal["waiting", "completed", "failed"]


class RunNotice(Payload):
    """A run and its status."""

    run_id: str
    flow: str
    status: str
    error: str | None = None


class EffectNotice(Payload):
    """An effect of a run and its status."""

    run_id: str
    flow: str
    effect_id: str
    step: str
    kind: str
    status: str
    metadata: dict[str, Any] = {}
    error: str | None = None
    question: str | None = None


class ToolCall(Payload):
    """A tool call that has not happened yet."""

    tool: str
    input: dict[str, Any]
    session: str | None = None
    agent: str | None = None


class ToolResult(ToolCall):
    """A tool call that has happened."""

    result: Any = None


class Prompt(Payload):
    """A prompt that has not been sent yet."""

    prompt: str
    session: str | None = None
    agent: str | None = None


def payload_of(event: Event) -> Payload:
    """An event's data as the type that its point declares; BadInput for undeclared types."""
    point = POINTS.get(event.type)
    if point is None:
        raise BadInput(f"no payload type is declared for {event.type} events")
    kind: type[Payload] = globals()[point.payload]
    return typed.convert(event.data, kind)
