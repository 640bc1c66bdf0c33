"""Settings: what a project's configuration means. Light, because every data command loads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.config.reading.problems import ERROR, Problem
from hookline.hooks.registry import Hook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.config.types import Sections


class Tuning(msgspec.Struct, frozen=True):
    """What the configuration says about a built-in react hook; None leaves it as it is."""

    enabled: bool | None = None
    priority: int | None = None
    origin: str = ""


class StoreSetting(msgspec.Struct, frozen=True):
    """Where a file says that the store is, and how to be woken by changes."""

    url: str
    listen: str | None = None


class Settings(msgspec.Struct, kw_only=True):
    """Everything configured, with every problem found on the way.

    `hooks` are those of the project and the user in position order. `points` are the points
    they mention, an empty list included: there a default of the point is replaced. `type_hooks`
    and `agent_hooks` hold the hooks of task types and agents, by name and point, which replace
    those of the point. The sections are kept as JSON and read when first asked for.
    `users_notifications` and `users_telemetry` are what the user's own file says about them: what
    counts where the repository is not trusted. `stores` is what the files of the `project` and of
    the `user` say.
    `config_digest` is the sha256 of the very hookline.yaml that was read. `is_gone` says that the
    one that was trusted is missing: nobody knows by which gates its types are held.
    """

    hooks: list[Hook] = []
    tuning: dict[str, Tuning] = {}
    problems: list[Problem] = []
    events: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    type_hooks: dict[str, dict[str, list[Hook]]] = {}
    agent_hooks: dict[str, dict[str, list[Hook]]] = {}
    raw_sections: msgspec.Raw = msgspec.Raw(b"{}")
    users_notifications: dict[str, Any] = {}
    users_telemetry: dict[str, Any] = {}
    stores: dict[str, StoreSetting] = {}
    config_digest: str = ""
    is_gone: bool = False

    @property
    def has_errors(self) -> bool:
        """Whether anything must be fixed before configured hooks may run."""
        return any(each.severity == ERROR for each in self.problems)

    @property
    def all_hooks(self) -> list[Hook]:
        """Every configured hook: of points, of task types and of agents."""
        scoped = (*self.type_hooks.values(), *self.agent_hooks.values())
        return [*self.hooks, *(hook for at in scoped for hooks in at.values() for hook in hooks)]

    @property
    def sections(self) -> Sections:
        """The settings besides hooks."""
        # Data commands never look at sections, and their types take time to build.
        from hookline.config.types import Sections

        return typed.decode(self.raw_sections, Sections)

    @property
    def may_create(self) -> dict[str, list[str]]:
        """What agents may create, by the type of their task; read without other sections."""
        kinds = msgspec.json.decode(self.raw_sections).get("task_types", {})
        return {name: kind.get("may_create", []) for name, kind in kinds.items()}

    @property
    def notifications(self) -> dict[str, Any]:
        """When people are told; read without the types of all sections."""
        found: dict[str, Any] = msgspec.json.decode(self.raw_sections).get("notifications", {})
        return found

    @property
    def telemetry(self) -> dict[str, Any]:
        """Where telemetry goes, by the user's own file, else by the repository's; read alone."""
        found: dict[str, Any] = msgspec.json.decode(self.raw_sections).get("telemetry", {})
        return found

    @property
    def agent_variables(self) -> dict[str, dict[str, str]]:
        """The environment that each agent profile adds; read without the types of all sections."""
        profiles = msgspec.json.decode(self.raw_sections).get("agents", {})
        return {name: profile.get("env", {}) for name, profile in profiles.items()}

    @property
    def names(self) -> set[str]:
        """What the configuration gives a name to: hooks, types, agents, flows, steps, rules."""
        found = {hook.name for hook in self.all_hooks}
        return found.union(self.events, _names_in(msgspec.json.decode(self.raw_sections)))


def _names_in(section: Any) -> Iterator[str]:
    """Every key of a section, and what its entries are called."""
    if isinstance(section, list):
        for each in section:
            yield from _names_in(each)
    elif isinstance(section, dict):
        yield from section
        yield from (text for key in ("name", "id") if isinstance(text := section.get(key), str))
        for each in section.values():
            yield from _names_in(each)


def decode(body: bytes) -> Settings | None:
    """Settings from their JSON, or None if that is not what it holds."""
    try:
        settings = typed.decode(body, Settings)
    except msgspec.MsgspecError:
        return None
    settings.raw_sections = settings.raw_sections.copy()
    return settings
