"""Git's index of a checkout, without what git would believe instead of looking at the files.

The index keeps the size and times of each file, so that git need not read it again, and the trees
that were made of it. Whoever can write the index can put there what hides a difference between the
files, which gates see, and the commit, which is merged. Without them git looks for itself.
"""

from __future__ import annotations

import hashlib
import os
import struct
from typing import NamedTuple

from hookline.domain.repository import RepositoryError
from hookline.files import own_folder, publish, read_regular

_NAME = "index"
_MOST = 1 << 30
_HEADER = struct.Struct(">4sII")
# Times, device and inode come before the mode of a file, its owner and size after it.
_BEFORE, _MODE, _AFTER = bytes(24), 4, bytes(12)
_EXTENDED = 0x4000
# What git has to know to read the entries: without it, some stand for whole folders.
_NEEDED = b"sdir"
_SPLIT = b"link"


class SplitIndex(RepositoryError):
    """The index is kept in two files."""


class _Parts(NamedTuple):
    entries: bytes
    rest: bytes


def forget_stats(git_dir: str, *, is_sha256: bool) -> None:
    """Rewrite the index of a checkout so that git compares each file by its content."""
    try:
        found = read_regular(os.path.join(git_dir, _NAME), _MOST)
    except FileNotFoundError:
        return  # git takes every file for a new one
    except OSError as problem:
        raise _unreadable(git_dir) from problem
    digest = hashlib.sha256 if is_sha256 else hashlib.sha1
    size = 32 if is_sha256 else 20
    try:
        entries, rest = _parts(found[:-size], size)
        content = found[: _HEADER.size] + entries + _needed(rest)
    except (struct.error, ValueError, IndexError) as problem:
        raise _unreadable(git_dir) from problem
    with own_folder(git_dir) as folder:
        publish(folder, _NAME, content + digest(content, usedforsecurity=False).digest())


def _parts(body: bytes, size: int) -> _Parts:
    """The entries without what was known of their files, and what follows them."""
    mark, version, count = _HEADER.unpack_from(body)
    if mark != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not an index")
    kept: list[bytes] = []
    place = _HEADER.size
    for _ in range(count):
        mode = place + len(_BEFORE)
        name = mode + _MODE + len(_AFTER) + size
        (flags,) = struct.unpack_from(">H", body, name)
        name += 4 if flags & _EXTENDED else 2
        if version == 4:
            while body[name] & 0x80:  # how much of the last name does not count for this one
                name += 1
            name += 1
        end = body.index(b"\0", name) + 1
        if version != 4:
            end += (place - end) % 8
        kept += (_BEFORE, body[mode : mode + _MODE], _AFTER, body[mode + _MODE + len(_AFTER) : end])
        place = end
    return _Parts(b"".join(kept), body[place:])


def _needed(rest: bytes) -> bytes:
    """The parts after the entries that git cannot do without."""
    kept = b""
    while rest:
        name, size = struct.unpack_from(">4sI", rest)
        if name == _SPLIT:
            raise SplitIndex("git's index is split")
        part, rest = rest[: 8 + size], rest[8 + size :]
        kept += part if name == _NEEDED else b""
    return kept


def _unreadable(git_dir: str) -> RepositoryError:
    path = os.path.join(git_dir, _NAME)
    help = f"remove {path} and run `git reset` in the worktree"
    return RepositoryError(f"git's index {path} cannot be read", help=help)
