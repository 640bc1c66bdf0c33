"""The task graph inside the process, in small and large stores: the cost must not grow."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.measure import Plan, Result, by_turns
from benchmarks.stores import WALKS, Filled, filled
from hookline.tasks import claims, verbs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookline.ports.store import Transaction

    Act = Callable[[], object]

FLAT = 1.5
PAGE = 20


class _Undone(Exception):
    """Raised on purpose: the change is taken back, so that it can be measured again."""


def measure(plan: Plan) -> Iterator[Result]:
    """Each verb in stores of every size, by turns."""
    stores = [filled(plan.folder + "/graphs", size) for size in plan.sizes]
    # Each completes or claims a task of its own, of which the smallest store has a hundred.
    rounds = plan.rounds(90, 30)
    try:
        yield from _flat("ready", stores, _ready, plan.rounds(300, 60))
        yield from _flat("complete, one dependent promoted", stores, _complete, rounds)
        yield from _flat("claim", stores, _claim, rounds)
        for length in WALKS:
            yield from _flat(
                f"dep add, walking {length:,} tasks",
                stores,
                partial(_link, length),
                plan.rounds(40, 10),
            )
        yield _growth(stores[-1], plan.rounds(40, 10))
    finally:
        for store in stores:
            store.app.close()


def _flat(
    name: str, stores: list[Filled], make: Callable[[Filled], Act], rounds: int
) -> Iterator[Result]:
    smallest, *larger = by_turns([make(store) for store in stores], rounds)
    floor = f"the same at {stores[0].size:,} tasks"
    for store, took in zip(stores[1:], larger, strict=True):
        yield Result(f"{name}, {store.size:,} tasks", took, smallest, floor, FLAT)


def _growth(store: Filled, rounds: int) -> Result:
    short, long = WALKS[-2:]
    less, more = by_turns([_link(short, store), _link(long, store)], rounds)
    name = f"dep add, {long:,} tasks walked"
    return Result(name, more, less, f"{short:,} tasks walked", FLAT * long / short)


def _ready(store: Filled) -> Act:
    app = store.app

    def act() -> None:
        with app.read() as view:
            found = view.graph.ready(PAGE, app.store.now())
        if len(found) != PAGE:
            raise AssertionError(f"{len(found)} tasks are ready, not {PAGE}")

    return act


def _complete(store: Filled) -> Act:
    numbers = iter(store.ready_numbers)

    def act() -> None:
        store.app.change(verbs.complete, f"T-{next(numbers)}", result="done")

    return act


def _claim(store: Filled) -> Act:
    numbers = iter(store.other_ready_numbers)

    def act() -> None:
        store.app.change(claims.claim, f"T-{next(numbers)}", "somebody")

    return act


def _link(length: int, store: Filled) -> Act:
    (walk,) = (each for each in store.walks if each.length == length)

    def link(tx: Transaction) -> None:
        verbs.link(tx, walk.source, walk.target)
        raise _Undone

    def act() -> None:
        try:
            store.app.change(link)
        except _Undone:
            return

    return act
