"""Installed plugins, found through their entry points; remembered, because looking takes long.

A plugin announces hooks under `hookline.hooks` and flows under `hookline.flows`.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hookline.digest import sha256
from hookline.files import make_private

if TYPE_CHECKING:
    from collections.abc import Sequence

HOOKS, FLOWS = "hookline.hooks", "hookline.flows"
_PLACES = ("site-packages", "dist-packages")


def found(group: str) -> Sequence[Any]:
    """The entry points of a group."""
    return _found(group, tuple(sys.path), stamp())


@lru_cache(maxsize=4)
def _found(group: str, places: tuple[str, ...], state: str) -> Sequence[Any]:
    from importlib.metadata import entry_points  # costs more than a whole command

    return tuple(entry_points(group=group))


def any_hooks(home: str) -> bool:
    """Whether any plugin brings hooks; asked for anew only after something was installed."""
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
