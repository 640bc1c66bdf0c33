"""Flows and runs as pictures: steps in order, branches side by side. Used by `flow graph`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain.pages.drawing import (
    MAX_LABEL,
    Look,
    dot_node,
    mermaid_class,
    mermaid_text,
    plain,
)
from hookline.domain.text.terminal import cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from hookline.domain.runs.model import JournalEffect

ACTS = ("run", "task", "flow", "update_task", "agent", "hook", "breakpoint", "sleep", "noop")


LOOKS = {
    "": Look("○", "cyan", "#e7f5ff", "#1c7ed6"),
    "pending": Look("●", "yellow", "#fff3bf", "#f08c00"),
    "ok": Look("✓", "green", "#d3f9d8", "#2f9e44"),
    "error": Look("✗", "red", "#ffe3e3", "#c92a2a"),
}


class Node(NamedTuple):
    """One step or effect."""

    name: str
    kind: str
    text: str = ""
    status: str = ""


class Fork:
    """Branches side by side; each is a sequence of nodes and forks."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.branches: dict[str, list[Part]] = {}


Part = Node | Fork


def from_steps(steps: Iterable[dict[str, Any]]) -> list[Part]:
    """The parts of a flow that is written as steps."""
    return [_part(step) for step in steps]


def _part(step: Mapping[str, Any]) -> Part:
    if step.get("parallel"):
        fork = Fork(step["id"])
        fork.branches = {each["id"]: [_part(each)] for each in step["parallel"]}
        return fork
    act = next((name for name in ACTS if step.get(name) is not None), "")
    told = step.get(act)
    if isinstance(told, dict):
        told = told.get("goal") or told.get("prompt") or told.get("point") or told.get("action")
    return Node(step["id"], act, "" if told is True or told is None else str(told))


def from_effects(effects: Iterable[JournalEffect]) -> list[Part]:
    """The parts of a run, from the paths of its effects in the order they were asked for."""
    root: list[Part] = []
    forks: dict[str, Fork] = {}
    for effect in effects:
        *path, name = effect.effect_id.split("/")
        told = effect.command or effect.args.get("question") or effect.args.get("goal")
        where = _branch(root, forks, path, name)
        where.append(Node(name, effect.kind, str(told or effect.called_flow), effect.status))
    return root


def _branch(root: list[Part], forks: dict[str, Fork], path: list[str], name: str) -> list[Part]:
    """The sequence that an effect belongs to; a number in its path names a branch."""
    here, place, names = root, "", [*path, name]
    for index, part in enumerate(path):
        if part.isdigit() and place:
            continue
        place = "/".join(path[: index + 1])
        if place not in forks:
            forks[place] = Fork(part)
            here.append(forks[place])
        here = forks[place].branches.setdefault(names[index + 1].partition("#")[0], [])
    return here


def terminal(parts: Sequence[Part], style: Callable[[str, str], str]) -> list[str]:
    """The parts as lines, with branches indented below their fork."""
    return list(_lines(parts, "", style))


def _lines(parts: Sequence[Part], indent: str, style: Callable[[str, str], str]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Fork):
            yield f"{indent}{style('⑂', 'cyan')} {shown(part.name)}"
            for branch in part.branches.values():
                yield from _lines(branch, f"{indent}│  ", style)
        else:
            look = LOOKS[part.status]
            told = f"  {style(shown(part.text), 'dim')}" if part.text else ""
            mark = style(look.mark, look.style)
            yield f"{indent}{mark} {shown(part.name)} {style(part.kind, 'dim')}{told}"


class _Picture:
    """Nodes and arrows of a picture, numbered as they are met."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.nodes: list[Node] = []
        self.arrows: list[tuple[int, int]] = []
        self._sequence(parts, [])

    def _sequence(self, parts: Sequence[Part], before: list[int]) -> list[int]:
        for part in parts:
            if isinstance(part, Fork):
                branches = part.branches.values()
                before = [end for each in branches for end in self._sequence(each, before)]
            else:
                number = len(self.nodes)
                self.nodes.append(part)
                self.arrows += [(source, number) for source in before]
                before = [number]
        return before


def mermaid(parts: Sequence[Part]) -> str:
    """The parts as a Mermaid flow chart."""
    picture = _Picture(parts)
    lines = ["flowchart TD"]
    for number, node in enumerate(picture.nodes):
        lines.append(f'  n{number}["{mermaid_text(_label(node))}"]:::{_class(node.status)}')
    lines += [f"  n{source} --> n{target}" for source, target in picture.arrows]
    used = sorted({node.status for node in picture.nodes})
    lines += [mermaid_class(_class(status), LOOKS[status]) for status in used]
    return "\n".join(lines) + "\n"


def dot(parts: Sequence[Part]) -> str:
    """The parts in Graphviz' language."""
    picture = _Picture(parts)
    lines = ["digraph flow {", '  node [shape=box, style="rounded,filled"];']
    for number, node in enumerate(picture.nodes):
        lines.append(dot_node(f"n{number}", _label(node), LOOKS[node.status]))
    lines += [f"  n{source} -> n{target};" for source, target in picture.arrows]
    return "\n".join([*lines, "}"]) + "\n"


def _class(status: str) -> str:
    return status or "step"


def _label(node: Node) -> str:
    return shown(f"{node.name} {node.kind} {node.text}".strip())


def shown(text: str) -> str:
    """A label's text; commands and questions are untrusted."""
    return cut(plain(text), MAX_LABEL)
