r"""`{{name}}` in a text: the one way to ask for a value. `\{{name}}` is the text `{{name}}` itself.

A value that holds braces is never filled again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from hookline.immutable import Immutable

REFERENCE = re.compile(r"\{\{[ \t]*([A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)[ \t]*\}\}")


class Reference(Immutable):
    """A value that a text asks for by name or path, and where, with the sign that escapes it."""

    start: int
    end: int
    path: str
    escaped: bool


def references(text: str) -> Iterator[Reference]:
    """Every reference in a text, including escaped ones."""
    for match in REFERENCE.finditer(text):
        first = start = match.start()
        while first and text[first - 1] == "\\":
            first -= 1
        escaped = bool((start - first) % 2)
        yield Reference(start - escaped, match.end(), match[1], escaped)


def fill(text: str, look_up: Callable[[str], Any], show: Callable[[Any], str] = str) -> str:
    """A text with its values."""
    pieces, done = [], 0
    for each in references(text):
        inside = text[each.start + 1 : each.end] if each.escaped else show(look_up(each.path))
        pieces += [text[done : each.start], inside]
        done = each.end
    return "".join((*pieces, text[done:]))
