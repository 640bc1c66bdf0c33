"""The exact state of the files that trust covers: their content, run bit and links."""

from __future__ import annotations

import os
import stat
import time
from typing import TYPE_CHECKING, Literal

from hookline.digest import sha256
from hookline.errors import Untrusted
from hookline.files import open_regular, read_regular, text_of
from hookline.immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookline.project import Project

UNREADABLE = "unreadable"
MISSING = "missing"
FOLDER = "folder"
SPECIAL = "special"

MAX_FILE = 1 << 30
MAX_COPY = 256 << 10
_CHUNK = 256 << 10
# File systems round times, so a second write at once may leave the times as they were: the stamp
# of a file that changed just now proves nothing. FAT rounds the most, to two seconds.
_SETTLED_NS = 2_000_000_000

Stamp = tuple[int, ...]
Kind = Literal["added", "removed", "changed"]


class CoveredFile(Immutable, frozen=True, order=True):
    """One covered file: the sha256 of its content, then `:x` if executable, then its link.

    `stamp` is its stat signature from before it was read, empty if too recent to rely on.
    """

    name: str
    path: str
    digest: str
    size: int
    stamp: Stamp

    @property
    def content(self) -> str | None:
        """The sha256 of the content, None if there is no content that could be read."""
        return content_of(self.digest)


class Manifest(Immutable):
    """Every covered file, and one hash that is the same on every machine."""

    hash: str
    entries: tuple[CoveredFile, ...]

    @property
    def files(self) -> dict[str, str]:
        """Relative path -> digest."""
        return {entry.name: entry.digest for entry in self.entries}


class TrustChange(Immutable):
    """A covered file that is not as it was when it was trusted."""

    path: str
    kind: Kind


def fingerprint(project: Project, files: Iterable[str]) -> Manifest:
    """The state of these files now; Untrusted if one is too large to be verified."""
    entries = [examine(project, path) for path in set(files)]
    entries.sort()
    return Manifest(hash_of({entry.name: entry.digest for entry in entries}), tuple(entries))


def hash_of(files: Mapping[str, str]) -> str:
    """One hash for names and digests; neither can hold a NUL, so no two states share one."""
    whole = sha256(b"hookline trust 1\0")
    for name, digest in sorted(files.items()):
        whole.update(f"{name}\0{digest}\0".encode())
    return f"sha256:{whole.hexdigest()}"


def compare(old: Mapping[str, str], new: Mapping[str, str]) -> list[TrustChange]:
    """How one state differs from another, by name."""
    kinds: dict[str, Kind] = dict.fromkeys(new.keys() - old.keys(), "added")
    kinds |= dict.fromkeys(old.keys() - new.keys(), "removed")
    kinds |= {name: "changed" for name in old.keys() & new.keys() if old[name] != new[name]}
    return [TrustChange(name, kinds[name]) for name in sorted(kinds)]


def content_of(digest: str) -> str | None:
    """The sha256 of the content that a digest begins with, if it does."""
    head = digest.partition(":")[0]
    is_hash = len(head) == 64 and not head.strip("0123456789abcdef")
    return head if is_hash else None


def examine(project: Project, path: str) -> CoveredFile:
    """Look at one file, following its link."""
    name = relative_name(project.root, path)
    stamp = stamp_of(path)
    digest, size = _content(path)
    return CoveredFile(name, path, digest + _link(path), size, stamp)


def _link(path: str) -> str:
    try:
        return f":link={text_of(os.readlink(path))}"
    except OSError:  # not a link, or gone, and then the content says so
        return ""


def _content(path: str) -> tuple[str, int]:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return MISSING, 0
    except OSError:
        return UNREADABLE, 0
    if stat.S_ISDIR(status.st_mode):
        return FOLDER, 0
    # Opening a device can act on it, so only regular files are opened.
    if not stat.S_ISREG(status.st_mode):
        return SPECIAL, 0
    try:
        digest, size = _hash(path)
    except OSError:
        digest, size = UNREADABLE, status.st_size
    return (f"{digest}:x" if status.st_mode & 0o111 else digest), size


def _hash(path: str) -> tuple[str, int]:
    digest, size = sha256(), 0
    with open(open_regular(path), "rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            if size > MAX_FILE:
                message = f"{text_of(path)} is too large to be verified: over {MAX_FILE >> 30} GiB"
                help = "move it out of the hooks, or remove it from their commands"
                raise Untrusted(message, help=help)
            digest.update(chunk)
    return digest.hexdigest(), size


def read_exactly(path: str, content: str) -> bytes:
    """The content that was hashed; Untrusted if the file holds another one by now."""
    try:
        data = read_regular(path, MAX_COPY + 1)
    except OSError:
        data = b""
    if sha256(data).hexdigest() != content:
        raise Untrusted(f"{text_of(path)} changed while it was read", help="run the command again")
    return data


def stamp_of(path: str) -> Stamp:
    """The stat signature of a file and of what its link names; empty if too recent."""
    try:
        status = os.lstat(path)
        seen = [status]
        if stat.S_ISLNK(status.st_mode):
            seen.append(os.stat(path))
    except OSError:
        return ()
    if time.time_ns() - max(each.st_ctime_ns for each in seen) < _SETTLED_NS:
        return ()
    return tuple(part for each in seen for part in _signature(each))


def _signature(status: os.stat_result) -> Stamp:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_mode,
    )


def relative_name(root: str, path: str) -> str:
    """The file's name in a manifest: its path from the root, as text."""
    prefix = root.rstrip("/") + "/"
    return text_of(path[len(prefix) :] if path.startswith(prefix) else os.path.relpath(path, root))
