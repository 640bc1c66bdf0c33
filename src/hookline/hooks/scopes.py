"""Which hooks apply at a point: the agent's, the task type's, the project's or the default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.hooks.names import short_name
from hookline.domain.text.terminal import one_line
from hookline.errors import BadInput
from hookline.hooks.builtin import POINT_DEFAULTS
from hookline.hooks.registry import Hook, HookRegistry, built_in
from hookline.immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from hookline.domain.hooks.records import Delivery
    from hookline.ports.calls import Calls


class HookScopes(Immutable):
    """The hooks of a project, and those of agents and task types that replace them at a point.

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
        """The hooks that run at a point, in order, including those that are switched off."""
        for scope, name in ((self.of_agents, agent), (self.of_types, task_type)):
            own = scope.get(name or "", {}).get(point)
            if own is not None:
                return own
        found = self.registry.subscribers(point)
        if found or point in self.configured:
            return found
        return [built_in(name, (point,)) for name in POINT_DEFAULTS.get(point, ())]

    def all_hooks_at(self, point: str) -> list[Hook]:
        """The configured hooks of a point, in every scope."""
        own = [hook for _, hook in self.owned() if point in hook.points]
        return [*self.registry.subscribers(point), *own]

    def find(self, name: str) -> Hook | None:
        """The hook of that name in any scope, or None."""
        own = (hook for _, hook in self.owned() if hook.name == name)
        return self.registry.find(name) or next(own, None)

    def get(self, name: str) -> Hook:
        """The hook of that name in any scope, or UnknownHook with the nearest name."""
        return self.find(name) or self.registry.get(name)

    def meant(self, name: str) -> Hook:
        """The hook that a person names: as it is listed, or as views call it if no other is."""
        called = {each.name: each for each in self._everyones() if short_name(each.name) == name}
        if self.find(name) is None and len(called) > 1:
            names = ", ".join(f"'{one_line(each)}'" for each in called)
            raise BadInput(f"{len(called)} hooks are called '{name}'", help=f"name one: {names}")
        return self.find(name) or next(iter(called.values()), None) or self.registry.get(name)

    def any_of_kind(self, kind: str) -> bool:
        """Whether a hook in any scope is of a kind."""
        return any(hook.kind == kind for hook in self._everyones())

    def failing(self, calls: Calls) -> Iterator[Delivery]:
        """The last call or action of each configured hook that failed when it was last called."""
        for name in dict.fromkeys(hook.name for hook in self._everyones() if hook.enabled):
            yield from calls.last_failures(name)

    def _everyones(self) -> list[Hook]:
        return [*self.registry.list(), *(hook for _, hook in self.owned())]

    def owned(self) -> Iterator[tuple[str, Hook]]:
        """The hooks of agents and of task types, each with its owner."""
        for kind, scope in (("agent", self.of_agents), ("type", self.of_types)):
            for owner, points in scope.items():
                yield from ((f"{kind} {owner}", h) for hooks in points.values() for h in hooks)
