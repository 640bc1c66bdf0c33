"""Which hooks stand at a point: of the task's type, of the project, by default, of the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookline.hooks.builtin import POINT_DEFAULTS
from hookline.hooks.registry import Hook

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from hookline.hooks.registry import HookRegistry


class Standing(NamedTuple):
    """The hooks of a project, and whose own hooks replace them at a point.

    `configured` are the points that the configuration mentions, an empty list included: there
    the default of the point is replaced.
    """

    registry: HookRegistry
    configured: Collection[str] = ()
    of_types: Mapping[str, Mapping[str, Sequence[Hook]]] = {}
    of_agents: Mapping[str, Mapping[str, Sequence[Hook]]] = {}

    def hooks_at(
        self, point: str, *, agent: str | None = None, task_type: str | None = None
    ) -> Sequence[Hook]:
        """The hooks that run at a point, in order, those that are switched off included."""
        for scope, name in ((self.of_agents, agent), (self.of_types, task_type)):
            own = scope.get(name or "", {}).get(point)
            if own is not None:
                return own
        found = self.registry.subscribers(point)
        if found or point in self.configured:
            return found
        return [_default(name, point) for name in POINT_DEFAULTS.get(point, ())]

    def anyones(self, point: str) -> list[Hook]:
        """The configured hooks of a point, whoever they are for."""
        own = [points.get(point, ()) for points in self._scoped()]
        return [*self.registry.subscribers(point), *(hook for hooks in own for hook in hooks)]

    def find(self, name: str) -> Hook | None:
        """The hook of that name, whoever it is for, or None."""
        own = (hooks for points in self._scoped() for hooks in points.values())
        scoped = (hook for hooks in own for hook in hooks if hook.name == name)
        return self.registry.find(name) or next(scoped, None)

    def _scoped(self) -> list[Mapping[str, Sequence[Hook]]]:
        return [*self.of_agents.values(), *self.of_types.values()]


def _default(name: str, point: str) -> Hook:
    return Hook(
        name=name,
        points=(point,),
        kind="built-in",
        target=name,
        layer="built-in",
        origin="built-in",
    )
