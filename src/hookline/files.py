"""Opening files that a repository may have put there: regular ones only, and without waiting.

Hookline's own folder and the entries in it that only Hookline writes are never links: each is
opened relative to the one above it, so that nothing is read or written anywhere else.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

import msgspec

from hookline.errors import LinkedFolder

TOP_MODE, FOLDER_MODE, FILE_MODE = 0o711, 0o700, 0o600
# In `.hookline`: what only Hookline writes. `hooks` and `flows` are the user's.
DATABASE = ("hookline.db", "hookline.db-wal", "hookline.db-shm", "hookline.db-journal")
DATA_FOLDERS = (
    *("logs", "blobs", "values", "runs", "sessions", "reports", "pulls"),
    *("agents", "objects", "serving"),
)
# For `.hookline/.gitignore`, which git does not see either: else `git stash -u` would take it away,
# and the next one the store.
IGNORED = b"*\n!hooks/\n!hooks/**\n!flows/\n!flows/**\n"
_OWN = (*DATABASE, ".gitignore", *DATA_FOLDERS, "worktrees")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BY_NUMBER = "/proc/self/fd" if hasattr(os, "O_PATH") and os.path.isdir("/proc/self/fd") else None
_GONE = " (deleted)"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_regular(path: str, limit: int) -> bytes:
    """Up to `limit` bytes of a regular file; OSError if it is something else."""
    with open(open_regular(path), "rb") as file:
        return file.read(limit)


def bytes_of(path: str, limit: int) -> bytes:
    """The same; nothing if it cannot be read, or is not a regular file."""
    with suppress(OSError):
        return read_regular(path, limit)
    return b""


def entry_at(path: str) -> os.stat_result | None:
    """What is at a path, be it a link; None if nothing is, or that is unknown."""
    with suppress(OSError):
        return os.lstat(path)
    return None


def open_regular(path: str) -> int:
    """A descriptor to read a regular file; OSError if it is something else.

    A named pipe without a writer would block us forever.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    return _regular(os.open(path, flags), path)


def open_own(path: str) -> int:
    """The same for a file that only Hookline writes, which is never a link."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    with _links_told(path):
        return _regular(os.open(path, flags), path)


def real_path(path: str) -> str:
    """As os.path.realpath, which asks for every folder on the way; the kernel knows it at once."""
    if _BY_NUMBER is None:
        return os.path.realpath(path)
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (OSError, ValueError):  # it also knows where what is not there would be
        return os.path.realpath(path)
    try:
        found = os.readlink(f"{_BY_NUMBER}/{fd}")
    finally:
        os.close(fd)
    return os.path.realpath(path) if found.endswith(_GONE) else found


def refuse_links(folder: str) -> None:
    """Raise LinkedFolder if `.hookline`, or what only Hookline writes in it, is a link."""
    try:
        top = os.open(folder, _FOLDER)
    except OSError as problem:
        if os.path.islink(folder):
            raise LinkedFolder(f"{folder} is a link") from problem
        return  # there is none yet, or its user reports why it cannot be opened
    try:
        for name in _OWN:
            with suppress(OSError):
                if stat.S_ISLNK(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
                    raise LinkedFolder(f"{os.path.join(folder, name)} is a link")
    finally:
        os.close(top)


def keep_private(folder: str) -> None:
    """Keep other users from listing `.hookline`, or read what only Hookline writes in it.

    Worktrees are reached through it, so others may pass.
    """
    with own_folder(folder) as top:
        if stat.S_IMODE(os.fstat(top).st_mode) == TOP_MODE:
            return
        for name in _OWN[:-1]:
            with suppress(OSError):  # there is none, or it is another user's
                mode = FOLDER_MODE if name in DATA_FOLDERS else FILE_MODE
                if not stat.S_ISLNK(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
                    os.chmod(name, mode, dir_fd=top)
        with suppress(OSError):
            os.fchmod(top, TOP_MODE)


def make_private(folder: str) -> None:
    """Make a folder of the user's own, which no other user may enter, nor the one above it."""
    for each in (os.path.dirname(folder), folder):
        os.makedirs(each, mode=FOLDER_MODE, exist_ok=True)
        if stat.S_IMODE(os.stat(each).st_mode) != FOLDER_MODE:
            os.chmod(each, FOLDER_MODE)


@contextmanager
def own_folder(top: str, *names: str) -> Iterator[int]:
    """A descriptor of `.hookline`, or of one of the folders below it, which is made if need be."""
    number = _opened_folder(top, None)
    try:
        for name in names:
            with suppress(FileExistsError):
                os.mkdir(name, FOLDER_MODE, dir_fd=number)
            inner = _opened_folder(name, number)
            os.close(number)
            number = inner
        yield number
    finally:
        os.close(number)


def _opened_folder(name: str, within: int | None) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=within)
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.ENOTDIR):
            raise OSError(problem.errno, "it is a link, or not a folder", name) from problem
        raise


def create(folder: int, name: str) -> int:
    """A descriptor to write a new file in one of our folders."""
    return os.open(name, _NEW, FILE_MODE, dir_fd=folder)


def publish(folder: int, name: str, data: bytes, *, durable: bool = False) -> None:
    """Replace a file in one of our folders whole, so that no reader ever sees a part of it."""
    draft = f"{name}.{os.getpid()}-{os.urandom(4).hex()}"
    try:
        with open(create(folder, draft), "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise


def write_whole(path: str, data: bytes, *, durable: bool = False) -> None:
    """Replace a file in a folder of the user's own, as `publish` does."""
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        publish(folder, os.path.basename(path), data, durable=durable)
    finally:
        os.close(folder)


def open_to_append(path: str) -> int:
    """A descriptor to add to a regular file in one of our folders, which is made if need be."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    place, name = os.path.split(path)
    with own_folder(*os.path.split(place)) as folder, _links_told(path):
        return _regular(os.open(name, flags, FILE_MODE, dir_fd=folder), path)


@contextmanager
def _links_told(path: str) -> Iterator[None]:
    """Say of a link that it is one, which the system calls too many levels of links."""
    try:
        yield
    except OSError as problem:
        if problem.errno != errno.ELOOP:
            raise
        raise OSError(errno.ELOOP, "it is a link", path) from problem


def _regular(number: int, path: str) -> int:
    mode = os.fstat(number).st_mode
    if stat.S_ISREG(mode):
        return number
    os.close(number)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    raise OSError(errno.EINVAL, "it is not a regular file", path)


# Tidying up


class Removed(msgspec.Struct, frozen=True):
    """How many files were removed, and their bytes together."""

    count: int = 0
    bytes: int = 0


@contextmanager
def locked(folder: int, *, alone: bool) -> Iterator[None]:
    """Keep those who add files to a folder and the one who removes old ones apart."""
    fcntl.flock(folder, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
    try:
        yield
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)


def sweep(
    folder: int, is_unneeded: Callable[[str, os.stat_result], bool], *, dry: bool = False
) -> Removed:
    """Remove files from one of our folders; if `dry`, only say what that would be."""
    sizes = []
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):  # another process was faster
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(found.st_mode) and is_unneeded(name, found):
                if not dry:
                    os.unlink(name, dir_fd=folder)
                sizes.append(found.st_size)
    return Removed(len(sizes), sum(sizes))


def remove_tree(folder: int, name: str, *, dry: bool = False) -> Removed:
    """Remove a folder in one of our folders with all that it holds; links are not followed."""
    sizes = []
    for _, _, names, inside in os.fwalk(name, dir_fd=folder):
        for each in names:
            with suppress(OSError):
                sizes.append(os.stat(each, dir_fd=inside, follow_symlinks=False).st_size)
    if not dry:
        import shutil  # few commands remove folders

        with suppress(FileNotFoundError):  # another process was faster
            shutil.rmtree(name, dir_fd=folder)
    return Removed(1, sum(sizes))


def added(parts: Iterable[Removed]) -> Removed:
    """All of these together."""
    every = list(parts)
    return Removed(sum(each.count for each in every), sum(each.bytes for each in every))


def safe_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment with a PATH without relative folders, which a repository could fill."""
    parts = environ.get("PATH", "").split(os.pathsep)
    # An empty PATH means the current folder.
    path = os.pathsep.join(part for part in parts if os.path.isabs(part)) or os.defpath
    return {**environ, "PATH": path}


def text_of(path: str) -> str:
    """A path as text that JSON can hold; bytes that are not UTF-8 are escaped, `\\` doubled.

    No two paths become the same text, so no file can hide behind another's name.
    """
    if path.isascii() and "\\" not in path:
        return path
    return os.fsencode(path.replace("\\", "\\\\")).decode("utf-8", "backslashreplace")
