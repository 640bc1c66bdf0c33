"""Every hook point: its name, its rule, the payload its hooks receive, its variables, its doc.

This is the one place where points are declared; nothing here has a body. The payload types
live in `hookline.domain.payloads`. `hookline points` and docs/points.md are written from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.domain import payloads as p

REACT, FEED, GATE, DECIDE, STEER, GUARD = "react", "feed", "gate", "decide", "steer", "guard"


class Variable(NamedTuple):
    """A template variable. `free` text may hold anything, so it never becomes shell code.

    `begins` is the sign that every value begins with, where there is one.
    """

    name: str
    free: bool
    doc: str
    begins: str = ""

    @property
    def env(self) -> str:
        """The environment variable that carries the value."""
        return f"HOOKLINE_{self.name.upper()}"


class Point(NamedTuple):
    """A place in the work of an agent where hooks run."""

    name: str
    rule: str
    payload: str
    variables: tuple[str, ...]
    timeout: float
    fires: bool
    doc: str


VARIABLES: dict[str, Variable] = {
    v.name: v
    for v in (
        Variable("point", False, "the point that fires"),
        Variable("hook", True, "this hook's name"),
        Variable("project", True, "the project's root folder", "/"),
        Variable("idempotency_key", False, "the same for every attempt at this call"),
        Variable("session", True, "the session's name"),
        Variable("iteration", False, "the iteration's number, from 1"),
        Variable("task_id", False, "the task's id, such as T-12"),
        Variable("task_content", True, "the task's goal"),
        Variable("task_title", True, "the first line of the task's goal"),
        Variable("task_type", True, "the task's type"),
        Variable("task_labels", True, "the task's labels, separated by commas"),
        Variable("task_path", True, "the task as a Markdown file in its worktree", "/"),
        Variable("event_type", False, "the event's type"),
        Variable("event_seq", False, "the event's place in the log"),
        Variable("event_data", True, "the event's data as JSON", "{"),
        Variable("triggered_by", True, "the user or agent that caused the event"),
        Variable("error", True, "the error message"),
        Variable("agent", True, "the agent's name"),
        Variable("agent_output", True, "the agent's text of this iteration"),
        Variable("branch", True, "the task's branch"),
        Variable("base_branch", True, "the branch that the work goes into"),
        Variable("worktree", True, "the folder of the task's worktree", "/"),
        Variable("commits_count", False, "how many commits the branch adds"),
        Variable("run_id", False, "the run's id"),
        Variable(
            "run_dir", True, "the run's own folder, where its hooks may keep what they like", "/"
        ),
        Variable("flow", True, "the flow's name"),
        Variable("status", False, "the run's or effect's status"),
        Variable("effect_id", True, "the effect's id"),
        Variable("effect_kind", False, "the effect's kind"),
        Variable("question", True, "the question that a breakpoint asks"),
        Variable("tool", True, "the tool's name"),
        Variable("tool_input", True, "the tool's input as JSON", "{"),
        Variable("prompt", True, "the prompt's text"),
    )
}

COMMON = ("point", "hook", "project", "idempotency_key", "session")
EVENT = (*COMMON, "event_type", "event_seq", "event_data", "triggered_by")
TASK = (*EVENT, "task_id", "task_content", "task_title", "task_type", "task_labels")
LOOP = (*COMMON, "iteration", "agent")
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
    rule: str,
    variables: tuple[str, ...],
    *,
    name: str | None = None,
    timeout: float = 30,
    fires: bool = False,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def declare(spec: Callable[..., None]) -> Callable[..., None]:
        payload = str(spec.__annotations__["payload"]).removeprefix("p.")
        point = Point(
            name or spec.__name__, rule, payload, variables, timeout, fires, spec.__doc__ or ""
        )
        POINTS[point.name] = point
        return spec

    return declare


_task_event = _point(REACT, TASK, fires=True)
_notice = _point(REACT, EVENT, fires=True)


# The life of a task. Hooks run after the change is durable; their actions run after all of them.


@_task_event
def task_created(payload: p.TaskCreated) -> None:
    """A task was added to the graph."""


@_task_event
def task_ready(payload: p.TaskReady) -> None:
    """A task has no unmet dependency and can be worked on."""


@_task_event
def task_claimed(payload: p.TaskClaimed) -> None:
    """An agent took a task, with a lease and a token."""


@_task_event
def task_released(payload: p.TaskReleased) -> None:
    """A claim was given back, or its lease ran out."""


@_task_event
def task_started(payload: p.TaskStarted) -> None:
    """Work on a task began."""


@_task_event
def task_updated(payload: p.TaskUpdated) -> None:
    """A task's fields changed."""


@_task_event
def task_blocked(payload: p.TaskBlocked) -> None:
    """A task cannot go on and says what it lacks."""


@_task_event
def task_unblocked(payload: p.TaskUnblocked) -> None:
    """What a task lacked is there."""


@_task_event
def task_submitted(payload: p.TaskSubmitted) -> None:
    """An agent says that a task is done; its gates have not passed yet."""


@_task_event
def task_needs_continuation(payload: p.TaskNeedsContinuation) -> None:
    """Submitted work came back and waits for someone to go on with it."""


@_task_event
def task_completed(payload: p.TaskCompleted) -> None:
    """A task is done."""


@_task_event
def task_failed(payload: p.TaskFailed) -> None:
    """A task was given up because of an error."""


@_task_event
def task_cancelled(payload: p.TaskCancelled) -> None:
    """A task is no longer wanted."""


@_task_event
def task_deleted(payload: p.TaskDeleted) -> None:
    """A task and its edges were removed."""


@_task_event
def dependency_added(payload: p.DependencyAdded) -> None:
    """A task now depends on another."""


@_task_event
def dependency_removed(payload: p.DependencyRemoved) -> None:
    """A task no longer depends on another."""


@_task_event
def dependency_satisfied(payload: p.DependencySatisfied) -> None:
    """The last unmet dependency of a task is met."""


# Hookline's reports about its own work.


@_point(REACT, (*TASK, "error"), fires=True)
def hook_error(payload: p.HookError) -> None:
    """A hook failed or timed out; the others went on."""


@_point(REACT, (*EVENT, "error"), fires=True)
def action_error(payload: p.ActionError) -> None:
    """An action of a hook could not be carried out."""


@_task_event
def agent_metrics(payload: p.AgentMetrics) -> None:
    """An agent's task was completed: how long it took and what it was."""


@_notice
def cascade_limit(payload: p.CascadeLimit) -> None:
    """Hooks caused hooks too deeply; this chain was cut here."""


# A session: hooks that talk to the agent. With `pipe_output` their text goes into its prompt.


@_point(FEED, (*COMMON, "agent"), timeout=60, fires=True)
def session_start(payload: p.SessionStart) -> None:
    """Once, before the first iteration. Piped output is held for the first prompt."""


@_point(FEED, LOOP, fires=True)
def pre_iteration(payload: p.Iteration) -> None:
    """Before each iteration. Piped output comes before the prompt, after what was held."""


@_point(FEED, LOOP, timeout=120, fires=True)
def post_iteration(payload: p.IterationDone) -> None:
    """After each iteration that did not fail. Piped output is held for the next prompt."""


@_point(FEED, (*COMMON, "agent", "status"), timeout=60, fires=True)
def session_end(payload: p.SessionEnd) -> None:
    """Once, at every ending. Nothing is piped: no prompt follows."""


@_point(
    FEED, (*LOOP, "task_id", "task_content", "task_title", "task_type", "task_labels"), fires=True
)
def on_task_complete(payload: p.TaskDone) -> None:
    """A task was completed while the session runs. Piped output is held for the next prompt."""


@_point(FEED, (*LOOP, "error"), fires=True)
def on_error(payload: p.IterationError) -> None:
    """An iteration failed. Piped output is sent at once, as a recovery prompt."""


# Stopping: may the agent's loop end?


@_point(DECIDE, (*LOOP, "task_id", "task_content", "agent_output"), timeout=300, fires=True)
def stop(payload: p.AgentContext) -> None:
    """After each iteration and its validation: complete, continue, or escalate to a person."""


# Gates: may this work be submitted, may it be merged?


@_point(GATE, WORK, timeout=600, fires=True)
def before_submit(payload: p.GateContext) -> None:
    """The agent's work is done and committed. All gates must pass before it is submitted."""


@_point(GATE, WORK, timeout=600, fires=True)
def after_submit(payload: p.GateContext) -> None:
    """The work was submitted."""


@_point(GATE, WORK, timeout=600, fires=True)
def before_merge(payload: p.GateContext) -> None:
    """The work was submitted. All gates must pass before it is merged."""


@_point(GATE, WORK, timeout=600, fires=True)
def after_merge(payload: p.GateContext) -> None:
    """The work is on the base branch."""


# Steering a run: which effects run now, and is there more to do?


@_point(STEER, STEERING, name="on-iteration-start", timeout=60, fires=True)
def on_iteration_start(payload: p.IterationStart) -> None:
    """A tick of a run begins: decide which pending effects run now, or wait."""


@_point(STEER, STEERING, name="on-iteration-end", timeout=60, fires=True)
def on_iteration_end(payload: p.IterationEnd) -> None:
    """A tick of a run ends: say whether another one is needed."""


# A run and its effects, for observers.


@_point(REACT, RUN, name="on-run-start", fires=True)
def on_run_start(payload: p.RunNotice) -> None:
    """A run of a flow began."""


@_point(REACT, RUN, name="on-run-complete", fires=True)
def on_run_complete(payload: p.RunNotice) -> None:
    """A run of a flow reached its end."""


@_point(REACT, (*RUN, "error"), name="on-run-fail", fires=True)
def on_run_fail(payload: p.RunNotice) -> None:
    """A run of a flow failed."""


@_point(REACT, EFFECT, name="on-effect-start", fires=True)
def on_effect_start(payload: p.EffectNotice) -> None:
    """An effect of a run begins."""


@_point(REACT, (*EFFECT, "error"), name="on-effect-complete", fires=True)
def on_effect_complete(payload: p.EffectNotice) -> None:
    """An effect of a run has its result."""


@_point(REACT, (*EFFECT, "question"), name="on-breakpoint", fires=True)
def on_breakpoint(payload: p.EffectNotice) -> None:
    """A run waits for a person's answer."""


# Guards on an agent's own tool calls.


@_point(GUARD, TOOL, timeout=10)
def pre_tool_use(payload: p.ToolCall) -> None:
    """An agent is about to use a tool: allow, deny, ask, rewrite its input, or defer."""


@_point(GUARD, TOOL, timeout=10)
def permission_request(payload: p.ToolCall) -> None:
    """An agent asks for a permission that a person would have to give."""


@_point(FEED, TOOL, timeout=10)
def post_tool_use(payload: p.ToolResult) -> None:
    """An agent used a tool. Piped output is told to the agent."""


@_point(GUARD, (*COMMON, "agent", "prompt"), timeout=10)
def prompt_submit(payload: p.Prompt) -> None:
    """A prompt is about to reach an agent."""


# Points that flows fire: who watches a session or a gate reads of their calls in its feed.
TOLD_IN_FEED = frozenset(
    point.name
    for point in POINTS.values()
    if point.rule in (FEED, GATE, DECIDE) and point.name != on_task_complete.__name__
)


def rule_of(point: str) -> str:
    """The rule of a point; an event type of the user's own is reacted to."""
    found = POINTS.get(point)
    return found.rule if found else REACT
