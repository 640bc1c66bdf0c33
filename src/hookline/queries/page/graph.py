"""The open part of the task graph, laid out so that a page only has to draw it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.pages.layout import BOX_HEIGHT, BOX_WIDTH, layout
from hookline.domain.tasks import DEPENDS_ON, OPEN, SPAWNED_BY, STATES, task_number
from hookline.domain.text.display import untrusted
from hookline.queries.page.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hookline.app import App
    from hookline.domain.tasks import Edge, Task
    from hookline.ports.store import View

MAX_GOAL = 160


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


def graph_page(app: App, focus: str | None, *, whole: bool, limit: int) -> GraphPage:
    """The open tasks, or all; with a focus, what it depends on and what waits for it."""
    with app.read() as view:
        tasks = view.graph.tasks(states=STATES if whole or focus else OPEN)
        edges = view.graph.edges()
        if focus is not None:
            near = _near(view.graph.task(focus).id, edges)
            tasks = [task for task in tasks if task.id in near]
        tasks.sort(key=lambda task: (task.priority, task_number(task.id)))
        return _laid_out(view, tasks[:limit], edges, len(tasks))


def _near(focus: str, edges: Sequence[Edge]) -> Collection[str]:
    """A task with all that it depends on and all that depends on it, whatever is between."""
    found = {focus}
    for first, second in (("from_id", "to_id"), ("to_id", "from_id")):
        following: dict[str, list[str]] = {}
        for edge in edges:
            if edge.type == DEPENDS_ON:
                following.setdefault(getattr(edge, first), []).append(getattr(edge, second))
        left = [focus]
        while left:
            new = [each for each in following.get(left.pop(), ()) if each not in found]
            found.update(new)
            left += new
    return found


def _laid_out(view: View, tasks: Sequence[Task], edges: Sequence[Edge], total: int) -> GraphPage:
    place = {task.id: at for at, task in enumerate(tasks)}
    shown = [edge for edge in edges if edge.from_id in place and edge.to_id in place]
    kept = [edge for edge in shown if edge.type in (DEPENDS_ON, SPAWNED_BY)]
    kept = _once(kept)
    found = layout(len(tasks), [(place[edge.to_id], place[edge.from_id]) for edge in kept])
    nodes = [
        GraphNode(
            id=task.id,
            goal=untrusted(task.goal, MAX_GOAL),
            state=task.state,
            priority=task.priority,
            type=task.type,
            agent=task.claim.agent if task.claim is not None else None,
            **found.places[at]._asdict(),
        )
        for at, task in enumerate(tasks)
    ]
    arrows = [
        GraphArrow(source=edge.to_id, target=edge.from_id, kind=edge.type, points=points)
        for edge, points in zip(kept, found.points, strict=True)
    ]
    return GraphPage(
        seq=view.log.last(),
        nodes=nodes,
        arrows=arrows,
        width=found.width,
        height=found.height,
        box_width=BOX_WIDTH,
        box_height=BOX_HEIGHT,
        total=total,
        left_out=total - len(tasks),
    )


def _once(edges: Sequence[Edge]) -> list[Edge]:
    """One arrow between two tasks: a dependency counts before what brought forth what.

    Nothing that would close a circle is drawn: dependencies have none, and a task that was
    brought forth can be what its parent waits for.
    """
    ties = {(edge.from_id, edge.to_id) for edge in edges if edge.type == DEPENDS_ON}
    kept = []
    for edge in edges:
        ends = (edge.from_id, edge.to_id)
        is_tied = ends in ties or ends[::-1] in ties
        if edge.type == DEPENDS_ON or not is_tied:
            kept.append(edge)
    return kept
