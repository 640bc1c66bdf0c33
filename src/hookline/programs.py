"""How Hookline starts itself: never with modules of the folder that it works in."""

from __future__ import annotations

import sys


def own_program(module: str, *words: str) -> tuple[str, ...]:
    """A command that runs one of our modules; `-P` keeps the current folder out of its imports."""
    return (sys.executable, "-P", "-m", module, *words)
