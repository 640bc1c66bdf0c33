"""Names of hooks: unique among all layers and blocks, so that every record tells one hook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.config.nodes import Mapping
from hookline.hooks.builtin import REACT_BUILTINS

if TYPE_CHECKING:
    from hookline.config.acts import Place
    from hookline.config.nodes import Node
    from hookline.config.problems import Mark, Report
    from hookline.hooks.registry import Hook


class Names:
    """Who has which name."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._owners: dict[str, Node] = {}
        self._shared: dict[tuple[str, int], Hook] = {}

    def share(self, hook: Hook, node: Node, place: Place) -> Hook:
        """The same entry at several points, through an alias, is one hook with several points."""
        shared = self._shared.setdefault((place.scope.prefix, id(node)), hook)
        if shared is not hook and place.point.name not in shared.points:
            shared.points += hook.points
            return shared
        if shared is hook:
            return self.claim(hook, node)
        mark = _name_mark(node)
        self._report.error(
            "duplicate-name",
            mark,
            f"hook '{hook.name}' stands twice at {place.point.name}",
            help="remove one of them",
        )
        return hook

    def claim(self, hook: Hook, node: Node) -> Hook:
        """Take the hook's name for it, or report who has it."""
        mark = _name_mark(node)
        owner = self._owners.setdefault(hook.name, node)
        if hook.name in REACT_BUILTINS:
            self._report.error(
                "duplicate-name",
                mark,
                f"'{hook.name}' is the name of a built-in hook",
                help="choose another name",
            )
        elif owner is not node:
            self._report.error(
                "duplicate-name",
                mark,
                f"hook '{hook.name}' is defined twice, first at {_name_mark(owner)}",
                help="give one of them another name",
            )
        if not hook.name.isprintable():
            self._report.error("bad-name", mark, "a hook's name must be printable, on one line")
        return hook


def _name_mark(node: Node) -> Mark:
    name = node.get("name") if isinstance(node, Mapping) else None
    return name.mark if name is not None else node.mark
