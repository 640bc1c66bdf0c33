"""Files that are this user's alone: written whole or not at all, believed only if theirs."""

from __future__ import annotations

import os
import stat

from hookline import files
from hookline.errors import HooklineError, Untrusted

MAX_RECORD = 16 << 20


def write_private(path: str, data: bytes) -> None:
    """Publish a file of mode 0600 in a folder of mode 0700, at once."""
    make_private(os.path.dirname(path))
    try:
        files.write_whole(path, data, durable=True)
    except OSError as problem:
        raise _unwritable(path, problem) from problem


def prove_writable(path: str) -> None:
    """Fail now if such a file could not be written; the file itself stays as it is."""
    trial = f"{path}.{os.urandom(6).hex()}.try"
    write_private(trial, b"")
    remove(trial)


def make_private(folder: str) -> None:
    """Make sure that the folder exists and that only this user may enter it."""
    try:
        files.make_private(folder)
    except OSError as problem:
        raise _unwritable(folder, problem) from problem


def _unwritable(path: str, problem: OSError) -> HooklineError:
    return HooklineError(
        f"cannot write {files.text_of(path)}: {problem.strerror}",
        help="make your own folder writable, or set HOOKLINE_HOME to another one",
    )


def read_private(path: str) -> bytes | None:
    """The content of such a file, None if there is none; Untrusted if others can write it."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_uid not in (0, os.geteuid()):
                raise Untrusted(f"{files.text_of(path)} belongs to another user")
            if stat.S_IMODE(status.st_mode) & 0o022:
                raise Untrusted(f"{files.text_of(path)} can be written by other users")
            return file.read(MAX_RECORD)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise Untrusted(f"cannot read {files.text_of(path)}: {problem.strerror}") from problem


def remove(path: str) -> bool:
    """Remove a file; whether there was one."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as problem:
        raise _unwritable(path, problem) from problem
    return True
