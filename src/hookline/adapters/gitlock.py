"""The lock that a git leaves behind in a checkout when it is killed with the agent that used it."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

from hookline.adapters.git.checkout import checkout_of
from hookline.adapters.identity import all_processes
from hookline.domain.repository import RepositoryError

# Longer than it takes a git that we cannot see to be done with what it was at.
SECONDS = 2.0


async def drop_dead_lock(folder: str) -> bool:
    """Remove the index lock of a git that is no more; whether there was one.

    It stays while any git works in that checkout, and where the system does not tell.
    """
    try:
        at = checkout_of(folder)
    except RepositoryError:  # a broken worktree has no index, and what is around it is the user's
        return False
    top, lock = at.top, os.path.join(at.git_dir, "index.lock")
    made = _made(lock)
    if made is None:
        return False
    await asyncio.sleep(SECONDS)
    if _made(lock) != made or not all_processes() or _git_works_in(top):
        return False
    os.unlink(lock)
    return True


def _made(path: str) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


def _git_works_in(top: str) -> bool:
    for process in all_processes():
        with suppress(OSError):  # gone, or another user's
            where = os.readlink(f"/proc/{process}/cwd")
            with open(f"/proc/{process}/comm", encoding="utf-8", errors="replace") as file:
                is_git = file.read().startswith("git")
            if is_git and os.path.commonpath((top, where)) == top:
                return True
    return False
