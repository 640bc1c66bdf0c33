"""The open part of the task graph, laid out so that a page only has to draw it."""

from __future__ import annotations

from hookline.queries.page.shown import Shown


class GraphNode(Shown):
    """A task at its place; `x` and `y` are the middle of its box."""

    id: str
    goal: str
    state: str
    priority: int
    type: str | None
    agent: str | None
    layer: int
    x: float
    y: float


class GraphArrow(Shown):
    """From a dependency to what depends on it, through `points`: x, y, x, y."""

    source: str
    target: str
    kind: str
    points: list[float]


class GraphPage(Shown):
    """The graph: `left_out` of `total` tasks are not in it."""

    seq: int
    nodes: list[GraphNode]
    arrows: list[GraphArrow]
    width: float
    height: float
    box_width: float
    box_height: float
    total: int
    left_out: int
