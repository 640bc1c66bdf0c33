"""The hooks that installed plugins bring: functions by name, and folders of scripts."""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from hookline import plugins
from hookline.config.problems import Mark
from hookline.hooks.layers import scan
from hookline.hooks.registry import Hook, check_hook

if TYPE_CHECKING:
    from collections.abc import Collection

    from hookline.config.problems import Report


def read_plugins(points: Collection[str], report: Report) -> list[Hook]:
    """Every hook of every plugin, by the names of the plugins; one that fails is a warning."""
    hooks: list[Hook] = []
    for entry in sorted(plugins.found(plugins.HOOKS), key=lambda each: each.name):
        try:
            hooks += _hooks_of(entry.name, entry.load(), points, report)
        except Exception as problem:  # noqa: BLE001  # a plugin may raise anything
            report.warning(
                "plugin",
                Mark(f"plugin {entry.name}"),
                f"{entry.value} cannot be loaded: {type(problem).__name__}: {problem}",
                consequence="none of its hooks run",
            )
    return hooks


def _hooks_of(plugin: str, brought: Any, points: Collection[str], report: Report) -> list[Hook]:
    """A hook, several, or a folder (or package) with `<point>/` folders of scripts."""
    if isinstance(brought, Hook):
        brought = [brought]
    if isinstance(brought, ModuleType):
        brought = os.path.dirname(brought.__file__ or "")
    if isinstance(brought, str | os.PathLike):
        found = scan(os.fspath(brought), "plugin", points)
        for each in found.findings:
            # A package holds modules beside its hooks.
            if each.code != "stray-hook" and not os.path.basename(each.path).startswith("__"):
                report.warning(each.code, Mark(each.path), each.message, help=each.help)
        return [msgspec.structs.replace(h, name=f"{plugin}/{h.name}") for h in found.hooks]
    for each in brought:
        check_hook(each, points)
    return [_callable(plugin, each) for each in brought]


def _callable(plugin: str, hook: Hook) -> Hook:
    """A function of a plugin, as something that a child process can find."""
    function = hook.handler
    return msgspec.structs.replace(
        hook,
        name=f"{plugin}/{hook.name}",
        kind="python",
        target=f"{function.__module__}:{function.__qualname__}",
        layer="plugin",
        origin=f"plugin {plugin}",
        handler=None,
    )
