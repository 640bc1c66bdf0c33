"""Both sides of a conflict, cut to what an agent or a person needs to resolve it."""

from __future__ import annotations

import os

from hookline.adapters.git.door import cut, printable
from hookline.domain.repository import ConflictFile

SHOWN_FILES = 50
SHOWN_SIDE = 4000
_READ = 4 * 1024 * 1024
_FIRST, _BASE, _MIDDLE, _LAST = "<<<<<<<", "|||||||", "=======", ">>>>>>>"


def sides(top: str, name: str, ours: bytes | None, theirs: bytes | None) -> ConflictFile:
    """The conflicting passages of a file, or both of its versions where git marked none."""
    if ours is not None and theirs is not None:
        # The base is checked out when work is put on it, so git marks its side first.
        second, first = _passages(_marked(os.path.join(top, name)))
        if first or second:
            return ConflictFile(printable(name), cut(first, SHOWN_SIDE), cut(second, SHOWN_SIDE))
    return ConflictFile(printable(name), _shown(ours), _shown(theirs))


def _shown(side: bytes | None) -> str | None:
    if side is None:
        return None
    if b"\0" in side[:8000]:
        return f"(binary, {len(side)} bytes)"
    return cut(side.decode("utf-8", "replace"), SHOWN_SIDE)


def _marked(path: str) -> str:
    """The file as git left it, never followed out of the checkout by a link."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with open(fd, "rb") as file:
        return file.read(_READ).decode("utf-8", "replace")


def _passages(text: str) -> tuple[str, str]:
    """What stands between the markers, each passage after a mark of what was left out."""
    parts: tuple[list[str], list[str]] = ([], [])
    side: int | None = None
    for line in text.splitlines():
        word = line[:7]
        if word == _FIRST and side is None:
            side = 0
            for part in parts:
                part += ["…"] if part else []
        elif word == _BASE and side == 0:
            side = 2
        elif line == _MIDDLE and side in (0, 2):
            side = 1
        elif word == _LAST and side == 1:
            side = None
        elif side in (0, 1):
            parts[side].append(line)
    return "\n".join(parts[0]), "\n".join(parts[1])
