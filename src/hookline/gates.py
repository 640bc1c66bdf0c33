"""Types for those who write gates in Python: `from hookline.gates import HookResult, HookStatus`.

A gate is a function of a configuration's `python:` entry at a gate point. It takes (payload,
context) and returns a HookResult, or a dict of the same fields:

    def no_fixmes(payload, context):
        work = hook_context(payload)
        ...
        return HookResult(HookStatus.SUCCESS, "nothing left to fix")
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.answers import GateAnswer
from hookline.domain.payloads import GateContext
from hookline.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "GateAnswer",
    "HookContext",
    "HookPoint",
    "HookResult",
    "HookStatus",
    "hook_context",
]


class HookPoint(StrEnum):
    """Where gates stand, in the order in which work passes them."""

    BEFORE_SUBMIT = "before_submit"
    AFTER_SUBMIT = "after_submit"
    BEFORE_MERGE = "before_merge"
    AFTER_MERGE = "after_merge"


class HookStatus(StrEnum):
    """What a gate says: pass, do not pass, not concerned, or not known yet."""

    SUCCESS = "success"
    FAILURE = "failure"
    SKIP = "skip"
    PENDING = "pending"


class HookResult(msgspec.Struct, frozen=True):
    """A gate's answer.

    `context` is handed to the gates after it, in `extra`. With a `remediation_prompt` a failure
    goes to the agent, without one to a person. A pending gate is asked again after `retry_after`
    seconds.
    """

    status: HookStatus
    message: str = ""
    context: dict[str, Any] = {}
    remediation_prompt: str | None = None
    retry_after: float | None = None


HookContext = GateContext


def hook_context(payload: Mapping[str, Any]) -> HookContext:
    """The payload of a gate as a type, or BadInput."""
    try:
        return msgspec.convert(payload, HookContext)
    except msgspec.ValidationError as problem:
        raise BadInput(f"this is no payload of a gate: {problem}") from problem
