"""Gates in Python: types for those who write one, and `run_hooks` for programs that ask them.

A gate is a function of a configuration's `python:` entry at a gate point. It takes (payload,
context) and returns a HookResult, or a dict of the same fields:

    def no_fixmes(payload, context):
        work = hook_context(payload)
        ...
        return HookResult(HookStatus.SUCCESS, "nothing left to fix")

A program that takes work to its base branch itself asks the gates of a point:

    all_ok, results = run_hooks(HookPoint.BEFORE_SUBMIT, work)
"""

from __future__ import annotations

from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.hooks.answers import GateAnswer
from hookline.domain.hooks.names import short_name
from hookline.domain.hooks.records import OK, SKIPPED, Outcome
from hookline.domain.payloads import GateContext
from hookline.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.app import App
    from hookline.hooks.registry import Hook

__all__ = [
    "GateAnswer",
    "HookContext",
    "HookPoint",
    "HookResult",
    "HookStatus",
    "hook_context",
    "resolve_hooks",
    "run_hooks",
]


class HookPoint(StrEnum):
    """The points of gates, in the order in which work passes them."""

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
        return typed.convert(payload, HookContext)
    except msgspec.ValidationError as problem:
        raise BadInput(f"this is not the payload of a gate: {problem}") from problem


def resolve_hooks(
    hook_point: HookPoint,
    task_type: str | None = None,
    agent_name: str | None = None,
    *,
    app: App | None = None,
) -> list[Hook]:
    """The gates of a point in order: of the agent, the type of the task, the project, the default.

    Without an `app`, those of the project that the current folder is in.
    """
    from hookline.wiring.calling.calls import recorder  # who writes a gate calls none

    with _opened(app) as project:
        found = project.scopes.hooks_at(
            HookPoint(hook_point), agent=agent_name, task_type=task_type
        )
        return recorder(project).enabled(found)


def run_hooks(
    hook_point: HookPoint,
    ctx: HookContext,
    agent_name: str | None = None,
    *,
    app: App | None = None,
) -> tuple[bool, list[HookResult]]:
    """Ask the gates of a point in order, until one fails or waits: whether all pass, and what
    each said.

    They act, as in a submission: the work is rebased, a pull request is opened. Their verdicts are
    recorded with the task. Not for code that runs in an event loop.
    """
    import asyncio  # who writes a gate asks none

    from hookline.wiring.calling.gates import ask_gates

    point, agent = HookPoint(hook_point), agent_name or ctx.agent_name
    payload = {**msgspec.to_builtins(ctx), "agent_name": agent}
    with _opened(app) as project:
        with project.read() as view:
            view.graph.task(ctx.task_id)
        called = asyncio.run(ask_gates(project, point, payload))
    results = [_result(outcome) for _, outcome in called]
    return all(each.status in (HookStatus.SUCCESS, HookStatus.SKIP) for each in results), results


@contextmanager
def _opened(app: App | None) -> Iterator[App]:
    from hookline.app import App  # who writes a gate needs no project

    opened = App.open() if app is None else app
    try:
        yield opened
    finally:
        if app is None:
            opened.close()


def _result(outcome: Outcome) -> HookResult:
    if outcome.status == SKIPPED:
        return HookResult(HookStatus.SKIP, outcome.error or "its condition is false")
    if outcome.status != OK:
        return HookResult(HookStatus.FAILURE, f"{short_name(outcome.hook)} failed: {outcome.error}")
    return typed.convert(outcome.answer, HookResult, from_attributes=True)
