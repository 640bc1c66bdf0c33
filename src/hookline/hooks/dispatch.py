"""The one dispatcher. It is given its `call`; everything else is the rule's business."""

from __future__ import annotations

import types
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.hooks.records import FAILED, OK, TIMEOUT, Actions, Outcome, Reply
from hookline.errors import HooklineError
from hookline.hooks.rules import RULES, PointRule

if TYPE_CHECKING:
    from asyncio import Task, TimerHandle
    from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator, Sequence

    from hookline.domain.events import Event
    from hookline.hooks.registry import Hook, HookContext

    Call = Callable[[Hook, Any], Awaitable[Outcome]]

DEFAULT_TIMEOUT = 30.0
_COROUTINE = types.CoroutineType


async def dispatch(rule: PointRule, hooks: Sequence[Hook], payload: Any, call: Call) -> Any:
    """Ask hooks in order until the rule has enough, and fold what they said into one answer."""
    stops, carry = rule.stops, rule.carry
    called = []
    for hook in rule.arrange(hooks):
        outcome = await call(hook, payload)
        called.append((hook, outcome))
        if stops is not None and stops(outcome):
            break
        if carry is not None:
            payload = carry(payload, outcome)
    return rule.fold(called)


async def dispatch_event(
    hooks: Sequence[Hook],
    event: Event,
    context: HookContext,
    changed: Collection[str] | None = None,
) -> Actions:
    """Run in-process hooks on an event; the actions they ask for, and who failed.

    `changed` are the files that `changed()` in a condition looks at.
    """
    rule, watch = RULES["react"], CallWatch()
    call: Call = _caller(rule, context, watch)
    if [hook for hook in hooks if hook.when is not None]:
        call = _where_met(call, event, context, changed)
    actions: Actions = await _watched(dispatch(rule, hooks, event, call), watch)
    return actions


def _where_met(
    call: Call, event: Event, context: HookContext, changed: Collection[str] | None
) -> Call:
    """Call a hook only where its condition holds; one that cannot be evaluated is a failure."""
    # Few hooks have a condition.
    from hookline.hooks.language.conditions import held_back, needs_changes

    try:
        task = context.graph.find(event.node_id)
    except HooklineError:  # a node of another kind
        task = None
    scope: dict[str, Any] = {
        **event.data,
        "event": msgspec.to_builtins(event),
        "task": msgspec.to_builtins(task) if task else None,
    }
    if changed is not None:
        scope["changed"] = changed

    async def conditional(hook: Hook, payload: Any) -> Outcome:
        if hook.when is not None:
            if changed is None and needs_changes(hook.when):
                error = f"`when: {hook.when}` needs the changed files: pass them as `changed`"
                return Outcome(hook.name, FAILED, None, error)
            found = held_back(hook.name, hook.when, scope)
            if isinstance(found, Outcome):
                return found
        return await call(hook, payload)

    return conditional


async def call_in_process(
    hook: Hook, rule: PointRule, payload: Any, context: HookContext, limit: float | None = None
) -> Outcome:
    """Call a function registered in this process: isolated, timed, and recorded as an outcome.

    A function that blocks without awaiting cannot be interrupted; configured hooks run in a
    child instead.
    """
    watch = CallWatch(limit or DEFAULT_TIMEOUT)
    outcome: Outcome = await _watched(_caller(rule, context, watch)(hook, payload), watch)
    return outcome


def _caller(
    rule: PointRule, context: HookContext, watch: CallWatch
) -> Callable[[Hook, Any], Coroutine[Any, Any, Outcome]]:
    read, nothing = rule.read, rule.nothing

    async def call(hook: Hook, payload: Any) -> Outcome:
        # Hooks follow each other at once, so the end of one is the beginning of the next.
        start = watch.clock or perf_counter_ns()
        watch.seconds = hook.timeout
        try:
            # Built-ins are pure functions of the event and the graph; they get nothing else.
            seen = context.graph if hook.kind == "built-in" else context
            result = hook.handler(payload, seen)
            if type(result) is _COROUTINE:
                result = await result
            if watch.timer is not None:
                watch.disarm()
            answer = nothing if not result else None
            if answer is None:
                answer = read(Reply(result), hook)
        except BaseException as problem:  # noqa: BLE001  # one hook never breaks another
            watch.clock = now = perf_counter_ns()
            return _failure(hook, problem, watch, (now - start) // 1000)
        watch.clock = now = perf_counter_ns()
        return Outcome(hook.name, OK, answer, None, (now - start) // 1000)

    return call


def _failure(hook: Hook, problem: BaseException, watch: CallWatch, took: int) -> Outcome:
    if watch.timer is not None and watch.disarm():
        return Outcome(hook.name, TIMEOUT, None, f"timed out after {watch.limit:g} s", took)
    if not isinstance(problem, Exception | SystemExit) and _is_from_outside(problem, watch):
        raise problem
    return Outcome(hook.name, FAILED, None, error_line(problem), took)


def error_line(problem: BaseException) -> str:
    """What was raised, in a line that can be stored, however it was made."""
    name = type(problem).__name__
    try:
        said = f"{problem}".encode(errors="backslashreplace").decode()
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001  # an error that cannot even say what it is
        said = "it cannot be described"
    return f"{name}: {said}" if said else name


def _is_from_outside(problem: BaseException, watch: CallWatch) -> bool:
    """Whether the task was cancelled; otherwise the hook raised it itself."""
    import asyncio  # a command without hooks does not pay for it

    if isinstance(problem, GeneratorExit):
        return watch.is_closed
    if not isinstance(problem, asyncio.CancelledError):
        return isinstance(problem, KeyboardInterrupt)
    try:
        task = asyncio.current_task()
    except RuntimeError:  # stepped by hand, without an event loop
        return False
    return task is not None and task.cancelling() > 0


class CallWatch:
    """The time that the hook which runs now has left; a timer is set only once it really waits."""

    __slots__ = (
        *("_cancelling", "_default", "_expired", "_task"),
        *("clock", "is_closed", "seconds", "timer"),
    )

    def __init__(self, default: float = DEFAULT_TIMEOUT) -> None:
        self.clock = 0
        self.is_closed = False  # the hooks are no longer awaited
        self.seconds: float | None = None
        self._default = default
        self.timer: TimerHandle | None = None
        self._task: Task[Any] | None = None
        self._expired = False
        self._cancelling = 0

    @property
    def limit(self) -> float:
        """How long the hook may take."""
        return self.seconds or self._default

    def arm(self) -> None:
        """The hook waits: cancel it when its time is over."""
        if self.timer is None:
            import asyncio  # most commands never get here, and it costs more than all of Hookline

            self._task = asyncio.current_task()
            self._cancelling = self._task.cancelling() if self._task else 0
            self._expired = False
            self.timer = asyncio.get_running_loop().call_later(self.limit, self._expire)

    def disarm(self) -> bool:
        """The hook has ended; return whether it timed out, and was not cancelled otherwise."""
        assert self.timer is not None  # armed before
        self.timer.cancel()
        self.timer = None
        task = self._task
        return self._expired and task is not None and task.uncancel() <= self._cancelling

    def _expire(self) -> None:
        self._expired = True
        if self._task is not None:
            self._task.cancel()


@types.coroutine
def _watched(inner: Coroutine[Any, Any, Any], watch: CallWatch) -> Generator[Any, Any, Any]:
    """Await a coroutine, with the watch armed whenever something in it waits.

    Stepping each hook by hand would cost more than most hooks take, so all are stepped at once.
    """
    try:
        waiting_for = inner.send(None)
        while True:
            watch.arm()
            try:
                sent = yield waiting_for
            except BaseException as thrown:  # noqa: BLE001  # passed on to the coroutine
                watch.is_closed = isinstance(thrown, GeneratorExit)
                waiting_for = inner.throw(thrown)
            else:
                waiting_for = inner.send(sent)
    except StopIteration as done:
        return done.value
