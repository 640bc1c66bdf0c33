"""What git tells about a checkout in one answer: its status, its settings, its branch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from hookline.digest import sha256
from hookline.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable

STATUS = (
    *("status", "--porcelain=v2", "--branch", "--no-ahead-behind"),
    *("-z", "--untracked-files=all", "--no-renames"),
)
SETTINGS = ("config", "--null", "--list", "--show-scope")
INITIAL = "(initial)"  # what git calls the commit of a repository without any
_COMMIT = "# branch.oid "
# How many words come before the name in each kind of line.
_BEFORE = {"1": 8, "u": 10, "?": 1}
_REF = "ref: refs/heads/"
_UNREAL = ".invalid"  # where branches are kept in another form than files


class Status(NamedTuple):
    """The commit that is checked out, and the files that differ from it, ignored ones aside."""

    commit: str | None
    names: list[str]


def read_status(entries: Iterable[str]) -> Status:
    """The answer to `STATUS`."""
    commit, names = None, []
    for entry in entries:
        if entry.startswith(_COMMIT):
            commit = entry.removeprefix(_COMMIT)
        elif entry[0] in _BEFORE:
            names.append(entry.split(" ", _BEFORE[entry[0]])[-1])
    return Status(commit, names)


class ReadSettings(NamedTuple):
    """What is set for a repository: the last value of each key counts.

    `own` is what its own files set, each key with a digest of all of its values.
    """

    values: dict[str, str]
    own: dict[str, str]


def read_settings(entries: list[str]) -> ReadSettings:
    """The answer to `SETTINGS`: a scope, then a key and its value, and so on."""
    values: dict[str, str] = {}
    own: dict[str, str] = {}
    for scope, entry in zip(entries[::2], entries[1::2], strict=False):
        key, _, value = entry.partition("\n")
        values[key] = value
        if scope in ("local", "worktree"):
            own[key] = sha256(os.fsencode(f"{own.get(key, '')}\n{value}")).hexdigest()[:16]
    return ReadSettings(values, own)


def branch_in(git_dir: str) -> str | None:
    """The branch that a git folder's HEAD names; None if it names none, or not in plain words."""
    path = os.path.join(git_dir, "HEAD")
    try:
        # What a link names is the branch itself for git, and not a file to be read.
        head = "" if os.path.islink(path) else os.fsdecode(read_regular(path, 4096))
    except OSError:
        return None
    name = head.removeprefix(_REF).removesuffix("\n")
    is_plain = head.startswith(_REF) and name != _UNREAL and "\n" not in name
    return name if is_plain and name.strip() == name else None


def stamp_of(*paths: str) -> tuple[tuple[int, ...], ...]:
    """What differs once one of these files was replaced or written to."""
    return tuple(map(_stamp, paths))


def _stamp(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
