"""The records of a session's feed as types. What does not fit is not shown: a feed is a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.sessions.turns import ModelWait
from hookline.domain.timestamps import seconds

if TYPE_CHECKING:
    from hookline.ports.feeds import FeedRecord


class _FeedPart(msgspec.Struct, rename="camel", kw_only=True):
    """Unknown fields are left alone; missing ones have a value that shows nothing."""


class _Record(_FeedPart, kw_only=True, tag_field="record"):
    """A record by its type, which is its tag; what it holds is next to the type in the feed."""


class Started(_Record, tag="session_started"):
    """A session begins."""

    name: str
    goal: str = ""
    task_id: str = ""
    agent: str | None = None
    run_id: str = ""


class Used(_FeedPart):
    """How much of a limit is used."""

    name: str
    used: float
    allowed: float


class Tasks(_FeedPart):
    """The tasks that a session made for itself."""

    done: int = 0
    all: int = 0
    ready: int = 0


class IterationStarted(_Record, tag="session_iteration"):
    """An iteration begins."""

    iteration: int
    countdown: list[Used] = []
    tasks: Tasks = msgspec.field(default_factory=Tasks)


class IterationEnded(_Record, tag="session_iteration_ended"):
    """An iteration is over."""

    iteration: int
    decision: str | None = None
    hook: str | None = None
    usd: float = 0.0
    tokens: int = 0


class HookStarted(_Record, tag="hook_started"):
    """A hook is called."""

    point: str
    hook: str


class HookEnded(_Record, tag="hook_ended"):
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


class TurnStarted(_Record, tag="turn_started"):
    """The agent is given a prompt."""

    step: str = "turn"


class TurnUsage(_FeedPart):
    """What a turn used, as its agent says."""

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    computed: bool = False


class TurnEnded(_Record, tag="turn_ended"):
    """The agent is done with a prompt."""

    step: str = "turn"
    error: str | None = None
    tools: int = 0
    usage: TurnUsage = msgspec.field(default_factory=TurnUsage)
    wait: ModelWait | None = None
    files: list[str] | None = None


class Said(_Record, tag="agent"):
    """Something that the agent says or does during its turn."""

    type: str
    text: str = ""
    name: str = ""
    detail: str = ""
    ok: bool = True


class ValidationStarted(_Record, tag="validation_started"):
    """The rules are checked."""

    rules: list[str] = []


class Result(_FeedPart):
    """What came of one rule."""

    rule_name: str
    passed: bool
    message: str | None = None
    duration_ms: float = 0.0


class ValidationEnded(_Record, tag="validation_ended"):
    """The rules were checked."""

    results: list[Result] = []


class Waits(_Record, tag="session_waits"):
    """The session waits for its model."""

    reason: str = ""
    seconds: float = 0.0


class Paused(_Record, tag="session_paused"):
    """The session rests until a person resumes it."""


class Resumed(_Record, tag="session_resumed"):
    """The session continues."""


class Ended(_Record, tag="session_ended"):
    """The session is over, or over for now."""

    outcome: str


_TYPES = {kind.__struct_config__.tag: kind for kind in _Record.__subclasses__()}


def read(line: FeedRecord) -> tuple[Any, float] | None:
    """A line of a feed as its record and its moment; None if it is nothing to show."""
    kind = _TYPES.get(line["type"])
    if kind is None:
        return None
    try:
        return typed.convert(line["data"], kind), seconds(line["timestamp"])
    except (msgspec.ValidationError, KeyError, TypeError, ValueError, OverflowError):
        return None
