"""Where the tasks of a graph are drawn."""

from __future__ import annotations

from itertools import pairwise

import pytest

from hookline.domain.pages.layout import BOX_HEIGHT, BOX_WIDTH, TALLEST, Layout, layout


def boxes_meet(found: Layout) -> bool:
    """Whether two boxes cover each other."""
    places = sorted((each.x, each.y) for each in found.places.values())
    seen: dict[float, list[float]] = {}
    for x, y in places:
        if any(abs(y - other) < BOX_HEIGHT for other in seen.get(x, ())):
            return True
        seen.setdefault(x, []).append(y)
    columns = sorted(seen)
    return any(b - a < BOX_WIDTH for a, b in pairwise(columns))


def test_nothing_needs_no_room_and_one_task_a_box() -> None:
    assert layout(0, []).places == {}
    (only,) = layout(1, []).places.values()
    assert (only.layer, only.x >= BOX_WIDTH / 2, only.y >= BOX_HEIGHT / 2) == (0, True, True)


def test_what_depends_on_something_is_right_of_it() -> None:
    arrows = [(0, 1), (1, 2), (0, 2), (3, 2)]
    found = layout(4, arrows)
    for source, target in arrows:
        assert found.places[source].x < found.places[target].x
        assert found.places[source].layer < found.places[target].layer
    # What only the last one needs is not further away from it than it has to be.
    assert found.places[3].layer == 1


def test_an_arrow_leads_from_one_box_to_the_other() -> None:
    found = layout(3, [(0, 1), (1, 2), (0, 2)])
    for (source, target), points in zip([(0, 1), (1, 2), (0, 2)], found.points, strict=True):
        begin, end = found.places[source], found.places[target]
        assert points[:2] == [begin.x + BOX_WIDTH / 2, begin.y]
        assert points[-2:] == [end.x - BOX_WIDTH / 2, end.y]
    assert len(found.points[2]) == 6  # it bends in the layer that it crosses


def test_lines_that_need_not_cross_do_not() -> None:
    found = layout(4, [(0, 3), (1, 2)])
    first, second = found.places[0].y < found.places[1].y, found.places[3].y < found.places[2].y
    assert first == second


@pytest.mark.parametrize("count", [2, TALLEST, TALLEST + 1, 500])
def test_no_box_covers_another(count: int) -> None:
    wide = layout(count, [(0, each) for each in range(1, count)])
    loose = layout(count, [])
    deep = layout(count, [(each, each + 1) for each in range(count - 1)])
    mixed = layout(count, [(each // 3, each) for each in range(1, count, 2)])
    for found in (wide, loose, deep, mixed):
        assert len(found.places) == count
        assert not boxes_meet(found)
        assert all(
            each.x <= found.width and each.y <= found.height for each in found.places.values()
        )


def test_a_circle_of_a_damaged_store_is_drawn_somehow() -> None:
    found = layout(4, [(0, 1), (1, 2), (2, 0), (2, 3)])
    assert len(found.places) == 4
