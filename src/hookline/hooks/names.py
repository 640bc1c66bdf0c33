"""Names of hooks as people read them."""

from __future__ import annotations

import re

from hookline.domain.text.terminal import one_line

_UNNAMED = r"(?:[^\[]+/)?[\w-]+\[\d+\]:(.+)"


def short_name(hook: str) -> str:
    """What an unnamed hook runs, from the name that it was given."""
    found = re.fullmatch(_UNNAMED, hook, re.DOTALL)
    return found[1] if found else hook


def shown_hook(hook: str) -> str:
    """A hook as people read its name: short, and harmless to a terminal."""
    return one_line(short_name(hook))
