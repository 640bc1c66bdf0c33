"""Names of hooks as people read them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from hookline.domain.text.terminal import one_line

# Such as `stop[0]:evidence`, and `docs/stop[0].all_of[1].not[0]:promise` inside another one.
_UNNAMED = r"(?:[^\[]+/)?[\w-]+\[\d+\](?:\.\w+\[\d+\])*:(.+)"


def _unnamed(hook: str) -> re.Match[str] | None:
    # Most commands meet none, and the pattern is compiled at its first use.
    return re.fullmatch(_UNNAMED, hook, re.DOTALL) if "[" in hook else None


def short_name(hook: str) -> str:
    """What an unnamed hook runs, from the name that it was given."""
    found = _unnamed(hook)
    return found[1] if found else hook


def outside_name(hook: str, kind: str) -> str:
    """A hook's name for those who may not see what it runs: one without a name has its place."""
    found = _unnamed(hook)
    if found is None or kind == "built-in":
        return short_name(hook)
    return hook[: found.start(1) - 1]


def shown_hook(hook: str) -> str:
    """A hook as people read its name: short, and harmless to a terminal."""
    return one_line(short_name(hook))


def plain_names(hooks: Iterable[str]) -> dict[str, str]:
    """How people read each of these hooks' names: short, if that names no other of them."""
    short = {hook: short_name(hook) for hook in hooks}
    counts = Counter(short.values())
    return {hook: one_line(name if counts[name] == 1 else hook) for hook, name in short.items()}
