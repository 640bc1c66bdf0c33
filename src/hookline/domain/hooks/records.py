"""What a hook said and how the call went: the frozen outcomes that rules fold and rows keep."""

from __future__ import annotations

from math import isfinite
from typing import Any

import msgspec

from hookline.domain.hooks.names import short_name

OK = "ok"
SKIPPED = "skipped"
FAILED = "failed"
TIMEOUT = "timeout"
# A call that waits until its hook sends its next notification.
QUEUED = "queued"
# A call that ^C, a signal or the death of its process ended: it says nothing about the hook.
CUT = "cut"


class Reply(msgspec.Struct, frozen=True):
    """What a hook gave back, before a rule reads it.

    `answer` is the value a function returned or the JSON object a program printed, else None.
    `exit_code` is None for functions and servers. A reply exists only when the hook ran to its end:
    a program that cannot start, a signal or a timeout raises HookFailure instead.
    """

    answer: Any = None
    text: str = ""
    stderr: str = ""
    exit_code: int | None = None
    blob: str | None = None


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """One call of one hook: the answer its rule understood, or why there is none."""

    hook: str
    status: str
    answer: Any = None
    error: str | None = None
    duration_us: int = 0
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    blob: str | None = None
    values: dict[str, Any] | None = None

    def ends(self, call: Delivery) -> Delivery:
        """The record of a call that went this way."""
        said = msgspec.structs.asdict(self)
        return msgspec.structs.replace(call, condition_values=said.pop("values"), **said)


ACTION_TYPES = frozenset({"create_task", "update_task", "execute_workflow", "log"})


class Action(msgspec.Struct, frozen=True):
    """Something a react hook asks for: create_task, update_task, execute_workflow or log.

    It is kept as the hook gave it; one that has a `problem` fails when it is carried out.
    `unwritable` says why it cannot be kept as it is.
    """

    type: str
    payload: Any = {}
    unwritable: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def problem(self) -> str | None:
        """Why this action cannot be carried out, or None."""
        if self.type not in ACTION_TYPES:
            known = ", ".join(sorted(ACTION_TYPES))
            named = f"unknown action {self.type[:60]!r}" if self.type else "an action has no type"
            return f"{named}; there are {known}"
        if not isinstance(self.payload, dict):
            return f"the payload of {self.type} must be an object"
        return self.unwritable or None


def not_a_number(value: Any) -> str | None:
    """`nan` or `inf` if plain data holds such a number, which JSON would turn into null."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            left += each.values()
        elif isinstance(each, list | tuple):
            left += each
        elif isinstance(each, float) and not isfinite(each):
            return str(each)
    return None


class Actions(list[Action]):
    """The actions that an event's hooks ask for, in order.

    `failures` has an outcome for each hook that failed and each action that cannot be carried out;
    its `hook` and `error` say who failed and why.
    """

    failures: tuple[Outcome, ...] = ()


PENDING = "pending"
DEAD = "dead"


class Delivery(msgspec.Struct, rename="camel", frozen=True):
    """The record of one call of one hook at one event; its id is the idempotency key."""

    id: int
    event_seq: int
    hook: str
    point: str
    kind: str
    origin: str
    status: str
    position: int
    attempts: int = 0
    started_at: str | None = None
    duration_us: int | None = None
    exit_code: int | None = None
    answer: Any = None
    error: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    blob: str | None = None
    condition: str | None = None
    condition_values: dict[str, Any] | None = None
    child: str | None = None

    @property
    def is_begun(self) -> bool:
        """Whether its hook was called and has not ended, as far as the record knows."""
        return self.status == PENDING and self.started_at is not None

    @property
    def failure(self) -> str | None:
        """One line that describes a failed call; None for a call that did not fail."""
        if self.status not in (FAILED, TIMEOUT, DEAD):
            return None
        error = (self.error or "").partition("\n")[0]
        return f"hook {short_name(self.hook)} at event {self.event_seq}: {error}"


class StoredAction(msgspec.Struct, frozen=True):
    """An action as it is recorded."""

    hook: str
    position: int
    action: Action
    status: str = PENDING
    error: str | None = None


class Prunable(msgspec.Struct, frozen=True):
    """An event whose hooks are over, and the bytes of what they saw and printed."""

    event_seq: int
    node_id: str
    bytes: int


class Delivered(int):
    """How many events were delivered; `failures` names each hook and action that failed."""

    failures: tuple[Delivery, ...] = ()
