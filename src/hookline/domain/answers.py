"""What hooks may answer under each rule, as types. JSON on the wire is camelCase."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Answer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """The base of all answers; fields nobody knows are ignored."""


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
