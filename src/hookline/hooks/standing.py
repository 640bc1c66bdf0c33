"""Which hooks stand at a point: of the task's type, of the project, by default, of the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookline.hooks.builtin import POINT_DEFAULTS
from hookline.hooks.registry import Hook

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from hookline.domain.records import Delivery
    from hookline.hooks.registry import HookRegistry
    from hookline.ports.store import Calls


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
        own = [hook for _, hook in self.owned() if point in hook.points]
        return [*self.registry.subscribers(point), *own]

    def find(self, name: str) -> Hook | None:
        """The hook of that name, whoever it is for, or None."""
        own = (hook for _, hook in self.owned() if hook.name == name)
        return self.registry.find(name) or next(own, None)

    def get(self, name: str) -> Hook:
        """The hook of that name, whoever it is for, or UnknownHook with the nearest name."""
        return self.find(name) or self.registry.get(name)

    def any_of_kind(self, kind: str) -> bool:
        """Whether some hook is of a kind, whoever it is for."""
        own = (hook for _, hook in self.owned())
        return any(hook.kind == kind for hook in (*self.registry.list(), *own))

    def failing(self, calls: Calls) -> Iterator[Delivery]:
        """The last call or action of each hook that stands and failed when it was last called."""
        hooks = [*self.registry.list(), *(hook for _, hook in self.owned())]
        for name in dict.fromkeys(hook.name for hook in hooks if hook.enabled):
            yield from calls.last_failures(name)

    def owned(self) -> Iterator[tuple[str, Hook]]:
        """The hooks of agents and of types of tasks, with whom each is for."""
        for kind, scope in (("agent", self.of_agents), ("type", self.of_types)):
            for owner, points in scope.items():
                yield from ((f"{kind} {owner}", h) for hooks in points.values() for h in hooks)


def _default(name: str, point: str) -> Hook:
    return Hook(
        name=name,
        points=(point,),
        kind="built-in",
        target=name,
        layer="built-in",
        origin="built-in",
    )
