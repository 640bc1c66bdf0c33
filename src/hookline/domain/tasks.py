"""Tasks: their fields, their states, and the one table of transitions between them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from hookline.domain.text.numbers import is_number
from hookline.errors import IllegalTransition, UnknownTask

CREATED, READY, ACTIVE, BLOCKED = "created", "ready", "active", "blocked"
SUBMITTED, NEEDS_CONTINUATION = "submitted", "needs_continuation"
COMPLETED, FAILED, CANCELLED = "completed", "failed", "cancelled"

_OVER = (COMPLETED, FAILED, CANCELLED)
STATES = (CREATED, READY, ACTIVE, BLOCKED, SUBMITTED, NEEDS_CONTINUATION, *_OVER)
OPEN = frozenset(STATES).difference(_OVER)
# A dependency in one of these states no longer holds anything back.
SETTLED = frozenset({COMPLETED, CANCELLED})

# What people are shown of states that have no plain name.
WORDS = {CREATED: "not ready", NEEDS_CONTINUATION: "sent back"}

DEFAULT_PRIORITY = 2
# What a person says of a task that changes no files, such as a review.
NO_CHANGES = "none"
# The label of tasks whose result is an opinion, not a change.
REVIEW = "review"

DEPENDS_ON = "depends_on"
SPAWNED_BY = "spawned_by"

# A task that was put there for a reason.
HELD_UP = frozenset({BLOCKED, NEEDS_CONTINUATION})
WORKABLE = frozenset({READY, ACTIVE, NEEDS_CONTINUATION})

# verb -> (states it may be used in, states it may lead to, the event that records it).
# Two targets: the verb chooses by the task's unmet dependencies.
TRANSITIONS: Mapping[str, tuple[frozenset[str], tuple[str, ...], str]] = {
    "ready": (frozenset({CREATED}), (READY,), "task_ready"),
    "start": (frozenset({READY, NEEDS_CONTINUATION}), (ACTIVE,), "task_started"),
    "release": (WORKABLE | {CREATED}, (READY, CREATED, NEEDS_CONTINUATION), "task_released"),
    "block": (WORKABLE | {CREATED, SUBMITTED}, (BLOCKED,), "task_blocked"),
    "unblock": (frozenset({BLOCKED}), (READY, CREATED), "task_unblocked"),
    "submit": (WORKABLE, (SUBMITTED,), "task_submitted"),
    "continue": (WORKABLE | {SUBMITTED}, (NEEDS_CONTINUATION,), "task_needs_continuation"),
    "complete": (WORKABLE | {SUBMITTED}, (COMPLETED,), "task_completed"),
    "fail": (OPEN, (FAILED,), "task_failed"),
    "cancel": (OPEN | {FAILED}, (CANCELLED,), "task_cancelled"),
}


def shown_state(state: str) -> str:
    """A state in the words that people are shown."""
    return WORDS.get(state, state)


class Claim(msgspec.Struct, rename="camel", frozen=True):
    """Who works on a task, until when, and the token that every write of theirs must carry."""

    agent: str
    token: int
    lease_until: str


class Task(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A task as every surface shows it."""

    id: str
    goal: str
    state: str
    labels: tuple[str, ...] = ()
    priority: int = DEFAULT_PRIORITY
    type: str | None = None
    desired_deliverables: tuple[str, ...] = ()
    parent_task_id: str | None = None
    depends_on: tuple[str, ...] = ()
    created_at: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    result: str | None = None
    artifacts: tuple[str, ...] = ()
    block_reason: str | None = None
    required_knowledge: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    claim: Claim | None = None
    pr_url: str | None = None
    commits_count: int | None = None
    turns_used: int | None = None
    changes: str | None = None


class Edge(msgspec.Struct, rename="camel", frozen=True):
    """`from_id` depends on, or was spawned by, `to_id`."""

    from_id: str
    to_id: str
    type: str = DEPENDS_ON

    @property
    def id(self) -> str:
        """The edge's name, which is what it connects."""
        return edge_id(self.from_id, self.to_id, self.type)


def edge_id(from_id: str, to_id: str, edge_type: str = DEPENDS_ON) -> str:
    """An edge is named by its ends: `T-2:depends_on:T-1`."""
    return f"{from_id}:{edge_type}:{to_id}"


def task_id(number: int) -> str:
    """The number in the store, as people write it."""
    return f"T-{number}"


def is_task_id(text: str) -> bool:
    """Whether a text looks like `T-12`."""
    return text.startswith("T-") and is_number(text[2:])


@lru_cache(maxsize=256)  # one change asks for the same few again and again
def task_number(text: str) -> int:
    """`T-12`, `t-12` or `12` as the number in the store."""
    digits = text[2:] if text[:2] in ("T-", "t-") else text
    if not is_number(digits):
        help = "task ids look like T-12; `hookline task list --all` shows every task"
        raise UnknownTask(f"{text[:80]!r} is not a task id", help=help)
    return int(digits)


def check_transition(task: Task, verb: str) -> str:
    """The event type that records `verb` on `task`, or an error that says what is possible."""
    sources, _, event_type = TRANSITIONS[verb]
    if task.state not in sources:
        raise IllegalTransition(
            f"cannot {verb} {task.id}: it is {shown_state(task.state)}", help=_possible(task)
        )
    return event_type


def _possible(task: Task) -> str:
    verbs = [verb for verb, (sources, _, _) in TRANSITIONS.items() if task.state in sources]
    if not verbs:
        return f"{shown_state(task.state)} is final; add a new task instead"
    return f"a task that is {shown_state(task.state)} allows: {', '.join(verbs)}"
