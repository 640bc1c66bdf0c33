"""Opening files that a repository may have put there: regular ones only, and without waiting."""

from __future__ import annotations

import errno
import os
import stat


def read_regular(path: str, limit: int) -> bytes:
    """Up to `limit` bytes of a regular file; OSError if it is something else."""
    with open(open_regular(path), "rb") as file:
        return file.read(limit)


def open_regular(path: str) -> int:
    """A descriptor to read a regular file; OSError if it is something else.

    A named pipe that nobody writes to would hold us for ever.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    return _regular(os.open(path, flags), path)


def open_to_append(path: str, mode: int) -> int:
    """A descriptor to add to a regular file, which is made if need be.

    Neither it nor its folder may be a link: we write to nothing outside of our own folder.
    """
    ours = os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | ours)
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | ours
        return _regular(os.open(os.path.basename(path), flags, mode, dir_fd=folder), path)
    finally:
        os.close(folder)


def _regular(number: int, path: str) -> int:
    mode = os.fstat(number).st_mode
    if stat.S_ISREG(mode):
        return number
    os.close(number)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    raise OSError(errno.EINVAL, "it is not a regular file", path)
