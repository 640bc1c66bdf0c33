"""Every hook point, and all that is true of it: rule, payload, variables, when it fires, delivery.

This is the one place where points are declared; nothing here has a body. The payload types
live in `hookline.domain.payloads`. `hookline points` and docs/points.md are written from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.domain import payloads as p

REACT, FEED, GATE, DECIDE, STEER, GUARD = "react", "feed", "gate", "decide", "steer", "guard"

# The stages of a session, at which it fires its points: before its first prompt, before each
# prompt, when a turn failed, before the work is validated, after stop hooks decided, at the end.
START, PROMPT, FAILURE = "start", "prompt", "failure"
VALIDATION, JUDGED, END = "validation", "judged", "end"
# Where piped output goes: nowhere, into the answer of whoever fires the point, or into the next
# prompt of the session; a hook with `deliver: now` can have it told at once instead.
NOWHERE, ANSWER, HELD, HELD_OR_NOW = "", "answer", "held", "held or now"


class Variable(Immutable):
    """A template variable. `free` text may hold anything, so it never becomes shell code.

    `fields` are those of a payload that hold its value. `begins` is the sign that every value
    begins with, where there is one.
    """

    name: str
    free: bool
    doc: str
    fields: str = ""
    begins: str = ""

    @property
    def env(self) -> str:
        """The environment variable that carries the value."""
        return f"HOOKLINE_{self.name.upper()}"


class Point(Immutable):
    """A place in the work of an agent where hooks run.

    It `fires` by itself: as an event of the log of that name, besides another event (`fired_by`),
    at a `stage` of a session, or by a flow of Hookline's own. `delivery` says where piped output
    goes. A gate that `holds` work keeps it from continuing. An event that `changes` the task graph,
    and one that is a `report`, is written by Hookline alone. At one that `notifies`, people are
    told what waits for them; what fails there is not told there again. `defaults` are the built-in
    hooks of a point that the configuration does not mention.
    """

    name: str
    rule: str
    payload: str
    variables: tuple[str, ...]
    timeout: float
    fires: bool
    doc: str
    fired_by: str = ""
    stage: str = ""
    delivery: str = NOWHERE
    holds: bool = False
    changes: bool = False
    report: bool = False
    notifies: bool = False
    defaults: tuple[str, ...] = ()


VARIABLES: dict[str, Variable] = {
    v.name: v
    for v in (
        Variable("point", False, "the point that fires"),
        Variable("hook", True, "this hook's name"),
        Variable("project", True, "the project's root folder", begins="/"),
        Variable("idempotency_key", False, "the same for every attempt at this call"),
        Variable("session", True, "the session's name", "session"),
        Variable("iteration", False, "the iteration's number, from 1", "iteration"),
        Variable("task_id", False, "the task's id, such as T-12", "taskId task_id"),
        Variable("task_content", True, "the task's goal", "taskContent"),
        Variable("task_title", True, "the first line of the task's goal", "task_title"),
        Variable("task_type", True, "the task's type", "task_type"),
        Variable("task_labels", True, "the task's labels, separated by commas"),
        Variable("task_path", True, "the task as Markdown, in its worktree", "task_path", "/"),
        Variable("event_type", False, "the event's type"),
        Variable("event_seq", False, "the event's position in the log"),
        Variable("event_data", True, "the event's data as JSON", begins="{"),
        Variable("triggered_by", True, "the user or agent that caused the event"),
        Variable("error", True, "the error message", "error"),
        Variable("agent", True, "the agent's name", "agent agent_name"),
        Variable("agent_output", True, "the agent's text of this iteration", "agentOutput"),
        Variable("branch", True, "the task's branch", "branch_name"),
        Variable("base_branch", True, "the branch that the work is merged into", "base_branch"),
        Variable("worktree", True, "the folder of the task's worktree", "worktree", "/"),
        Variable("commits_count", False, "how many commits the branch adds", "commits_count"),
        Variable("run_id", False, "the run's id", "runId"),
        Variable("run_dir", True, "a folder that the run's hooks may use freely", begins="/"),
        Variable("flow", True, "the flow's name", "flow"),
        Variable("status", False, "the run's or effect's status", "outcome status"),
        Variable("effect_id", True, "the effect's id", "effectId"),
        Variable("effect_kind", False, "the effect's kind", "kind"),
        Variable("question", True, "the question that a breakpoint asks", "question"),
        Variable("tool", True, "the tool's name", "tool"),
        Variable("tool_input", True, "the tool's input as JSON", begins="{"),
        Variable("prompt", True, "the prompt's text", "prompt"),
        Variable("kind", False, "what waits, such as session, limit, task, gate, run or hook"),
        Variable("id", True, "the task, session, run or hook that waits"),
        Variable("since", False, "since when it waits"),
        Variable("message", True, "what waits and why, in a sentence"),
        Variable("command", True, "what to type"),
        Variable("outcome", False, "how the session ended, such as completed or escalated"),
        Variable("reason", True, "why the session ended or waits"),
    )
}

COMMON = ("point", "hook", "project", "idempotency_key", "session")
EVENT = (*COMMON, "event_type", "event_seq", "event_data", "triggered_by")
TASK = (*EVENT, "task_id", "task_content", "task_title", "task_type", "task_labels")
LOOP = (*COMMON, "iteration", "agent")
WAITING = (*TASK, "kind", "id", "since", "message", "command")
RUN = (*COMMON, "run_id", "flow", "status")
STEERING = (*RUN, "iteration", "run_dir")
EFFECT = (*RUN, "effect_id", "effect_kind")
WORK = (
    *COMMON,
    *("task_id", "task_content", "task_title", "task_type", "task_path"),
    *("branch", "base_branch", "worktree", "agent", "commits_count"),
)
TOOL = (*COMMON, "tool", "tool_input", "agent", "iteration")

POINTS: dict[str, Point] = {}


def _point(
    rule: str, variables: tuple[str, ...], *, name: str | None = None, **more: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare a point; `more` are fields of `Point`."""

    def declare(spec: Callable[..., None]) -> Callable[..., None]:
        payload = str(spec.__annotations__["payload"]).removeprefix("p.")
        given = {"timeout": 30, "fires": True, "doc": spec.__doc__ or "", **more}
        point = Point(name or spec.__name__, rule, payload, variables, **given)
        POINTS[point.name] = point
        return spec

    return declare


_task_change = _point(REACT, TASK, changes=True)
_task_event = _point(REACT, TASK)


# The life of a task. Hooks run after the change is durable; their actions run after all of them.


@_task_change
def task_created(payload: p.TaskCreated) -> None:
    """A task was added to the graph."""


@_task_change
def task_ready(payload: p.TaskReady) -> None:
    """A task has no unmet dependency and can be worked on."""


@_task_change
def task_claimed(payload: p.TaskClaimed) -> None:
    """An agent took a task, with a lease and a token."""


@_task_change
def task_released(payload: p.TaskReleased) -> None:
    """A claim was released, or its lease expired."""


@_task_change
def task_started(payload: p.TaskStarted) -> None:
    """Work on a task began."""


@_task_change
def task_updated(payload: p.TaskUpdated) -> None:
    """A task's fields changed."""


@_task_change
def task_blocked(payload: p.TaskBlocked) -> None:
    """A task is blocked; the reason says what is missing."""


@_task_change
def task_unblocked(payload: p.TaskUnblocked) -> None:
    """A task is no longer blocked."""


@_task_change
def task_submitted(payload: p.TaskSubmitted) -> None:
    """An agent says that a task is done; its gates have not passed yet."""


@_task_change
def task_needs_continuation(payload: p.TaskNeedsContinuation) -> None:
    """Submitted work was sent back and waits for someone to continue it."""


@_task_change
def task_completed(payload: p.TaskCompleted) -> None:
    """A task is done."""


@_task_change
def task_failed(payload: p.TaskFailed) -> None:
    """A task was marked as failed."""


@_task_change
def task_cancelled(payload: p.TaskCancelled) -> None:
    """A task was cancelled."""


@_task_change
def task_deleted(payload: p.TaskDeleted) -> None:
    """A task and its edges were removed."""


@_task_change
def dependency_added(payload: p.DependencyAdded) -> None:
    """A task now depends on another."""


@_task_change
def dependency_removed(payload: p.DependencyRemoved) -> None:
    """A task no longer depends on another."""


@_task_event
def dependency_satisfied(payload: p.DependencySatisfied) -> None:
    """The last unmet dependency of a task is met."""


# Hookline's reports about its own work.


@_point(REACT, (*TASK, "error"), report=True)
def hook_error(payload: p.HookError) -> None:
    """A hook failed or timed out; the others continued."""


@_point(REACT, (*EVENT, "error"), report=True)
def action_error(payload: p.ActionError) -> None:
    """An action of a hook could not be carried out."""


@_task_event
def agent_metrics(payload: p.AgentMetrics) -> None:
    """An agent's task was completed: how long it took and what it was."""


@_point(REACT, EVENT, report=True)
def cascade_limit(payload: p.CascadeLimit) -> None:
    """Hooks triggered other hooks too deeply; the chain was cut here."""


# What people are told while they do something else.


@_point(REACT, (*WAITING, "outcome", "reason"), report=True, notifies=True)
def attention_needed(payload: p.AttentionNeeded) -> None:
    """Something begins to wait for a person, a session ends, or a limit is near."""


@_point(REACT, WAITING, report=True, notifies=True)
def attention_over(payload: p.AttentionOver) -> None:
    """Something no longer waits for a person."""


# A session: hooks that talk to the agent. With `pipe_output` their text goes into its prompt.


@_point(FEED, (*COMMON, "agent"), timeout=60, stage=START, delivery=HELD)
def session_start(payload: p.SessionStart) -> None:
    """Once, before the first iteration. Piped output is held for the first prompt."""


@_point(FEED, LOOP, stage=PROMPT, delivery=ANSWER)
def pre_iteration(payload: p.Iteration) -> None:
    """Before each iteration. Piped output comes before the prompt, after what was held."""


@_point(FEED, LOOP, timeout=120, stage=JUDGED, delivery=HELD_OR_NOW)
def post_iteration(payload: p.IterationDone) -> None:
    """After each iteration that did not fail. Piped output is held for the next prompt."""


@_point(FEED, (*COMMON, "agent", "status"), timeout=60, stage=END)
def session_end(payload: p.SessionEnd) -> None:
    """Once, at every ending. Nothing is piped: no prompt follows."""


@_point(
    FEED,
    (*LOOP, "task_id", "task_content", "task_title", "task_type", "task_labels"),
    fired_by="task_completed",
    delivery=HELD,
)
def on_task_complete(payload: p.TaskDone) -> None:
    """A task was completed while the session runs. Piped output is held for the next prompt."""


@_point(FEED, (*LOOP, "error"), stage=FAILURE, delivery=ANSWER)
def on_error(payload: p.IterationError) -> None:
    """An iteration failed. Piped output is sent at once, as a recovery prompt."""


# Stopping: may the agent's loop end?


@_point(
    DECIDE, (*LOOP, "task_id", "task_content", "agent_output"), timeout=300, defaults=("checked",)
)
def stop(payload: p.AgentContext) -> None:
    """After each iteration and its validation: complete, continue, or escalate to a person."""


# Gates: may this work be submitted, may it be merged?


@_point(GATE, WORK, timeout=600, holds=True, defaults=("create_pr",))
def before_submit(payload: p.GateContext) -> None:
    """The agent's work is done and committed. All gates must pass before it is submitted."""


@_point(GATE, WORK, timeout=600)
def after_submit(payload: p.GateContext) -> None:
    """The work was submitted."""


@_point(GATE, WORK, timeout=600, holds=True)
def before_merge(payload: p.GateContext) -> None:
    """The work was submitted. All gates must pass before it is merged."""


@_point(GATE, WORK, timeout=600)
def after_merge(payload: p.GateContext) -> None:
    """The work is on the base branch."""


# Steering a run: which effects run now, and is there more to do?


@_point(STEER, STEERING, name="on-iteration-start", timeout=60, defaults=("native-orchestrator",))
def on_iteration_start(payload: p.IterationStart) -> None:
    """An iteration of a run begins: decide which pending effects run now, or wait."""


@_point(STEER, STEERING, name="on-iteration-end", timeout=60, defaults=("native-finalization",))
def on_iteration_end(payload: p.IterationEnd) -> None:
    """An iteration of a run ends: say whether another one is needed."""


# A run and its effects, for observers.


@_point(REACT, RUN, name="on-run-start", fired_by="run_started")
def on_run_start(payload: p.RunNotice) -> None:
    """A run of a flow began."""


@_point(REACT, RUN, name="on-run-complete", fired_by="run_completed")
def on_run_complete(payload: p.RunNotice) -> None:
    """A run of a flow reached its end."""


@_point(REACT, (*RUN, "error"), name="on-run-fail", fired_by="run_failed")
def on_run_fail(payload: p.RunNotice) -> None:
    """A run of a flow failed."""


@_point(REACT, EFFECT, name="on-effect-start", fired_by="effect_started")
def on_effect_start(payload: p.EffectNotice) -> None:
    """An effect of a run begins."""


@_point(REACT, (*EFFECT, "error"), name="on-effect-complete", fired_by="effect_resolved")
def on_effect_complete(payload: p.EffectNotice) -> None:
    """An effect of a run has its result."""


@_point(REACT, (*EFFECT, "question"), name="on-breakpoint", fired_by="effect_requested")
def on_breakpoint(payload: p.EffectNotice) -> None:
    """A run waits for a person's answer."""


# Guards on an agent's own tool calls.


@_point(GUARD, TOOL, timeout=10, fires=False)
def pre_tool_use(payload: p.ToolCall) -> None:
    """An agent is about to use a tool: allow, deny, ask, rewrite its input, or defer."""


@_point(GUARD, TOOL, timeout=10, fires=False)
def permission_request(payload: p.ToolCall) -> None:
    """An agent asks for a permission that a person would have to give."""


@_point(FEED, TOOL, timeout=10, fires=False, delivery=ANSWER)
def post_tool_use(payload: p.ToolResult) -> None:
    """An agent used a tool. Piped output goes to the agent."""


@_point(GUARD, (*COMMON, "agent", "prompt"), timeout=10, fires=False)
def prompt_submit(payload: p.Prompt) -> None:
    """A prompt is about to reach an agent."""


# Points that flows fire: who watches a session or a gate reads of their calls in its feed.
TOLD_IN_FEED = frozenset(
    point.name
    for point in POINTS.values()
    if point.rule in (FEED, GATE, DECIDE) and not point.fired_by
)
# The gates that work has to pass.
HOLDING = tuple(point.name for point in POINTS.values() if point.holds)
# The points at which people are told what waits for them.
NOTIFYING = tuple(point.name for point in POINTS.values() if point.notifies)


def points_at(stage: str) -> list[str]:
    """The points that a session fires at one of its stages, in their order."""
    return [point.name for point in POINTS.values() if point.stage == stage]


def delivery_of(point: str) -> str:
    """Where the piped output of a point goes."""
    found = POINTS.get(point)
    return found.delivery if found else NOWHERE


def rule_of(point: str) -> str:
    """The rule of a point; an event type of the user's own is reacted to."""
    found = POINTS.get(point)
    return found.rule if found else REACT
