"""What a session asks of the store and of hooks, and the answers.

Journals hold all of it, and those of older versions lack some: what may be missing has a default,
or is read with `get`.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

import msgspec

Amounts = dict[str, int | float]


class SessionRequest(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A verb and its arguments: `brief` takes the first three, `wait` from `paused` to `seconds`.

    `ended` is how an iteration or the session ended. `again` claims the task again, `messages` asks
    for people's messages as well.
    """

    verb: str
    iteration: int = 0
    lease: float = 0.0
    countdown: list[Any] = []
    ended: Any = None
    checkpoint: Any = None
    unheard: int = 0
    paused: bool = False
    planned: bool = False
    used: Any = {}
    reason: str = ""
    until: float | None = None
    seconds: float = 0.0
    again: bool = False
    messages: bool = False


class HookOutput(TypedDict):
    """A hook's output for the agent; `deliver` says when, where its point lets it choose."""

    hook: str
    point: str
    text: str
    deliver: NotRequired[str]


class FedOutput(TypedDict):
    """The output of some points' hooks for the agent now, and the word that frames it.

    `by` is who interrupted them.
    """

    items: list[HookOutput]
    nonce: str
    by: NotRequired[str]


class Inbox(TypedDict):
    """What people asked for so far: to `stop` or `pause`, other limits, and their messages."""

    now: str
    wants: str | None
    why: str | None
    messages: list[str]
    limits: Amounts


class LostTask(TypedDict, total=False):
    """How a session ends that has lost its task, and why; empty if it still has it."""

    outcome: str
    lost: str


class TaskDetails(TypedDict, total=False):
    """What belongs to a task besides its goal."""

    deliverables: list[str]
    notes: list[str]


class ListedTask(TypedDict):
    """A task below the session's task."""

    id: str
    goal: str
    state: str
    waitsFor: list[str]


class TasksBelow(TypedDict):
    """The tasks below the session's task: how many are done, and those that are shown."""

    done: int
    all: int
    ready: list[ListedTask]
    waiting: list[ListedTask]
    merged: list[ListedTask]


class Continued(TypedDict):
    """Why the work was sent back, or what a person was asked about it."""

    sentBack: str
    asked: NotRequired[bool]


class Brief(Inbox, Continued):
    """What the prompt of an iteration is made of."""

    lost: str | None
    outcome: NotRequired[str]
    held: list[HookOutput]
    nonce: str
    tasks: TasksBelow
    notes: list[dict[str, str]]
    details: TaskDetails


class Drained(TypedDict):
    """Held output that is delivered now, and messages of people."""

    held: list[HookOutput]
    messages: list[str]
    nonce: str


class Spent(TypedDict):
    """Money and tokens."""

    usd: float
    tokens: int


class Closed(Inbox):
    """An iteration that is over, and what the session has spent so far."""

    outcome: NotRequired[str]
    lost: NotRequired[str]
    checkpoint: str | None
    spent: Spent
    used: Spent


class Ending(TypedDict):
    """How a session ended; `waitsFor` are the planned tasks that come before its work.

    `problem` is why its agent cannot work until a person has repaired something, `beside` the
    session whose change cannot be told from its own.
    """

    session: NotRequired[str]
    outcome: str
    reason: str
    message: str
    iterations: NotRequired[int]
    turns: int
    conversation: NotRequired[str | None]
    resumable: bool
    waitsFor: NotRequired[list[str]]
    problem: NotRequired[dict[str, str]]
    beside: NotRequired[str]


class ChecksTold(TypedDict, total=False):
    """What will check the work, in lines for the agent, and what it must not change.

    `proof` is the stop hook that decides whether a promise counts, `changes` whether it looks for
    changed files.
    """

    stop: list[str]
    proof: str
    changes: bool
    gates: list[str]
    commands: list[str]
    others: list[str]
    runnable: bool
    frozen: list[str]
    trusted: bool
    files: list[str]
    uncommitted: str
