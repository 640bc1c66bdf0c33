"""Names of hooks as people read them."""

from __future__ import annotations

import re

_UNNAMED = re.compile(r"(?:[^\[]+/)?[\w-]+\[\d+\]:(.+)", re.DOTALL)


def short_name(hook: str) -> str:
    """What a hook without a name of its own calls, as its name says besides its place."""
    found = _UNNAMED.fullmatch(hook)
    return found[1] if found else hook
