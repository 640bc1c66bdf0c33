"""The task graph as a picture: Mermaid, DOT, or lines for a terminal. Used by `task graph`.

Arrows go the way work flows, from a dependency to what depends on it. Goals are hostile text:
nothing in them can end a label, start a directive or move a cursor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookline.domain import tasks as t
from hookline.domain.text.display import spelled
from hookline.domain.text.terminal import cut
from hookline.domain.text.terminal import width as width_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hookline.domain.tasks import Edge, Task

MAX_LABEL = 80
MIN_GOAL = 12


class Look(NamedTuple):
    """How a state or a status is shown."""

    mark: str
    style: str
    fill: str
    stroke: str


_LOOKS = {
    t.CREATED: Look("·", "dim", "#f8f9fa", "#adb5bd"),
    t.READY: Look("○", "cyan", "#e7f5ff", "#1c7ed6"),
    t.ACTIVE: Look("●", "yellow", "#fff3bf", "#f08c00"),
    t.BLOCKED: Look("▲", "magenta", "#ffe8cc", "#d9480f"),
    t.SUBMITTED: Look("⧖", "blue", "#e5dbff", "#6741d9"),
    t.NEEDS_CONTINUATION: Look("↻", "yellow", "#fff9db", "#e67700"),
    t.COMPLETED: Look("✓", "green", "#d3f9d8", "#2f9e44"),
    t.FAILED: Look("✗", "red", "#ffe3e3", "#c92a2a"),
    t.CANCELLED: Look("⊘", "dim", "#e9ecef", "#868e96"),
}


class _Arrow(NamedTuple):
    """Work flows from `source` to `target`; `spawned` if the one brought forth the other."""

    source: str
    target: str
    spawned: bool


def mermaid(tasks: Sequence[Task], edges: Sequence[Edge]) -> str:
    """The graph as a Mermaid flow chart."""
    ordered = sorted(tasks, key=_order)
    lines = ["flowchart LR"]
    lines += [
        f'  {_node(task.id)}["{mermaid_text(_label(task))}"]:::{task.state}' for task in ordered
    ]
    for arrow in _arrows(ordered, edges):
        line = "-.->" if arrow.spawned else "-->"
        lines.append(f"  {_node(arrow.source)} {line} {_node(arrow.target)}")
    used = {task.state for task in ordered}
    lines += [mermaid_class(state, look) for state, look in _LOOKS.items() if state in used]
    return "\n".join(lines) + "\n"


def dot(tasks: Sequence[Task], edges: Sequence[Edge]) -> str:
    """The graph in Graphviz' language."""
    ordered = sorted(tasks, key=_order)
    lines = [
        "digraph tasks {",
        "  rankdir=LR;",
        '  node [shape=box, style="rounded,filled", fontname="sans-serif"];',
    ]
    lines += [dot_node(_node(task.id), _label(task), _LOOKS[task.state]) for task in ordered]
    for arrow in _arrows(ordered, edges):
        style = " [style=dotted]" if arrow.spawned else ""
        lines.append(f"  {_node(arrow.source)} -> {_node(arrow.target)}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def _order(task: Task) -> tuple[int, int]:
    return (task.priority, t.task_number(task.id))


def _node(task_id: str) -> str:
    # A dash in a name can be read as a part of an arrow.
    return f"T{t.task_number(task_id)}"


def _arrows(ordered: Sequence[Task], edges: Iterable[Edge]) -> list[_Arrow]:
    """The arrows between the tasks that are shown, in the tasks' order, each once."""
    place = {task.id: index for index, task in enumerate(ordered)}
    arrows = {
        _Arrow(edge.to_id, edge.from_id, edge.type == t.SPAWNED_BY)
        for edge in edges
        if edge.from_id in place and edge.to_id in place
    }
    return sorted(arrows, key=lambda each: (place[each.source], place[each.target], each.spawned))


def mermaid_text(text: str) -> str:
    """A label in Mermaid's quotes."""
    # Mermaid looks for directives, comments and entities inside quotes too, so all but plain
    # words is written as character codes.
    return "".join(c if c.isalnum() or c in " .,-_/()!?" else f"#{ord(c)};" for c in text)


def mermaid_class(name: str, look: Look) -> str:
    """The colours of a state."""
    return f"  classDef {name} fill:{look.fill},stroke:{look.stroke},color:#212529"


def dot_node(name: str, text: str, look: Look) -> str:
    """A node in Graphviz' language."""
    label = text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return f'  {name} [label="{label}", fillcolor="{look.fill}", color="{look.stroke}"];'


def _label(task: Task) -> str:
    return cut(f"{task.id} {plain(task.goal)}", MAX_LABEL)


# The terminal.


class _TreeLine(NamedTuple):
    """One line of the tree: a task, or a reference to one that is printed above."""

    task: Task
    prefix: str
    parent: int
    is_reference: bool


def terminal(
    tasks: Sequence[Task], edges: Sequence[Edge], *, width: int, style: Callable[[str, str], str]
) -> list[str]:
    """The graph as a tree in lines of at most `width` columns (0: any), roots first.

    A task with several parents is printed below the first and named again below the others.
    """
    ordered = sorted(tasks, key=_order)
    rows = _rows(ordered, _children(ordered, edges), _max_indent(width))
    finished = _finished(rows)
    return [_line(row, width, style, dim=done) for row, done in zip(rows, finished, strict=True)]


def _max_indent(width: int) -> int:
    # Half of the line, in whole steps of the tree, so that the lines stay aligned.
    return max(width // 6, 2) * 3 if width > 0 else 120


def _children(ordered: Sequence[Task], edges: Iterable[Edge]) -> dict[str, list[_Arrow]]:
    children: dict[str, list[_Arrow]] = {task.id: [] for task in ordered}
    arrows = _arrows(ordered, edges)
    flow = {(arrow.source, arrow.target) for arrow in arrows if not arrow.spawned}
    for arrow in arrows:
        pair = (arrow.source, arrow.target)
        # One line for a pair is enough, and a dependency says more than a parent.
        if not arrow.spawned or (pair not in flow and pair[::-1] not in flow):
            children[arrow.source].append(arrow)
    return children


def _rows(
    ordered: Sequence[Task], children: dict[str, list[_Arrow]], max_indent: int
) -> list[_TreeLine]:
    by_id = {task.id: task for task in ordered}
    has_parent = {arrow.target for arrows in children.values() for arrow in arrows}
    roots = [task for task in ordered if task.id not in has_parent]
    rows: list[_TreeLine] = []
    printed: set[str] = set()
    # Parents and dependencies together may form a circle; those tasks have no root and come last.
    for root in (*roots, *ordered):
        waiting = [] if root.id in printed else [_TreeLine(root, "", -1, False)]
        while waiting:
            row = waiting.pop()
            if row.task.id in printed:
                rows.append(row._replace(is_reference=True))
                continue
            printed.add(row.task.id)
            rows.append(row)
            below = _below(row.prefix, children[row.task.id], max_indent)
            waiting += [
                _TreeLine(by_id[arrow.target], prefix, len(rows) - 1, False)
                for arrow, prefix in reversed(below)
            ]
    return rows


def _below(prefix: str, arrows: list[_Arrow], max_indent: int) -> list[tuple[_Arrow, str]]:
    """The children of a line with their own prefixes; a deep tree loses its left side."""
    stem = prefix[:-3] + ("│  " if prefix[-3:-2] == "├" else "   ") if prefix else ""
    if len(stem) > max_indent:
        stem = "…" + stem[1 - max_indent :]
    last = len(arrows) - 1
    return [
        (arrow, f"{stem}{'└' if index == last else '├'}{'┄' if arrow.spawned else '─'} ")
        for index, arrow in enumerate(arrows)
    ]


def _finished(rows: Sequence[_TreeLine]) -> list[bool]:
    """For each row, whether it and all that hangs below it is completed."""
    finished = [row.task.state == t.COMPLETED for row in rows]
    for index in range(len(rows) - 1, -1, -1):
        parent = rows[index].parent
        if parent >= 0 and not finished[index]:
            finished[parent] = False
    return finished


def _line(row: _TreeLine, width: int, style: Callable[[str, str], str], *, dim: bool) -> str:
    if row.is_reference:
        return style(_fitted(f"{row.prefix}{row.task.id} (above)", width), "dim")
    look = _LOOKS[row.task.state]
    line = _fitted(_task_text(row, look.mark, width), width)
    if dim:
        return style(line, "dim")
    before, mark, after = line.partition(look.mark)
    return f"{before}{style(mark, look.style)}{after}" if mark else line


def _task_text(row: _TreeLine, mark: str, width: int) -> str:
    task = row.task
    head = f"{row.prefix}{mark} {task.id} "
    tail = f" [{plain(', '.join(task.labels))}]" if task.labels else ""
    tail += f" (claimed by {plain(task.claim.agent)})" if task.claim else ""
    goal = plain(task.goal)
    room = width - width_of(head + tail)
    # The goal gives way to labels and claim, but never vanishes for them.
    return f"{head}{cut(goal, max(room, MIN_GOAL)) if width > 0 else goal}{tail}"


# Text.


def _fitted(line: str, width: int) -> str:
    return cut(line, width) if width > 0 else line  # 0: any width


def plain(text: str) -> str:
    """One line of printable text; what a terminal would obey is shown instead."""
    flat = " ".join(text[: 100 * MAX_LABEL].split())
    return flat if flat.isprintable() else "".join(map(spelled, flat))
