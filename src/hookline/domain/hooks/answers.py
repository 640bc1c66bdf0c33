"""What hooks may answer under each rule, as types. JSON on the wire is camelCase."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal, TypeVar

import msgspec

from hookline import typed

# In the metadata of a decision: what a stop hook has proven.
RECEIPT = "receipt"
# And the session whose change it may be that this one would be proven by.
BESIDE = "beside"
# What a gate's point answers without any gate.
AUTO_ACCEPTED = "auto-accepted: no gate is configured here"


class Answer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """The base of all answers; unknown fields are ignored."""


class FeedAnswer(Answer):
    """Text for the agent."""

    text: str = ""


class GateAnswer(Answer):
    """Whether work may pass; a failure may tell the agent what to do about it."""

    status: Literal["success", "failure", "skip", "pending"]
    message: str = ""
    context: dict[str, Any] = {}
    remediation_prompt: str | None = None
    retry_after: float | None = None


class StopDecision(Answer):
    """Whether an agent's loop ends."""

    action: Literal["complete", "continue", "escalate"]
    reason: str = ""
    next_prompt: str | None = None
    checkpoint_data: dict[str, Any] | None = None
    metadata: dict[str, Any] = {}
    hook_id: str | None = None


class GuardAnswer(Answer):
    """Whether a tool call may happen; `none` leaves it to the agent's own rules."""

    verdict: Literal["deny", "defer", "ask", "modify", "allow", "none"]
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    context: str | None = None


A = TypeVar("A", bound=Answer)


def stored_answer(stored: object, kind: type[A]) -> A | None:
    """An answer as it was recorded, without fields of the wrong type; None if too little is left.

    Reading the record never fails: an older version or a plugin may have written the answer.
    """
    if not isinstance(stored, dict):
        return None
    kept = {}
    for field in msgspec.structs.fields(kind):
        with suppress(KeyError, msgspec.ValidationError):
            kept[field.name] = typed.convert(stored[field.encode_name], field.type)
    try:
        return kind(**kept)
    except TypeError:  # without the field that says what was decided
        return None
