"""Places for the tasks of a graph: in layers, from what is done first to what depends on it.

Only numbers go in and come out, and the same graph always looks the same.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

BOX_WIDTH, BOX_HEIGHT = 220.0, 44.0
COLUMN, ROW = 290.0, 60.0
# A layer with more tasks takes several columns; what nothing connects is put below in rows.
TALLEST = 48
SWEEPS = 4
# A longer arrow goes straight, and no more bends than these are made in all.
LONGEST, MOST_BENDS = 12, 8000


class Placed(NamedTuple):
    """The middle of a box, and its layer."""

    layer: int
    x: float
    y: float


class Layout(NamedTuple):
    """Where each task is, through which points each arrow goes, and how much room all take."""

    places: Mapping[int, Placed]
    points: Sequence[list[float]]
    width: float
    height: float


def layout(count: int, arrows: Sequence[tuple[int, int]]) -> Layout:
    """Place `count` tasks, which are numbered in the order that they should have."""
    layers = _layers(count, arrows)
    used = {end for arrow in arrows for end in arrow}
    chains, rows = _with_bends(layers, arrows, [n for n in range(count) if n in used])
    _untangle(rows, chains)
    xs, ys, columns = _coordinates(rows)
    places = {each: Placed(layers[each], xs[each], ys[each]) for each in sorted(used)}
    below = max(ys.values(), default=-ROW / 2) + ROW
    alone = [number for number in range(count) if number not in used]
    across = max(columns, round((len(alone) * ROW / COLUMN) ** 0.5), 1)
    for at, number in enumerate(alone):
        x, y = (at % across) * COLUMN + COLUMN / 2, below + at // across * ROW
        places[number] = Placed(0, x, y)
    points = [[part for each in chain for part in (xs[each], ys[each])] for chain in chains]
    width = max((each.x for each in places.values()), default=0.0) + COLUMN / 2
    height = max((each.y for each in places.values()), default=0.0) + ROW / 2
    return Layout(places, [_to_edges(each) for each in points], width, height)


def _layers(count: int, arrows: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each: behind all that it depends on, and no further ahead than it has to be."""
    before: dict[int, list[int]] = defaultdict(list)
    after: dict[int, list[int]] = defaultdict(list)
    for source, target in arrows:
        before[target].append(source)
        after[source].append(target)
    left = [len(before[number]) for number in range(count)]
    layers = [0] * count
    waiting = [number for number in range(count) if not left[number]]
    ordered: list[int] = []
    while waiting:
        number = waiting.pop()
        ordered.append(number)
        for target in after[number]:
            layers[target] = max(layers[target], layers[number] + 1)
            left[target] -= 1
            if not left[target]:
                waiting.append(target)
    for number in reversed(ordered):  # closer to what waits for it
        if after[number]:
            layers[number] = max(layers[number], min(layers[each] for each in after[number]) - 1)
    return layers


def _with_bends(
    layers: Sequence[int], arrows: Sequence[tuple[int, int]], shown: Iterable[int]
) -> tuple[list[list[int]], list[list[int]]]:
    """Each arrow as a chain of neighbours, with a bend in each layer that it crosses; the layers.

    Bends have the numbers after the tasks'.
    """
    rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for number in shown:
        rows[layers[number]].append(number)
    chains, following = [], len(layers)
    for source, target in arrows:
        span = range(layers[source] + 1, layers[target])
        is_bent = 0 < len(span) <= LONGEST and following - len(layers) < MOST_BENDS
        bends = []
        for layer in span if is_bent else ():
            rows[layer].append(following)
            bends.append(following)
            following += 1
        chains.append([source, *bends, target])
    return chains, rows


def _untangle(rows: list[list[int]], chains: Sequence[Sequence[int]]) -> None:
    """Order each layer by the middle of its neighbours, forwards and backwards."""
    before: dict[int, list[int]] = defaultdict(list)
    after: dict[int, list[int]] = defaultdict(list)
    for chain in chains:
        for source, target in pairwise(chain):
            before[target].append(source)
            after[source].append(target)
    place = {number: float(at) for row in rows for at, number in enumerate(row)}
    for sweep in range(SWEEPS):
        near, order = (before, rows) if sweep % 2 == 0 else (after, rows[::-1])
        for row in order:
            row.sort(key=lambda each: _middle(each, near, place))
            place.update((number, float(at)) for at, number in enumerate(row))


def _middle(number: int, near: Mapping[int, list[int]], place: Mapping[int, float]) -> float:
    found = near.get(number)
    return sum(place[each] for each in found) / len(found) if found else place[number]


def _coordinates(
    rows: Sequence[Sequence[int]],
) -> tuple[dict[int, float], dict[int, float], int]:
    """Where everything is, and how many columns that takes."""
    xs: dict[int, float] = {}
    ys: dict[int, float] = {}
    columns, tallest = 0, max((min(len(row), TALLEST) for row in rows), default=0)
    for row in rows:
        parts = [row[at : at + TALLEST] for at in range(0, len(row), TALLEST)]
        for part in parts:
            above = (tallest - len(part)) * ROW / 2
            for at, number in enumerate(part):
                xs[number] = columns * COLUMN + COLUMN / 2
                ys[number] = above + at * ROW + ROW / 2
            columns += 1
    return xs, ys, columns


def _to_edges(points: list[float]) -> list[float]:
    """An arrow from the right side of one box to the left side of the other."""
    return [points[0] + BOX_WIDTH / 2, *points[1:-2], points[-2] - BOX_WIDTH / 2, points[-1]]
