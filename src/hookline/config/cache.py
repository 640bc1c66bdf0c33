"""The cache of validated settings: one JSON file per project in the user's folder.

Its first line holds the key of what was read and the digest of what follows, so that neither
a changed configuration nor a damaged file is ever taken for the truth.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hookline import typed
from hookline.digest import sha256
from hookline.files import make_private, read_regular, write_whole
from hookline.immutable import Immutable
from hookline.plugins import stamp
from hookline.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.project import Project


_FILE = b"file:"


class Watched(msgspec.Struct, frozen=True, array_like=True):
    """A file outside the key whose presence and mode the checks depended on.

    `digest` is that of its content where they depended on that as well.
    """

    path: str
    mode: int | None
    digest: str = ""


class CacheEntry(Immutable):
    """The cache file of a project, and the key of its configuration as it is now."""

    path: str
    key: str
    config_digest: str

    @classmethod
    def of(cls, project: Project, home: str) -> CacheEntry:
        """The entry for this project; reads the configuration files and lists the hook folders."""
        place = sha256(os.path.abspath(project.root).encode(errors="surrogateescape"))
        path = os.path.join(home, "cache", f"settings-{place.hexdigest()[:32]}.json")
        config = _contents(project.config)
        state = sha256()
        for part in (config, *_state(project, home)):
            state.update(len(part).to_bytes(8, "big"))
            state.update(part)
        digest = sha256(config.removeprefix(_FILE)).hexdigest()
        return cls(path, state.hexdigest(), digest if config.startswith(_FILE) else "")

    def read(self) -> bytes | None:
        """The settings' JSON, if it was made from what is there now; else None."""
        try:
            with open(self.path, "rb") as file:
                header, _, rest = file.read().partition(b"\n")
        except OSError:
            return None
        if header != f"{self.key} {sha256(rest).hexdigest()}".encode():
            return None
        watched, _, body = rest.partition(b"\n")
        return body if _unchanged(watched) else None

    def write(self, body: bytes, watched: list[Watched]) -> None:
        """Keep the settings for the next command; a folder that cannot be written has no cache."""
        rest = msgspec.json.encode(watched) + b"\n" + body
        header = f"{self.key} {sha256(rest).hexdigest()}\n".encode()
        with suppress(OSError):
            make_private(os.path.dirname(self.path))
            write_whole(self.path, header + rest)


def mode_of(path: str) -> int | None:
    """A file's type and permissions, or None if there is none."""
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):  # a name can hold what no path can
        return None


def watched_content(path: str) -> Watched:
    """A file, or the files of a folder, whose content the checks are about to look at."""
    mode = mode_of(path)
    has_content = mode is not None and (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return Watched(path, mode, _digest(path) if has_content else "")


def _digest(path: str) -> str:
    if os.path.isdir(path):
        content = "\n".join(_listing(path, depth=1)).encode(errors="surrogateescape")
    else:
        content = _contents(path)
    return str(sha256(content).hexdigest())


def _unchanged(encoded: bytes) -> bool:
    try:
        watched = typed.decode(encoded, list[Watched])
    except msgspec.MsgspecError:
        return False
    return all(
        mode_of(each.path) == each.mode and (not each.digest or _digest(each.path) == each.digest)
        for each in watched
    )


def _state(project: Project, home: str) -> Iterator[bytes]:
    places = (__version__, project.root, project.folder, home, str(os.geteuid()))
    yield "\0".join(places).encode(errors="surrogateescape")
    yield stamp().encode(errors="surrogateescape")
    for path in config_files(project, home)[1:]:
        yield _contents(path)
    for folder in hook_folders(project, home):
        for line in _listing(folder):
            yield line.encode(errors="surrogateescape")
        yield b""


def config_files(project: Project, home: str) -> tuple[str, ...]:
    """The files that configuration is read from."""
    return (
        project.config,
        os.path.join(home, os.path.basename(project.config)),
        os.path.join(project.root, "data", "automation-hooks.json"),
    )


def hook_folders(project: Project, home: str) -> tuple[str, ...]:
    """The folders that hooks are found in, the project's first."""
    return (os.path.join(project.folder, "hooks"), os.path.join(home, "hooks"))


def _contents(path: str) -> bytes:
    """A file's bytes, or a word that no file of this kind begins with."""
    try:
        # A larger file is refused when it is read, whatever it holds.
        return _FILE + read_regular(path, (1 << 20) + 1)
    except OSError as problem:
        return f"none:{problem.errno}".encode()


def _listing(folder: str, depth: int = 2) -> Iterator[str]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda each: each.name)
    except OSError as problem:
        yield f"none:{problem.errno}"
        return
    for entry in entries:
        yield _described(entry)
        if depth > 1 and entry.is_dir():
            yield from _listing(entry.path, depth - 1)


def _described(entry: os.DirEntry[str]) -> str:
    link = os.path.realpath(entry.path) if entry.is_symlink() else ""
    try:
        state = entry.stat()
    except OSError as problem:
        return f"{entry.path}\0{link}\0none:{problem.errno}"
    return f"{entry.path}\0{link}\0{state.st_mode}\0{state.st_size}\0{state.st_mtime_ns}"
