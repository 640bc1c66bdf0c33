"""What trust covers of a loaded configuration: the one list for every surface, so hashes agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from hookline.trust.cover import covered_uses, keyed_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.hooks.registry import Hook
    from hookline.project import Project

_Scoped = dict[str, dict[str, list["Hook"]]]


class Configuration(Protocol):
    """The part of the settings that can name files."""

    hooks: list[Hook]
    type_hooks: _Scoped
    agent_hooks: _Scoped
    raw_sections: msgspec.Raw


class WithVariables(Configuration, Protocol):
    """Settings that say what agents find in their environment."""

    @property
    def agent_variables(self) -> dict[str, dict[str, str]]:
        """What each agent finds in its environment."""
        ...


def configured_uses(project: Project, settings: Configuration) -> dict[str, str]:
    """Absolute path -> its first use, for all files that the settings bring or name."""
    sections = msgspec.json.decode(settings.raw_sections)
    return covered_uses(project, configured_hooks(settings), keyed_files(project, sections))


def configured_hooks(settings: Configuration) -> list[Hook]:
    """Every configured hook: of points, of task types and of agents."""
    return [
        *settings.hooks,
        *_flat(settings.type_hooks),
        *_flat(settings.agent_hooks),
    ]


def configured_variables(settings: WithVariables, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment, with what the configuration adds to it for agents and hooks."""
    found = dict(environ)
    hooks = [(hook.name, hook.env) for hook in configured_hooks(settings)]
    for owner, env in (*settings.agent_variables.items(), *hooks):
        for name, value in env.items():
            known = found.setdefault(name, value)
            if known != value:  # the same name may have another value for each
                found[f"{owner}.{name}"] = value
    return found


def _flat(scoped: Mapping[str, Mapping[str, list[Hook]]]) -> list[Hook]:
    return [hook for points in scoped.values() for hooks in points.values() for hook in hooks]
