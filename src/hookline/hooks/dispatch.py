"""The one dispatcher. It is given its `call`; everything else is the rule's business."""

from __future__ import annotations

import types
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from hookline.domain.records import FAILED, OK, TIMEOUT, Action, Outcome, Reply
from hookline.errors import HookTimeout
from hookline.hooks.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence

    from hookline.domain.events import Event
    from hookline.hooks.registry import Hook, HookContext
    from hookline.hooks.rules import Rule

DEFAULT_TIMEOUT = 30.0
_COROUTINE = types.CoroutineType


async def dispatch(
    rule: Rule,
    hooks: Sequence[Hook],
    payload: Any,
    call: Callable[[Hook, Any], Awaitable[Outcome]],
) -> Any:
    """Ask hooks in order until the rule has enough, and fold what they said into one answer."""
    stops, carry = rule.stops, rule.carry
    called = []
    for hook in rule.arrange(hooks):
        outcome = await call(hook, payload)
        called.append((hook, outcome))
        if stops(outcome):
            break
        payload = carry(payload, outcome)
    return rule.fold(called)


async def dispatch_event(hooks: Sequence[Hook], event: Event, context: HookContext) -> list[Action]:
    """Run in-process hooks on an event and return their actions; failures are left out."""
    rule = RULES["react"]

    def call(hook: Hook, payload: Event) -> Awaitable[Outcome]:
        # Built-ins are pure functions of the event and the graph; they get nothing else.
        seen = context.graph if hook.kind == "built-in" else context
        return call_in_process(hook, rule, payload, seen)

    actions: list[Action] = await dispatch(rule, hooks, event, call)
    return actions


async def call_in_process(hook: Hook, rule: Rule, payload: Any, context: Any) -> Outcome:
    """Call a function registered in this process: isolated, timed, and recorded as an outcome.

    A coroutine is stepped by hand and its timeout armed only once it really waits. A function
    that blocks without awaiting cannot be interrupted; configured hooks run in a child instead.
    """
    start = perf_counter_ns()
    try:
        result = hook.handler(payload, context)
        if type(result) is _COROUTINE:
            try:
                waiting_for = result.send(None)
            except StopIteration as done:
                result = done.value
            else:
                result = await _within(result, waiting_for, hook.timeout or DEFAULT_TIMEOUT)
        answer = rule.read(Reply(result), hook)
    except HookTimeout as problem:
        return _failed(hook, TIMEOUT, str(problem), start)
    except (Exception, SystemExit) as problem:  # noqa: BLE001  # one hook never breaks another
        return _failed(hook, FAILED, f"{type(problem).__name__}: {problem}", start)
    return Outcome(hook.name, OK, answer, None, (perf_counter_ns() - start) // 1000)


def _failed(hook: Hook, status: str, error: str, start: int) -> Outcome:
    return Outcome(hook.name, status, None, error, (perf_counter_ns() - start) // 1000)


async def _within(coroutine: Coroutine[Any, Any, Any], waiting_for: Any, seconds: float) -> Any:
    import asyncio  # most commands never get here, and it costs more than all of Hookline

    try:
        async with asyncio.timeout(seconds) as deadline:
            return await _resume(coroutine, waiting_for)
    except TimeoutError as problem:
        if not deadline.expired():  # the hook's own
            raise
        raise HookTimeout(f"timed out after {seconds:g} s") from problem


@types.coroutine
def _resume(coroutine: Coroutine[Any, Any, Any], waiting_for: Any) -> Generator[Any, Any, Any]:
    while True:
        try:
            try:
                sent = yield waiting_for
            except BaseException as thrown:  # noqa: BLE001  # passed on to the coroutine
                waiting_for = coroutine.throw(thrown)
            else:
                waiting_for = coroutine.send(sent)
        except StopIteration as done:
            return done.value
