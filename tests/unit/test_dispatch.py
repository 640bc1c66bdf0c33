"""Functions called in this process: without an event loop, in time, isolated, and cancellable."""

from __future__ import annotations

import asyncio
import types
from typing import TYPE_CHECKING, Any

import pytest

from hookline.domain.hooks.answers import FeedAnswer, GateAnswer
from hookline.domain.hooks.records import FAILED, OK, TIMEOUT, Action, Outcome
from hookline.hooks.dispatch import call_in_process, dispatch, dispatch_event
from hookline.hooks.registry import Hook
from hookline.hooks.rules import RULES
from hookline.testing import context, event

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

EVENT = event("task_completed", "T-1")
CONTEXT = context({"T-1": {}})


def make(handler: Callable[..., Any], name: str = "h", **options: Any) -> Hook:
    return Hook(name=name, points=("task_completed",), handler=handler, **options)


def called(handler: Callable[..., Any], rule: str = "feed", **options: Any) -> Outcome:
    return asyncio.run(call_in_process(make(handler, **options), RULES[rule], EVENT, CONTEXT))


def step(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never waits by hand, where no event loop exists."""
    with pytest.raises(StopIteration) as done:
        coroutine.send(None)
    return done.value.value


# Without an event loop.


def test_a_plain_function_needs_no_event_loop() -> None:
    outcome = step(call_in_process(make(lambda e, c: "said"), RULES["feed"], EVENT, CONTEXT))
    assert (outcome.status, outcome.answer) == (OK, FeedAnswer(text="said"))


def test_a_coroutine_that_never_waits_needs_no_event_loop() -> None:
    async def inner() -> str:
        return "said"

    async def handler(given: Any, around: Any) -> str:
        assert (given, around) == (EVENT, CONTEXT)
        return await inner()

    outcome = step(call_in_process(make(handler), RULES["feed"], EVENT, CONTEXT))
    assert (outcome.hook, outcome.status, outcome.answer.text) == ("h", OK, "said")


def test_a_whole_dispatch_of_such_hooks_needs_no_event_loop() -> None:
    async def first(e: Any, c: Any) -> list[Action]:
        return [Action("log", {"n": 1})]

    async def second(e: Any, c: Any) -> list[Action]:
        raise ValueError("no")

    hooks = [make(first, "a"), make(second, "b"), make(lambda e, c: [Action("log", {"n": 3})], "c")]
    assert step(dispatch_event(hooks, EVENT, CONTEXT)) == [
        Action("log", {"n": 1}),
        Action("log", {"n": 3}),
    ]


# What happens in the wait of a coroutine reaches it, and what it says comes back.


def test_a_coroutine_that_yields_to_the_loop_goes_on() -> None:
    async def handler(e: Any, c: Any) -> str:
        for _ in range(3):
            await asyncio.sleep(0)
        return "after three rounds"

    assert called(handler).answer == FeedAnswer(text="after three rounds")


def test_the_results_of_futures_and_tasks_reach_the_coroutine() -> None:
    async def handler(e: Any, c: Any) -> str:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[str] = loop.create_future()
        loop.call_soon(future.set_result, "future")
        task = asyncio.create_task(asyncio.sleep(0, "task"))
        return f"{await future} {await task} {await asyncio.to_thread(str.upper, 'thread')}"

    assert called(handler).answer == FeedAnswer(text="future task THREAD")


def test_an_exception_of_a_future_is_thrown_into_the_coroutine() -> None:
    async def handler(e: Any, c: Any) -> str:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[str] = loop.create_future()
        loop.call_soon(future.set_exception, KeyError("gone"))
        try:
            await future
        except KeyError as problem:
            await asyncio.sleep(0)
            return f"caught {problem}"
        return "nothing came"

    assert called(handler).answer == FeedAnswer(text="caught 'gone'")


def test_an_exception_after_a_wait_is_a_failure_of_the_hook() -> None:
    async def handler(e: Any, c: Any) -> str:
        await asyncio.sleep(0)
        raise LookupError("lost")

    outcome = called(handler)
    assert (outcome.status, outcome.answer, outcome.error) == (FAILED, None, "LookupError: lost")


def test_values_sent_into_a_suspended_coroutine_arrive() -> None:
    @types.coroutine
    def ask(question: str) -> Generator[str, str, str]:
        return (yield question)

    async def handler(e: Any, c: Any) -> str:
        return f"{await ask('first')} {await ask('second')}"

    async def conversation() -> list[str]:
        stepped = call_in_process(make(handler), RULES["feed"], EVENT, CONTEXT)
        questions = [stepped.send(None), stepped.send("one")]
        with pytest.raises(StopIteration) as done:
            stepped.send("two")
        return [*questions, done.value.value.answer.text]

    assert asyncio.run(conversation()) == ["first", "second", "one two"]


def test_what_a_hook_leaves_open_is_closed_in_order() -> None:
    closed: list[str] = []

    async def handler(e: Any, c: Any) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            closed.append("tidied up")
        return "never"

    assert called(handler, timeout=0.01).status == TIMEOUT
    assert closed == ["tidied up"]


# Time.


async def _hang(e: Any, c: Any) -> str:
    await asyncio.Event().wait()
    return "never"


def test_a_hook_that_waits_too_long_times_out_and_the_others_still_run() -> None:
    hooks = [
        make(lambda e, c: [Action("log", {"n": 1})], "a"),
        make(_hang, "b", timeout=0.02),
        make(lambda e, c: [Action("log", {"n": 3})], "c"),
    ]
    assert asyncio.run(dispatch_event(hooks, EVENT, CONTEXT)) == [
        Action("log", {"n": 1}),
        Action("log", {"n": 3}),
    ]


def test_a_timeout_says_how_long_it_waited() -> None:
    outcome = called(_hang, timeout=0.02)
    assert (outcome.status, outcome.answer) == (TIMEOUT, None)
    assert outcome.error == "timed out after 0.02 s"


def test_a_hooks_own_timeout_error_is_a_failure_and_no_timeout() -> None:
    def at_once(e: Any, c: Any) -> str:
        raise TimeoutError("the server is slow")

    async def after_a_wait(e: Any, c: Any) -> str:
        await asyncio.sleep(0)
        raise TimeoutError("the server is slow")

    async def by_its_own_deadline(e: Any, c: Any) -> str:
        async with asyncio.timeout(0.01):
            await asyncio.Event().wait()
        return "never"

    for handler in (at_once, after_a_wait):
        outcome = called(handler)
        assert (outcome.status, outcome.error) == (FAILED, "TimeoutError: the server is slow")
    assert called(by_its_own_deadline).status == FAILED


def test_a_hook_that_handles_its_own_deadline_is_fine() -> None:
    async def handler(e: Any, c: Any) -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            return "went on without"
        return "never"

    assert called(handler).answer == FeedAnswer(text="went on without")


def test_time_runs_out_as_well_where_work_is_being_wound_up_after_a_cancellation() -> None:
    async def wound_up() -> Outcome:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return await call_in_process(make(_hang, timeout=0.02), RULES["feed"], EVENT, CONTEXT)
        raise AssertionError("nobody cancelled")

    async def scene() -> Outcome:
        task = asyncio.create_task(wound_up())
        await asyncio.sleep(0)
        task.cancel()
        return await task

    assert asyncio.run(scene()).status == TIMEOUT


# Isolation.


@pytest.mark.parametrize(
    ("problem", "error"),
    [
        (ValueError("no"), "ValueError: no"),
        (SystemExit(3), "SystemExit: 3"),
        (AssertionError("hm"), "AssertionError: hm"),
        (StopAsyncIteration("x"), "StopAsyncIteration: x"),
        (RecursionError("deep"), "RecursionError: deep"),
    ],
)
def test_whatever_a_function_raises_stays_with_it(problem: BaseException, error: str) -> None:
    def plain(e: Any, c: Any) -> str:
        raise problem

    async def waiting(e: Any, c: Any) -> str:
        await asyncio.sleep(0)
        raise problem

    assert (called(plain).status, called(plain).error) == (FAILED, error)
    outcome = called(waiting)
    assert outcome.status == FAILED
    assert type(problem).__name__ in str(outcome.error)


def test_an_answer_that_cannot_be_read_is_a_failure() -> None:
    outcome = called(lambda e, c: {"status": "perhaps"}, rule="gate")
    assert outcome.status == FAILED
    assert "cannot be read" in str(outcome.error)


@pytest.mark.parametrize("value", [False, 0, "", {}, []])
@pytest.mark.parametrize("rule", ["gate", "decide", "guard"])
def test_a_careless_answer_is_never_a_pass(rule: str, value: Any) -> None:
    assert called(lambda e, c: value, rule=rule).status == FAILED


def test_an_interrupt_is_nobodys_failure() -> None:
    def handler(e: Any, c: Any) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call_in_process(make(handler), RULES["feed"], EVENT, CONTEXT).send(None)


def test_cancellation_reaches_the_hook_and_its_caller() -> None:
    seen: list[str] = []

    async def handler(e: Any, c: Any) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        return "never"

    async def scene() -> bool:
        hooks = [make(handler, "a"), make(lambda e, c: seen.append("went on"), "b")]
        task = asyncio.create_task(dispatch_event(hooks, EVENT, CONTEXT))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return task.cancelled()

    assert asyncio.run(scene())
    assert seen == ["cancelled"]


# The dispatcher itself.


def test_hooks_are_asked_one_after_the_other_and_not_past_the_end() -> None:
    order: list[str] = []

    async def call(hook: Hook, payload: Any) -> Outcome:
        order.append(f"{hook.name} begins")
        await asyncio.sleep(0)
        order.append(f"{hook.name} ends")
        status = "failure" if hook.name == "b" else "success"
        return Outcome(hook.name, OK, GateAnswer(status=status))  # type: ignore[arg-type]  # a literal

    hooks = [make(print, name) for name in "abc"]
    answer = asyncio.run(dispatch(RULES["gate"], hooks, {}, call))
    assert answer.status == "failure"
    assert order == ["a begins", "a ends", "b begins", "b ends"]


def test_a_problem_of_the_callers_own_is_not_taken_for_a_hooks() -> None:
    async def call(hook: Hook, payload: Any) -> Outcome:
        raise RuntimeError("fenced")

    with pytest.raises(RuntimeError, match="fenced"):
        asyncio.run(dispatch(RULES["react"], [make(print)], EVENT, call))
