"""Refs and commits, read from git's files where they are plain, and git's own words on a checkout.

Most questions of a pipeline are of this kind, and a process for each would be most of its cost.
Whatever is not plain, as packed objects or another format of refs, is a question for git itself.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from hookline.files import bytes_of, read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.adapters.git.checkout import Checkout

_SHARED = ("refs/heads/", "refs/remotes/", "refs/hookline/")
_SYMBOLIC = "ref: "
_BRANCH = "ref: refs/heads/"
_UNREAL = ".invalid"  # where branches are kept in another form than files
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_HEADER = re.compile(
    rb"commit \d+\0tree ([0-9a-f]+)\n((?:parent [0-9a-f]+\n)*)(?:author|committer) "
)
# Git allows more names, but no other rule for these.
_NAME = re.compile(r"\w[\w-]*(?:[./]\w[\w-]*)*", re.ASCII)
_MOST = 64 * 1024  # a longer commit is left to git
_LONGEST_NAME = 4096
_PACKED_MOST = 4 * 1024 * 1024
# So many commits, or branches, are looked at here.
_MOST_COMMITS, _MOST_BRANCHES = 32, 1000

STATUS = (
    *("status", "--porcelain=v2", "--branch", "--no-ahead-behind"),
    *("-z", "--untracked-files=all", "--no-renames"),
)
_COMMIT = "# branch.oid "
# How many words come before the name in each kind of line.
_BEFORE = {"1": 8, "u": 10, "?": 1}


class CheckoutStatus(NamedTuple):
    """The commit that is checked out, and the files that differ from it, ignored ones aside."""

    commit: str | None
    names: list[str]


def read_status(entries: Iterable[str]) -> CheckoutStatus:
    """The answer to `STATUS`."""
    commit, names = None, []
    for entry in entries:
        if entry.startswith(_COMMIT):
            commit = entry.removeprefix(_COMMIT)
        elif entry[0] in _BEFORE:
            names.append(entry.split(" ", _BEFORE[entry[0]])[-1])
    return CheckoutStatus(commit, names)


class PlainCommit(NamedTuple):
    """What a commit holds, and the commits before it."""

    tree: str
    parents: list[str]


def plain_commit(at: Checkout, name: str) -> str | None:
    """The commit of HEAD, a branch or a hash; None if only git knows, or there is none."""
    if name == "HEAD":
        head = _line(os.path.join(at.git_dir, name))
        name = head.removeprefix(_SYMBOLIC)
    if _is_shared(name):
        name = _line(os.path.join(at.common, name))
    return name if read_commit(at.common, name) is not None else None


def branch_in(git_dir: str) -> str | None:
    """The branch that a git folder's HEAD names; None if it names none, or not in plain words."""
    # What a link names is the branch itself for git, and not a file to be read.
    head = _line(os.path.join(git_dir, "HEAD"))
    name = head.removeprefix(_BRANCH)
    is_plain = head.startswith(_BRANCH) and name != _UNREAL and "\n" not in name
    return name if is_plain and name.strip() == name else None


def read_commit(common: str, name: str) -> PlainCommit | None:
    """The commit of that hash, if a file of its own holds it, unharmed."""
    if not _HASH.fullmatch(name):
        return None
    path = os.path.join(common, "objects", name[:2], name[2:])
    try:
        content = zlib.decompressobj().decompress(read_regular(path, _MOST), _MOST)
    except (OSError, zlib.error):
        return None
    digest = hashlib.sha1 if len(name) == 40 else hashlib.sha256
    found = _HEADER.match(content)
    if found is None or digest(content, usedforsecurity=False).hexdigest() != name:
        return None
    return PlainCommit(found[1].decode(), found[2].decode().split()[1::2])


def leads_to(common: str, older: str, newer: str) -> bool:
    """Whether one is the other, or one of the last commits before it; if not, ask git."""
    todo, seen = [newer], 0
    while todo and seen < _MOST_COMMITS and not is_shallow(common):
        if older in todo:
            return True
        commit, seen = read_commit(common, todo.pop(0)), seen + 1
        todo += commit.parents if commit is not None else []
    return False


def steps_between(common: str, older: str, newer: str) -> int | None:
    """How many commits come after one, up to the other, in one line; else ask git."""
    for count in range(0 if is_shallow(common) else _MOST_COMMITS):
        if newer == older:
            return count
        commit = read_commit(common, newer)
        if commit is None or len(commit.parents) != 1:
            return None
        newer = commit.parents[0]
    return None


def is_missing(at: Checkout, name: str) -> bool:
    """Whether it is certain that no such ref exists."""
    # Elsewhere than in files: there, this is a file.
    if not _is_shared(name) or not os.path.isdir(os.path.join(at.common, "refs", "heads")):
        return False
    if os.path.lexists(os.path.join(at.common, name)):
        return False
    try:
        packed = read_regular(os.path.join(at.common, "packed-refs"), _PACKED_MOST)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return len(packed) < _PACKED_MOST and os.fsencode(f" {name}\n") not in packed


def stands_alone(at: Checkout, ref: str) -> bool:
    """Whether a branch has a commit, and no branch is another name of one; else ask git."""
    with suppress(OSError):
        # A packed ref is not another name of a ref.
        files = _files(os.path.join(at.common, "refs", "heads"))
        plain = all(_HASH.fullmatch(_line(path)) for path in files)
        return plain and plain_commit(at, ref) is not None
    return False


def is_plain_name(name: str) -> bool:
    """Whether this can be the name of a branch; if not, ask git."""
    return bool(_NAME.fullmatch(name)) and ".lock" not in name and len(name) < _LONGEST_NAME


def is_shallow(common: str) -> bool:
    """Whether git leaves out what came before some commits."""
    return os.path.exists(os.path.join(common, "shallow"))


def _is_shared(name: str) -> bool:
    return name.startswith(_SHARED) and not {"", ".", ".."}.intersection(name.split("/"))


def _files(folder: str) -> list[str]:
    """The files in a folder and in those within; OSError if there are too many."""
    files: list[str] = []
    folders = [folder]
    for each in folders:
        with os.scandir(each) as entries:
            for entry in entries:
                (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.path)
        if len(files) + len(folders) > _MOST_BRANCHES:
            raise OSError("too many files")
    return files


def _line(path: str) -> str:
    """The only line of a file; nothing if it is a link, which git reads in its own way."""
    text = b"" if os.path.islink(path) else bytes_of(path, _LONGEST_NAME)
    return os.fsdecode(text).removesuffix("\n")
