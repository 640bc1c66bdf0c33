"""Every effective value of the configuration and where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.config.load import read_settings
from hookline.domain.store_urls import shown_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.config.reading.problems import Mark
    from hookline.config.settings import Settings
    from hookline.hooks.registry import Hook
    from hookline.project import Project

DEFAULT = "default"
# These are URLs, which may hold a password.
STORES = frozenset({"store", "store_listen"})


class ShownValue(msgspec.Struct, frozen=True):
    """A value, its dotted key, and its origin: a file and line, or `default`."""

    key: str
    value: Any
    origin: str


def effective(project: Project, home: str) -> tuple[list[ShownValue], Settings]:
    """All values in the order of the file's sections, and the settings they belong to."""
    loaded = read_settings(project, home)
    settings = loaded.settings
    users = f"{home}/"
    shown = [
        *_events(settings, loaded.origins),
        *_leaves(settings.sections, "", loaded.origins),
        *(_hook(each) for each in settings.hooks),
        *_scoped("task_types", settings.type_hooks),
        *_scoped("agents", settings.agent_hooks),
        *_tunings(settings),
    ]
    return [_of_user(each, users) for each in shown], settings


def _events(settings: Settings, origins: dict[str, Mark]) -> Iterator[ShownValue]:
    for index, name in enumerate(settings.events):
        yield ShownValue(f"events[{index}]", name, _origin(f"events[{index}]", origins))


def _leaves(value: Any, path: str, origins: dict[str, Mark]) -> Iterator[ShownValue]:
    if isinstance(value, msgspec.Struct):
        # Hooks are shown by their own lines, with their names.
        fields = [field for field in value.__struct_fields__ if field != "hooks"]
        children = [(f"{path}.{f}" if path else f, getattr(value, f)) for f in fields]
    elif isinstance(value, dict) and value:
        children = [(f"{path}.{key}", each) for key, each in value.items()]
    elif isinstance(value, list) and value:
        children = [(f"{path}[{index}]", each) for index, each in enumerate(value)]
    else:
        shown = shown_url(value) if path in STORES and value else value
        yield ShownValue(path, shown, _origin(path, origins))
        return
    for key, each in children:
        yield from _leaves(each, key, origins)


def _origin(path: str, origins: dict[str, Mark]) -> str:
    """Where a value is set; a value of free form is marked at its key."""
    while path:
        if path in origins:
            return str(origins[path])
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return DEFAULT


def _hook(hook: Hook) -> ShownValue:
    fields = msgspec.to_builtins(hook)
    value = {key: each for key, each in fields.items() if key not in ("name", "origin")}
    return ShownValue(f"hooks.{hook.name}", value, hook.origin)


def _scoped(section: str, scoped: dict[str, dict[str, list[Hook]]]) -> Iterator[ShownValue]:
    for name, points in scoped.items():
        for hooks in points.values():
            for each in hooks:
                shown = _hook(each)
                yield ShownValue(f"{section}.{name}.{shown.key}", shown.value, shown.origin)


def _tunings(settings: Settings) -> Iterator[ShownValue]:
    for name, tuning in settings.tuning.items():
        for key in ("enabled", "priority"):
            if getattr(tuning, key) is not None:
                yield ShownValue(f"built-in.{name}.{key}", getattr(tuning, key), tuning.origin)


def _of_user(shown: ShownValue, users: str) -> ShownValue:
    if not shown.origin.startswith(users):
        return shown
    return ShownValue(shown.key, shown.value, f"user:{shown.origin.removeprefix(users)}")
