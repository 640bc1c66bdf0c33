"""Reading the whole log of a large store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.floors import raw_events
from benchmarks.measure import Plan, Result, by_turns
from benchmarks.stores import filled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def measure(plan: Plan) -> Iterator[Result]:
    """A million events; 100,000 when there is little time."""
    count = plan.rounds(1_000_000, 100_000)
    store = filled(plan.folder + "/reading", count // 2)
    app = store.app

    def ours() -> None:
        with app.read() as view:
            _use_up(view.log.stream(limit=count), count)

    def floor() -> None:
        _use_up(raw_events(app.project.database, count), count)

    took, raw = by_turns((ours, floor), plan.rounds(5, 3))
    app.close()
    yield Result(
        f"read {count:,} events",
        took,
        raw,
        "fetch the rows, decode their JSON",
        None,
        f"{count / took:,.0f} events/s",
    )


def _use_up(events: Iterable[object], count: int) -> None:
    seen = sum(1 for _ in events)
    if seen != count:
        raise AssertionError(f"{seen} events, not {count}")
