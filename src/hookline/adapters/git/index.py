"""Git's index of a checkout, without what git would believe instead of looking at the files.

The index keeps the size and times of each file, so that git need not read it again, and the trees
that were made of it. Whoever can write the index can put there what hides a difference between the
files, which gates see, and the commit, which is merged. Without them git looks for itself.
So it does without the marks by which git is told not to look at a file (`--assume-unchanged`,
`--skip-worktree`); gates name these in a task's worktree, elsewhere they are ignored.
"""

from __future__ import annotations

import hashlib
import os
import struct
from typing import NamedTuple

from hookline.domain.work.repository import RepositoryError
from hookline.files import own_folder, publish, read_regular

_NAME = "index"
_MOST = 1 << 30
_HEADER = struct.Struct(">4sII")
# Times, device and inode come before the mode of a file, its owner and size after it.
_BEFORE, _MODE, _AFTER = bytes(24), 4, bytes(12)
_EXTENDED = 0x4000
_ASSUMED, _SKIPPED = 0x8000, 0x4000  # the second is one of the extended flags
_FOLDER = struct.pack(">I", 0o040000)  # left out of a sparse checkout as a whole
# What git has to know to read the entries: without it, some stand for whole folders.
_NEEDED = b"sdir"
_SPLIT = b"link"


class SplitIndex(RepositoryError):
    """The index is kept in two files."""


class _IndexedFile(NamedTuple):
    """A file in the index: its mode, its hash, its flags, and its name as it is written there."""

    mode: bytes
    hash: bytes
    flags: tuple[int, ...]
    name: bytes

    @property
    def is_marked(self) -> bool:
        first, *further = self.flags
        marks = first & _ASSUMED or (further and further[0] & _SKIPPED)
        return bool(marks) and self.mode != _FOLDER

    @property
    def unmarked(self) -> _IndexedFile:
        """The same for a git that looks at the file."""
        if not self.is_marked:
            return self
        first, *further = self.flags
        return self._replace(flags=(first & ~_ASSUMED, *(each & ~_SKIPPED for each in further)))

    @property
    def without_stats(self) -> bytes:
        flags = struct.pack(f">{len(self.flags)}H", *self.flags)
        return b"".join((_BEFORE, self.mode, _AFTER, self.hash, flags, self.name))


class _Index(NamedTuple):
    header: bytes
    entries: list[_IndexedFile]
    rest: bytes


def forget_stats(git_dir: str, *, is_sha256: bool, marks: bool = False) -> None:
    """Rewrite the index of a checkout so that git compares each file by its content.

    Without stats alone, git still does not look at what has `marks`.
    """
    if (found := _read(git_dir, is_sha256=is_sha256)) is None:
        return  # git takes every file for a new one
    entries = [each.unmarked for each in found.entries] if marks else found.entries
    known = b"".join(each.without_stats for each in entries)
    content = found.header + known + _needed(git_dir, found.rest)
    digest = hashlib.sha256 if is_sha256 else hashlib.sha1
    with own_folder(git_dir) as folder:
        publish(folder, _NAME, content + digest(content, usedforsecurity=False).digest())


def copy_index(git_dir: str, to: str) -> None:
    """Copy the index of a worktree; nothing is copied where there is none."""
    try:
        body = read_regular(os.path.join(git_dir, _NAME), _MOST)
    except FileNotFoundError:
        return
    except (OSError, ValueError) as problem:
        raise _unreadable(git_dir) from problem
    with open(to, "wb") as file:
        file.write(body)


def has_marks(git_dir: str, *, is_sha256: bool) -> bool:
    """Whether git was told not to look at some file, or only git can tell."""
    try:
        found = _read(git_dir, is_sha256=is_sha256)
    except RepositoryError:
        return True
    return found is not None and (_SPLIT in found.rest or any(e.is_marked for e in found.entries))


def _read(git_dir: str, *, is_sha256: bool) -> _Index | None:
    size = 32 if is_sha256 else 20
    try:
        body = read_regular(os.path.join(git_dir, _NAME), _MOST)[:-size]
        return _parse(body, size)
    except FileNotFoundError:
        return None
    except (OSError, struct.error, ValueError, IndexError) as problem:
        raise _unreadable(git_dir) from problem


def _parse(body: bytes, size: int) -> _Index:
    mark, version, count = _HEADER.unpack_from(body)
    if mark != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not an index")
    found: list[_IndexedFile] = []
    place = _HEADER.size
    for _ in range(count):
        mode = place + len(_BEFORE)
        hash = mode + _MODE + len(_AFTER)
        flags = struct.unpack_from(">H", body, hash + size)
        if flags[0] & _EXTENDED:
            flags = struct.unpack_from(">HH", body, hash + size)
        start = name = hash + size + 2 * len(flags)
        if version == 4:
            while body[name] & 0x80:  # how much of the last name does not count for this one
                name += 1
            name += 1
        end = body.index(b"\0", name) + 1
        if version != 4:
            end += (place - end) % 8
        known = (body[mode : mode + _MODE], body[hash : hash + size])
        found.append(_IndexedFile(*known, flags, body[start:end]))
        place = end
    return _Index(body[: _HEADER.size], found, body[place:])


def _needed(git_dir: str, rest: bytes) -> bytes:
    """The parts after the entries that git cannot do without."""
    kept = b""
    while rest:
        try:
            name, size = struct.unpack_from(">4sI", rest)
        except struct.error as problem:
            raise _unreadable(git_dir) from problem
        if name == _SPLIT:
            raise SplitIndex("git's index is split")
        part, rest = rest[: 8 + size], rest[8 + size :]
        kept += part if name == _NEEDED else b""
    return kept


def _unreadable(git_dir: str) -> RepositoryError:
    path = os.path.join(git_dir, _NAME)
    help = f"remove {path} and run `git reset` in the worktree"
    return RepositoryError(f"git's index {path} cannot be read", help=help)
