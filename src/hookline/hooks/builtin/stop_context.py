"""What built-in stop hooks look at: an iteration's context and their own arguments, as types.

The context may come from anywhere, so whatever does not fit is refused here, once.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from hookline.domain.answers import StopDecision
from hookline.errors import BadInput

MAX_REASON = 1000
MAX_PROMPT = 16 * 1024
MAX_SAID = 300

_PROMISE = re.compile(r"<promise\s*+>\s*+([A-Z]++)\s*+</promise\s*+>")

A = TypeVar("A", bound="Arguments")


class Arguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """What a built-in takes; a value that is no mapping is its first field."""

    @property
    def rules(self) -> tuple[str, ...]:
        """The validation rules without whose results it cannot complete."""
        return ()


class _Part(msgspec.Struct, rename="camel", frozen=True):
    """JSON on the wire is camelCase; unknown fields are ignored."""


class Result(_Part, frozen=True):
    """What one validation rule found."""

    rule_name: str
    passed: bool
    message: str | None = None
    command: str | None = None
    exit_code: int | None = None
    coverage: float | None = None


class Promise(_Part, frozen=True):
    """A completion signal."""

    type: str
    detected: bool = False


class Work(_Part, frozen=True):
    """The work tree after the checks; `stable` if nothing was edited since they began."""

    in_repository: bool = False
    diff_hash: str | None = None
    changed_files: int = 0
    stable: bool = False
    error: str | None = None


class Seen(_Part, frozen=True):
    """The part of an iteration's context that built-in stop hooks decide on."""

    iteration: int = 0
    files_modified: tuple[str, ...] = ()
    validation_results: tuple[Result, ...] = ()
    completion_promises: tuple[Promise, ...] = ()
    agent_output: str | None = None
    work: Work | None = None

    def promised(self, name: str) -> bool:
        """Whether the agent made this promise."""
        return any(each.type == name and each.detected for each in self.completion_promises)

    def passed(self, rule: str) -> bool:
        """Whether a rule has results in this iteration, all of them good."""
        found = [each.passed for each in self.validation_results if each.rule_name == rule]
        return bool(found) and all(found)


def read_context(context: dict[str, Any]) -> Seen:
    """The context as a type, or BadInput that says what does not fit."""
    try:
        return msgspec.convert(context, Seen)
    except msgspec.ValidationError as problem:
        raise BadInput(f"this is no context of an iteration: {problem}") from problem


def read_arguments(kind: type[A], given: Any) -> A:
    """A built-in's arguments, or BadInput that says what does not fit."""
    fields = kind.__struct_fields__
    if given is None:
        given = {}
    elif not isinstance(given, dict) and fields:
        given = {fields[0]: given}
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as problem:
        raise BadInput(f"these arguments cannot be used: {problem}") from problem


def escalation(seen: Seen) -> StopDecision | None:
    """The decision that the agent asks for with ESCALATE or BLOCKED."""
    for name, told in (("ESCALATE", "escalation"), ("BLOCKED", "that it is blocked")):
        if seen.promised(name):
            why = _said_with(name, seen.agent_output or "")
            reason = f"Agent signaled {told} via <promise>{name}</promise>"
            return StopDecision(action="escalate", reason=f"{reason}: {why}" if why else reason)
    return None


def _said_with(name: str, text: str) -> str:
    """What the agent says right before a promise, on one line; after it, if it begins with it."""
    found = [each for each in _PROMISE.finditer(text) if each[1] == name]
    if not found:
        return ""
    before = " ".join(_PROMISE.sub(" ", text[: found[-1].start()]).split())
    if before:
        return before if len(before) <= MAX_SAID else f"…{before[1 - MAX_SAID :]}"
    return one_line(_PROMISE.sub(" ", text[found[-1].end() :]), MAX_SAID)


def bounded(text: str, limit: int) -> str:
    """The text, cut where it is too long."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def one_line(text: str, limit: int) -> str:
    """The text on one line, cut where it is too long."""
    return bounded(" ".join(text.split()), limit)


def both_ends(text: str, limit: int) -> str:
    """The text on one line; where it is too long, its middle is left out."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = limit // 3
    return f"{line[:head]} … {line[head + 3 - limit :]}"
