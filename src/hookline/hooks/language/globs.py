"""Path patterns for `changed()` and text patterns for `matches()`, without regular expressions.

`*` and `?` stay within one folder's name, `**` spans folders; every other character is literal.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from hookline.immutable import Immutable

_WILD = frozenset("*?")


class _Pattern(Immutable):
    """The names of a path pattern; any folders may come before those in `free`."""

    names: tuple[str, ...]
    free: frozenset[int]


class _Wildcards(Immutable):
    """A pattern as bits: bit i stands for 'the first i characters of the pattern are matched'."""

    accepts: dict[str, int]
    accepts_any: int
    stars: int
    end: int


def glob_match(path: str, pattern: str) -> bool:
    """Whether a path with `/` matches: `src/**`, `docs/*.md`, `*.py` (in any folder), `docs/`.

    A pattern without a slash is tried on the file's name, one with a slash on the whole path.
    """
    wanted = _path_pattern(pattern)
    names, reached = wanted.names, {0}
    for name in path.split("/"):
        onward = {i + 1 for i in reached if i < len(names) and text_match(name, names[i])}
        reached = onward | (reached & wanted.free)
    return bool(names) and len(names) in reached


def matches_any(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path matches one of the patterns."""
    return any(glob_match(path, pattern) for pattern in patterns)


def takes_place(path: str, pattern: str) -> bool:
    """Whether a file or link is named like a folder of a pattern: `deploy` of `deploy/**`.

    Only folders with a plain name count: `*/**` does not mean every file at the top.
    """
    parts = pattern.removeprefix("./").split("/")
    plain = [
        end for end in range(1, len(parts)) if parts[end - 1] and not _WILD & {*parts[end - 1]}
    ]
    folders = ("/".join(parts[:end]) for end in plain)
    return any(path == each or ("/" in each and glob_match(path, each)) for each in folders)


def text_match(text: str, pattern: str) -> bool:
    """Whether the whole text matches a pattern with `*` (any text) and `?` (one character)."""
    if "*" not in pattern and "?" not in pattern:
        return text == pattern
    # All positions of the pattern advance together, so no text makes it go back and try again.
    wanted = _wildcards(pattern)
    reached = 1
    for character in text:
        accepted = wanted.accepts.get(character, wanted.accepts_any)
        reached = (reached & accepted) << 1 | (reached & wanted.stars)
        if not reached:
            return False
    return bool(reached & wanted.end)


@lru_cache(maxsize=256)
def _path_pattern(pattern: str) -> _Pattern:
    text = pattern.removeprefix("./")
    parts = text.split("/") if "/" in text else ["**", text]
    if parts[-1] in ("", "**") and len(text) > 0:
        # What lies below a folder, not the folder itself.
        parts[-1:] = ["**", "*"]
    names: list[str] = []
    free: set[int] = set()
    for part in parts:
        if part == "**":
            free.add(len(names))
        elif part:
            names.append(part)
    return _Pattern(tuple(names), frozenset(free))


@lru_cache(maxsize=256)
def _wildcards(pattern: str) -> _Wildcards:
    accepts: dict[str, int] = {}
    accepts_any = stars = 0
    position = 1
    for character in pattern:
        if character == "*":
            stars |= position
            continue
        if character == "?":
            accepts_any |= position
        else:
            accepts[character] = accepts.get(character, 0) | position
        position <<= 1
    accepts = {character: bits | accepts_any for character, bits in accepts.items()}
    return _Wildcards(accepts, accepts_any, stars, position)
