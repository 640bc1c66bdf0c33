"""Dispatch of python hooks in this process, with timeout, isolation and an outcome for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.floors import plain_loop
from benchmarks.measure import Plan, Result, by_turns, drive
from hookline.domain.events import Event
from hookline.hooks.dispatch import dispatch_event
from hookline.hooks.registry import Hook, HookContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AIM = 5.0
_EVENT = Event(1, "0-1", "2026-01-17T10:00:00.000Z", "task_completed", "T-1", {}, {})
_CONTEXT = HookContext(None, None, None)  # type: ignore[arg-type]  # these handlers look at nothing


async def _handler(event: Event, context: HookContext) -> list[Any]:
    return []


def measure(plan: Plan) -> Iterator[Result]:
    """1, 10 and 100 hooks at one event."""
    for count in (1, 10, 100):
        hooks = [
            Hook(name=f"hook-{n}", points=("task_completed",), timeout=5.0, handler=_handler)
            for n in range(count)
        ]
        repeats = max(1, plan.rounds(2000, 400) // count)
        ours, floor = by_turns(
            (_dispatch(hooks, repeats), _loop(count, repeats)), plan.rounds(60, 15)
        )
        yield Result(
            f"dispatch {count} python hooks",
            ours / repeats,
            floor / repeats,
            "await the same handlers in a loop",
            AIM,
        )


def _dispatch(hooks: list[Hook], repeats: int) -> Callable[[], None]:
    def act() -> None:
        for _ in range(repeats):
            drive(dispatch_event(hooks, _EVENT, _CONTEXT))

    return act


def _loop(count: int, repeats: int) -> Callable[[], None]:
    handlers = [_handler] * count

    def act() -> None:
        for _ in range(repeats):
            drive(plain_loop(handlers, _EVENT))

    return act
