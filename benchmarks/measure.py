"""Measuring: ours and the floor by turns, medians, and what a result is."""

from __future__ import annotations

import gc
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence


class Result(NamedTuple):
    """One line of the table; times are medians in seconds.

    `at_most` is the aim for the ratio, or for `ours` itself where there is no floor.
    """

    name: str
    ours: float
    floor: float | None
    floor_name: str
    at_most: float | None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours in units of the floor."""
        return None if self.floor is None else self.ours / self.floor

    @property
    def met(self) -> bool | None:
        """Whether the aim is met; None where there is none."""
        if self.at_most is None:
            return None
        value = self.ours if self.ratio is None else self.ratio
        return value <= self.at_most


class Plan(NamedTuple):
    """How much to measure."""

    quick: bool
    folder: str

    def rounds(self, full: int, quick: int) -> int:
        """How often something is repeated."""
        return quick if self.quick else full

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many tasks the stores have."""
        return (1_000, 100_000) if self.quick else (1_000, 100_000, 1_000_000)


def by_turns(acts: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The median time of each act; they take turns, so that noise falls on all alike."""
    for act in acts:
        act()
    times: list[list[float]] = [[] for _ in acts]
    collecting = gc.isenabled()
    gc.disable()
    try:
        for turn in range(rounds):
            for position in range(len(acts)):
                # Whoever follows a slow neighbour would always pay for what it left in the caches.
                place = (position + turn) % len(acts)
                start = perf_counter()
                acts[place]()
                times[place].append(perf_counter() - start)
    finally:
        if collecting:
            gc.enable()
    return [median(each) for each in times]


def drive(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never really waits, without the cost of an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("this coroutine waits for something")
