"""What the API takes: the parameters of its addresses, and the bodies of its verbs."""

from __future__ import annotations

from typing import Any, Literal, dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Given(msgspec.Struct, rename="camel", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a request brings; an unknown field is an error."""


class Nothing(Given):
    """For addresses that take no parameters."""


class ListWanted(Given):
    """Which part of a list; `before` is the `next` of the part that is shown."""

    limit: int = 100
    before: str | None = None


class SessionsWanted(ListWanted):
    """Which sessions; `runs` are those that are named: `R-1,R-7`."""

    status: str | None = None
    runs: str | None = None


class RunsWanted(ListWanted):
    """Which runs."""

    status: str | None = None
    flow: str | None = None


class RunWanted(Given):
    """Which chapter of a run; the newest if none is named."""

    chapter: int | None = None


class TasksWanted(Given):
    """Which tasks: `all` has those that are over, too; `after` is the `next` of what is shown.

    `ids` are those that are named: `T-1,T-3`.
    """

    state: str | None = None
    label: str | None = None
    type: str | None = None
    all: bool = False
    ids: str | None = None
    after: str | None = None
    limit: int = 200


class GraphWanted(Given):
    """Which tasks to draw: what is open, or what one task depends on and holds up."""

    focus: str | None = None
    all: bool = False
    limit: int = 2000


class EventsWanted(Given):
    """Which events: older than `before`, newer than `after`, of types and a node."""

    before: int | None = None
    after: int | None = None
    types: str | None = None
    node: str | None = None
    limit: int = 200


class SearchWanted(Given):
    """What to search for."""

    q: str = ""
    limit: int = 50


class FeedWanted(Given):
    """How many bytes of the end of what was told to begin with."""

    tail: int = 64 * 1024


class InsightsWanted(Given):
    """Which facts count and how they are split: `by` is a list such as `week,agent`.

    `since` and `until` are moments in UTC. `table` is the one that is wanted; without it, all.
    """

    since: str | None = None
    until: str | None = None
    type: str | None = None
    agent: str | None = None
    by: str | None = None
    table: str | None = None


class InsightFactsWanted(InsightsWanted):
    """The facts behind a figure: `match` is JSON, the value that each column has to have."""

    match: str = "{}"
    limit: int = 200


class StreamWanted(Given):
    """The position in the log after which the stream begins; without one it begins now."""

    after: int | None = None


# Bodies


class LineComment(Given):
    """What a person says about a line of a diff: its number after the change, or before it."""

    path: str
    line: int
    text: str
    side: Literal["new", "old"] = "new"


class ApprovalGiven(Given):
    """An approval; `head` is the commit that the person saw, if the gate asked about one."""

    comment: str | None = None
    head: str | None = None


class RejectionGiven(Given):
    """A rejection; the comments become what the agent is asked to fix."""

    comment: str | None = None
    lines: list[LineComment] = []
    head: str | None = None


class OverrideGiven(Given):
    """A gate to bypass, and why; it stays on record."""

    gate: str
    reason: str


class AnswerGiven(Given):
    """The answer to a breakpoint."""

    effect_id: str
    answer: bool
    note: str | None = None


class ReasonGiven(Given):
    """Why; it is recorded."""

    reason: str | None = None


class StopGiven(Given):
    """Whether to stop at once, and not after the turn."""

    now: bool = False


class MessageGiven(Given):
    """A message to a session's agent."""

    text: str


class ResumeGiven(Given):
    """New limits by name, such as `iterations` or `usd`, and a message for the agent."""

    limits: dict[str, float] = {}
    message: str | None = None


class SessionGiven(Given):
    """A session to start: on a goal, or on a task."""

    goal: str | None = None
    task: str | None = None
    agent: str | None = None
    name: str | None = None
    limits: dict[str, float] = {}
    plan: bool = False


class TaskGiven(Given):
    """A task to add."""

    goal: str
    type: str | None = None
    labels: list[str] = []
    priority: int | None = None
    depends_on: list[str] = []
    parent: str | None = None


class ChangesGiven(Given):
    """What to change of a task: fields as they are called in a task, and its state.

    `state` is ready, active, blocked, failed or cancelled.
    """

    changes: dict[str, Any] = {}
    state: str | None = None
    reason: str | None = None


class DependenciesGiven(Given):
    """Tasks that a task depends on from now on, and those it no longer depends on."""

    add: list[str] = []
    remove: list[str] = []


class OrderGiven(Given):
    """Tasks in the order in which they shall be taken; their priorities change for that."""

    tasks: list[str]


class TrialGiven(Given):
    """A condition, and the recorded event to try it on; `hook` is whose variables it has."""

    when: str
    seq: int
    hook: str | None = None
