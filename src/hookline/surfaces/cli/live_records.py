"""The records of a session's feed as types. What does not fit is not shown: a feed is a file."""

from __future__ import annotations

from typing import Any

import msgspec

from hookline.domain.moments import seconds


class _Record(msgspec.Struct, rename="camel", kw_only=True):
    """Unknown fields are left alone; missing ones have a value that shows nothing."""


class Started(_Record):
    """A session begins."""

    name: str
    goal: str = ""
    task_id: str = ""
    agent: str | None = None
    run_id: str = ""


class Used(_Record):
    """How much of a limit is used."""

    name: str
    used: float
    allowed: float


class Tasks(_Record):
    """The tasks that a session made for itself."""

    done: int = 0
    all: int = 0
    ready: int = 0


class Iteration(_Record):
    """An iteration begins."""

    iteration: int
    countdown: list[Used] = []
    tasks: Tasks = msgspec.field(default_factory=Tasks)


class IterationEnded(_Record):
    """An iteration is over."""

    iteration: int
    status: str = "ok"
    error: str | None = None
    decision: str | None = None
    reason: str | None = None
    hook: str | None = None
    files_modified: list[str] = []
    usd: float = 0.0
    tokens: int = 0


class HookStarted(_Record):
    """A hook is called."""

    point: str
    hook: str


class HookEnded(_Record):
    """A hook said something, failed, or was skipped."""

    point: str
    hook: str
    status: str = "ok"
    duration_ms: float = 0.0
    exit_code: int | None = None
    error: str | None = None
    stderr: str = ""
    answer: Any = None
    condition: str | None = None
    values: Any = None
    piped: bool = False


class TurnStarted(_Record):
    """The agent is given a prompt."""

    step: str = "turn"
    iteration: int | None = None


class Usage(_Record):
    """What a turn used, as its agent says."""

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None


class Wait(_Record):
    """The model takes no more for now."""

    kind: str = ""


class TurnEnded(_Record):
    """The agent is done with a prompt."""

    step: str = "turn"
    error: str | None = None
    tools: int = 0
    usage: Usage = msgspec.field(default_factory=Usage)
    wait: Wait | None = None
    files: list[str] | None = None


class Said(_Record):
    """Something that the agent says or does during its turn."""

    type: str
    text: str = ""
    name: str = ""
    detail: str = ""
    ok: bool = True


class ValidationStarted(_Record):
    """The rules are checked."""

    rules: list[str] = []


class Result(_Record):
    """What came of one rule."""

    rule_name: str
    passed: bool
    message: str | None = None
    duration_ms: float = 0.0


class ValidationEnded(_Record):
    """The rules were checked."""

    results: list[Result] = []


class Waits(_Record):
    """The session waits for its model."""

    reason: str = ""
    seconds: float = 0.0


class Paused(_Record):
    """The session rests until a person goes on with it."""


class Resumed(_Record):
    """The session goes on."""


class Ended(_Record):
    """The session is over, or over for now."""

    outcome: str
    reason: str = ""
    message: str = ""
    iterations: int = 0


_TYPES: dict[str, type[_Record]] = {
    "session_started": Started,
    "session_iteration": Iteration,
    "session_iteration_ended": IterationEnded,
    "hook_started": HookStarted,
    "hook_ended": HookEnded,
    "turn_started": TurnStarted,
    "turn_ended": TurnEnded,
    "agent": Said,
    "validation_started": ValidationStarted,
    "validation_ended": ValidationEnded,
    "session_waits": Waits,
    "session_paused": Paused,
    "session_resumed": Resumed,
    "session_ended": Ended,
}


def read(line: dict[str, Any]) -> tuple[Any, float] | None:
    """A line of a feed as its record and its moment; None if it is nothing to show."""
    kind = _TYPES.get(line["type"])
    if kind is None:
        return None
    try:
        return msgspec.convert(line["data"], kind), seconds(line["timestamp"])
    except (msgspec.ValidationError, KeyError, TypeError, ValueError, OverflowError):
        return None
