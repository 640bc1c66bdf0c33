"""HookRegistry.execute: conditions, failures by name, and cancellation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from hookline import Action, HookRegistry, hook
from hookline.testing import context, event

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline import Hook
    from hookline.domain.hooks.records import Actions

DONE = event("task_completed", "T-1", {"result": "fine"})
AROUND = context({"T-1": {"labels": ["urgent"]}})


def asks(n: int) -> Callable[..., Any]:
    return lambda event, context: [Action("log", {"n": n})]


def at(name: str, function: Callable[..., Any], **options: Any) -> Hook:
    return hook("task_completed", name=name, **options)(function)


def run(*hooks: Hook, **options: Any) -> Actions:
    return asyncio.run(HookRegistry(hooks).execute(DONE, AROUND, **options))


def failures(actions: Actions) -> list[tuple[str, str | None]]:
    return [(each.hook, each.error) for each in actions.failures]


# Conditions.


def test_a_hook_whose_condition_does_not_hold_is_skipped() -> None:
    found = run(
        at("urgent", asks(1), when="'urgent' in task.labels"),
        at("quiet", asks(2), when="'quiet' in task.labels"),
        at("fine", asks(3), when="event.data.result == 'fine'"),
        at("always", asks(4)),
    )
    assert found == [Action("log", {"n": n}) for n in (1, 3, 4)]
    assert found.failures == ()


def test_a_condition_that_cannot_be_evaluated_is_a_failure_of_its_hook_alone() -> None:
    found = run(at("broken", asks(1), when="event.data.nothing == 1"), at("works", asks(2)))
    assert found == [Action("log", {"n": 2})]
    ((name, error),) = failures(found)
    assert name == "broken"
    assert "there is no 'nothing' in event.data" in str(error)


def test_changed_looks_at_the_files_that_are_given() -> None:
    docs = at("docs", asks(1), when="changed('*.md')")
    assert run(docs, changed=["README.md"]) == [Action("log", {"n": 1})]
    assert run(docs, changed=[]) == []
    ((name, error),) = failures(run(docs))
    assert name == "docs"
    assert "needs the changed files: pass them as `changed`" in str(error)


def test_an_event_without_a_task_has_none_to_look_at() -> None:
    registry = HookRegistry([at("h", asks(1), when="task is None")])
    found = asyncio.run(registry.execute(event("task_completed"), AROUND))
    assert found == [Action("log", {"n": 1})]


# Failures.


def test_the_answer_is_a_list_that_names_who_failed() -> None:
    def broken(event: Any, context: Any) -> None:
        raise ValueError("no")

    async def slow(event: Any, context: Any) -> None:
        await asyncio.Event().wait()

    found = run(at("broken", broken), at("slow", slow, timeout=0.01), at("works", asks(1)))
    assert isinstance(found, list)
    assert found == [Action("log", {"n": 1})]
    assert failures(found) == [("broken", "ValueError: no"), ("slow", "timed out after 0.01 s")]


def test_an_action_that_nobody_can_carry_out_fails_alone() -> None:
    found = run(at("h", lambda e, c: [Action("drop_tables"), Action("log", {"n": 1})]))
    assert found == [Action("log", {"n": 1})]
    ((name, error),) = failures(found)
    assert name == "h"
    assert str(error).startswith("unknown action 'drop_tables'")


# Cancellation.


def _raise(event: Any, context: Any) -> None:
    raise asyncio.CancelledError


async def _raise_later(event: Any, context: Any) -> None:
    await asyncio.sleep(0)
    raise asyncio.CancelledError("enough")


async def _await_what_was_cancelled(event: Any, context: Any) -> None:
    other = asyncio.create_task(asyncio.Event().wait())
    asyncio.get_running_loop().call_soon(other.cancel)
    await other


@pytest.mark.parametrize("function", [_raise, _raise_later, _await_what_was_cancelled])
def test_a_hook_that_raises_cancelled_error_fails_and_the_others_run(
    function: Callable[..., Any],
) -> None:
    found = run(at("gone", function), at("works", asks(1)))
    assert found == [Action("log", {"n": 1})]
    ((name, error),) = failures(found)
    assert name == "gone"
    assert str(error).startswith("CancelledError")


def test_cancelling_the_task_around_it_still_ends_the_execution() -> None:
    ran: list[str] = []

    async def waits(event: Any, context: Any) -> None:
        ran.append("waits")
        await asyncio.Event().wait()

    registry = HookRegistry([at("a", waits), at("b", lambda e, c: ran.append("went on"))])

    async def scene() -> None:
        task = asyncio.create_task(registry.execute(DONE, AROUND))
        while not ran:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scene())
    assert ran == ["waits"]
