"""What built-in stop hooks look at: an iteration's context and their own arguments, as types.

The context may come from anywhere, so it is validated here, once.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from hookline import typed
from hookline.domain.hooks.answers import StopDecision
from hookline.domain.text.display import line_of, shortened
from hookline.errors import BadInput

# What the agent is told before the checks that fail.
FIX = "Fix your work until these checks pass. Do not change the checks."
MAX_REASON = 1000
MAX_PROMPT = 16 * 1024
MAX_SAID = 300
_LOST = (
    "Git no longer has the files with which the work began, so no change can be shown: put"
    " .hookline/objects back from your backup and resume, or start a new session"
)

_PROMISE = re.compile(r"<promise\s*+>\s*+([A-Z]++)\s*+</promise\s*+>")

A = TypeVar("A", bound="Arguments")
T = TypeVar("T")


class Arguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """What a built-in takes; a value that is not a mapping is its first field."""

    @property
    def rules(self) -> tuple[str, ...]:
        """The validation rules, named by `rule` or `checks`, without which it cannot complete."""
        rule: str | None = getattr(self, "rule", None)
        return (rule,) if rule else tuple(getattr(self, "checks", ()))


class NoArguments(Arguments, frozen=True):
    """Nothing can be tuned."""


class _ContextPart(msgspec.Struct, rename="camel", frozen=True):
    """JSON on the wire is camelCase; unknown fields are ignored."""


class RuleResult(_ContextPart, frozen=True):
    """What one validation rule found."""

    rule_name: str
    passed: bool
    message: str | None = None
    command: str | None = None
    exit_code: int | None = None
    coverage: float | None = None


class Promise(_ContextPart, frozen=True):
    """A completion signal."""

    type: str
    detected: bool = False


class EditedTest(_ContextPart, frozen=True):
    """A test file that a rule lets the agent edit, and how many of its lines it changed."""

    path: str
    added: int | None = None
    removed: int | None = None


class WorkSeen(_ContextPart, frozen=True):
    """The work tree after the checks; `stable` if nothing was edited since they began.

    `excused` is whether no change is expected, because a person said so or it is a review; `gated`
    whether the work is submitted when it is done, which looks for changes itself. `beside` is
    another session that has worked in the same folder meanwhile. `edited` are the test files that
    rules follow and that were changed; `lost` is whether git has lost what the work began with.
    """

    in_repository: bool = False
    excused: bool = False
    gated: bool = False
    beside: str | None = None
    diff_hash: str | None = None
    changed_files: int = 0
    stable: bool = False
    error: str | None = None
    edited: tuple[EditedTest, ...] = ()
    lost: bool = False

    @property
    def edited_tests(self) -> dict[str, object]:
        """The edited tests as a decision keeps them; nothing where there are none."""
        return {"editedTests": msgspec.to_builtins(self.edited)} if self.edited else {}

    @property
    def told_edits(self) -> str:
        """The edited tests in a few words for people; empty where there are none."""
        each = [f"{e.path} (+{e.added or 0} -{e.removed or 0})" for e in self.edited]
        return f"; edited tests: {', '.join(each)}" if each else ""


class Seen(_ContextPart, frozen=True):
    """The part of an iteration's context that built-in stop hooks decide on."""

    iteration: int = 0
    files_modified: tuple[str, ...] = ()
    validation_results: tuple[RuleResult, ...] = ()
    completion_promises: tuple[Promise, ...] = ()
    agent_output: str | None = None
    work: WorkSeen | None = None

    def promised(self, name: str) -> bool:
        """Whether the agent made this promise."""
        return any(each.type == name and each.detected for each in self.completion_promises)

    def passed(self, rule: str) -> bool:
        """Whether a rule has results in this iteration, all of them good."""
        found = [each.passed for each in self.validation_results if each.rule_name == rule]
        return bool(found) and all(found)


def read_context(context: object) -> Seen:
    """The context as a type, or BadInput that says what does not fit."""
    return _convert(context, Seen, "this is not the context of an iteration")


def read_arguments(kind: type[A], given: Any) -> A:
    """A built-in's arguments, or BadInput that says what does not fit."""
    fields = kind.__struct_fields__
    if given is None:
        given = {}
    elif not isinstance(given, dict) and fields:
        given = {fields[0]: given}
    return _convert(given, kind, "these arguments cannot be used")


def _convert(value: object, kind: type[T], otherwise: str) -> T:
    try:
        return typed.convert(value, kind)
    except msgspec.ValidationError as problem:
        raise BadInput(f"{otherwise}: {problem}") from problem


def escalation(seen: Seen) -> StopDecision | None:
    """The decision that the agent asks for with ESCALATE or BLOCKED."""
    for name, told in (("ESCALATE", "escalation"), ("BLOCKED", "that it is blocked")):
        if seen.promised(name):
            why = _said_with(name, seen.agent_output or "")
            reason = f"Agent signaled {told} via <promise>{name}</promise>"
            return StopDecision(action="escalate", reason=f"{reason}: {why}" if why else reason)
    return None


def lost_start(seen: Seen) -> StopDecision | None:
    """The decision where no iteration can show a change, because there is nothing to compare."""
    return StopDecision("escalate", _LOST) if seen.work is not None and seen.work.lost else None


def help_asked_for(context: object) -> str | None:
    """Why work is not done although stop hooks say so: its agent asks for help in that turn."""
    asked = escalation(read_context(context))
    if asked is None:
        return None
    return f"The stop hooks say complete, but the agent does not. {asked.reason}"


def _said_with(name: str, text: str) -> str:
    """What the agent says right before a promise, on one line; after it, if it begins with it."""
    found = [each for each in _PROMISE.finditer(text) if each[1] == name]
    if not found:
        return ""
    before = " ".join(_PROMISE.sub(" ", text[: found[-1].start()]).split())
    if before:
        return before if len(before) <= MAX_SAID else f"…{before[1 - MAX_SAID :]}"
    return line_of(_PROMISE.sub(" ", text[found[-1].end() :]), MAX_SAID)


def continue_with(reason: str, prompt: str) -> StopDecision:
    """The decision that the agent continues, with what it is told, both within bounds."""
    return StopDecision("continue", shortened(reason, MAX_REASON), shortened(prompt, MAX_PROMPT))
