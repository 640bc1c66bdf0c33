"""What extends Hookline, and the installed plugins, found through their entry points.

A kind of hook, a driver or a forge is a module in its folder, and is called by the module's name.
A plugin adds one by an entry point of that name, hooks under `hookline.hooks` and flows under
`hookline.flows`. Looking for entry points takes long, so what is ours is found without.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any

from hookline.digest import sha256
from hookline.errors import BrokenPlugin
from hookline.files import make_private

HOOKS, FLOWS = "hookline.hooks", "hookline.flows"
_PLACES = ("site-packages", "dist-packages")


class ExtensionPoint:
    """A folder of modules that each do one thing in their own way, and plugins that do so too."""

    def __init__(self, group: str, package: str, noun: str, needs: str) -> None:
        self._group, self._package, self._noun, self._needs = group, package, noun, needs

    @cached_property
    def own(self) -> tuple[str, ...]:
        """The names of those that come with Hookline."""
        folder = os.path.join(os.path.dirname(__file__), *self._package.split(".")[1:])
        files = sorted(name for name in os.listdir(folder) if name.endswith(".py"))
        return tuple(each[:-3].replace("_", "-") for each in files if not each.startswith("_"))

    def installed(self) -> tuple[str, ...]:
        """The names of those that plugins bring; ours go before them."""
        return tuple(sorted({each.name for each in found(self._group)}.difference(self.own)))

    def knows(self, name: str) -> bool:
        """Whether there is one of that name."""
        return name in self.own or name in self.installed()

    def load(self, name: str) -> Any:
        """The one of that name; BrokenPlugin, which names it, if it cannot be used."""
        if name in self.own:
            return import_module(f"{self._package}.{name.replace('-', '_')}")
        entry = next((each for each in found(self._group) if each.name == name), None)
        if entry is None:
            raise BrokenPlugin(
                f"no {self._noun} is called '{name}'",
                help=f"install the package that provides it; Hookline has {', '.join(self.own)}",
            )
        try:
            extension = entry.load()
        except Exception as problem:  # noqa: BLE001  # a plugin may raise anything
            why = f"{type(problem).__name__}: {problem}"
        else:
            if callable(getattr(extension, self._needs, None)):
                return extension
            why = f"it has no function '{self._needs}'"
        raise BrokenPlugin(f"the {self._noun} '{name}' of {entry.value} cannot be loaded: {why}")


KINDS = ExtensionPoint("hookline.kinds", "hookline.hooks.kinds", "kind of hook", "run")
DRIVERS = ExtensionPoint("hookline.drivers", "hookline.adapters.agents.drivers", "driver", "turn")
FORGES = ExtensionPoint("hookline.forges", "hookline.adapters.forges", "forge", "open_forge")


def found(group: str) -> Sequence[Any]:
    """The entry points of a group."""
    return _found(group, tuple(sys.path), stamp())


@lru_cache(maxsize=4)
def _found(group: str, places: tuple[str, ...], state: str) -> Sequence[Any]:
    from importlib.metadata import entry_points  # costs more than a whole command

    return tuple(entry_points(group=group))


def any_hooks(home: str) -> bool:
    """Whether any plugin has hooks; checked again only after something was installed."""
    state = stamp()
    name = sha256(f"{sys.prefix}\0{sys.version}".encode()).hexdigest()[:32]
    path = os.path.join(home, "cache", f"plugins-{name}")
    try:
        with open(path, encoding="utf-8") as file:
            seen, _, answer = file.read().rpartition(" ")
        if seen == state:
            return answer == "yes"
    except OSError:  # not asked yet
        pass
    answer = "yes" if found(HOOKS) else "no"
    _remember(path, f"{state} {answer}")
    return answer == "yes"


def stamp() -> str:
    """Changes when a package is installed or removed."""
    parts = []
    for folder in sys.path:
        if folder.endswith(_PLACES):
            try:
                parts.append(f"{folder}:{os.stat(folder).st_mtime_ns}")
            except OSError:
                continue
    return ";".join(parts)


def _remember(path: str, text: str) -> None:
    temporary = f"{path}.{os.getpid()}"
    try:
        make_private(os.path.dirname(path))
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:  # a folder that cannot be written has no memory
        return
