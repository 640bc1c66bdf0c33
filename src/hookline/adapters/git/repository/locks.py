"""Locks between processes that work on one repository; a holder that was killed is cleaned after.

The kernel drops the lock with its holder, but the git that the holder had started runs on. So the
lock file names a mark that every such process carries in its environment: the next holder waits
for them to end, and then removes the lock files of git that nobody will remove any more. So does
the holder of another lock, once they have ended: git's own locks do not know about this one.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar

from hookline.adapters.git.checkout import checkout_of
from hookline.adapters.processes.file_lock import acquire
from hookline.adapters.processes.identity import is_at_work, kill_marked, marked
from hookline.domain.work.repository import RepositoryError
from hookline.files import bytes_of, entry_at, own_folder

MARK = "HOOKLINE_GIT_ACT"
PATIENCE = 900.0
ORPHAN_SECONDS = 60.0
# Git holds its lock files for moments; one that is older than this after a crash is a leftover.
STALE_SECONDS = 1.0
# Longer than it takes a git that we cannot see to be done with what it was at.
SECONDS = 2.0
_POLL = 0.05
_SUFFIX = ".lock-file"
# Under this lock worktrees are made.
WORKTREES = "worktrees"
# What git begins to make a worktree with. While it stays, nothing can be fetched.
_NO_COMMIT = b"0" * 40


class LockedAct:
    """What is done under a lock; not `whole` when a process of it had to be killed."""

    def __init__(self) -> None:
        self.mark = os.urandom(12).hex()
        self.whole = True


current: ContextVar[LockedAct | None] = ContextVar("current", default=None)


@asynccontextmanager
async def exclusive(common: str, name: str) -> AsyncIterator[None]:
    """Hold the lock of that name in the repository whose common git folder this is."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with own_folder(common, "hookline") as folder:
            fd = os.open(name + _SUFFIX, flags, 0o600, dir_fd=folder)
    except OSError as problem:
        why = f"{common}/hookline cannot be written to: {problem.strerror}"
        raise RepositoryError(why) from problem
    act = LockedAct()
    try:
        if not await acquire(fd, PATIENCE, _POLL):
            words = f"another process has been working on the repository for too long ({name})"
            help = "look for a hanging git, or a hook of git that waits for something"
            raise RepositoryError(words, help=help)
        await _clean_after_dead(fd, common, name)
        await _clean_after_others(common, name)
        _write(fd, act.mark)
        token = current.set(act)
        try:
            yield
        except asyncio.CancelledError:
            act.whole = False
            raise
        finally:
            current.reset(token)
            if act.whole:
                _write(fd, "")
    finally:
        os.close(fd)


def _write(fd: int, text: str) -> None:
    os.ftruncate(fd, 0)
    os.pwrite(fd, text.encode(), 0)


async def _clean_after_dead(fd: int, common: str, name: str) -> None:
    setting = _setting(fd)
    if setting is None:
        return
    deadline = time.monotonic() + ORPHAN_SECONDS
    while marked(setting) and time.monotonic() < deadline:
        await asyncio.sleep(_POLL)
    kill_marked(setting)
    since = os.fstat(fd).st_mtime
    for path in list(_lock_files(common)):
        await _remove_stale(path, since)
    if name == WORKTREES:
        for path in list(_half_made(common)):
            await _remove_half_made(path)


async def _clean_after_others(common: str, own: str) -> None:
    """Clean after each act under another lock whose holder, and whose git, are gone."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    with own_folder(common, "hookline") as folder:
        for entry in list(os.scandir(folder)):
            is_other = entry.name.endswith(_SUFFIX) and entry.name != own + _SUFFIX
            if not is_other or not entry.stat(follow_symlinks=False).st_size:
                continue
            with suppress(OSError):  # held, or gone
                fd = os.open(entry.name, flags, dir_fd=folder)
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    setting = _setting(fd)
                    if setting is not None and not marked(setting):
                        await _clean_after_dead(fd, common, entry.name.removesuffix(_SUFFIX))
                        _write(fd, "")
                finally:
                    os.close(fd)


def _setting(fd: int) -> bytes | None:
    """What the processes of a lock's last act carry, if it did not come to its end."""
    mark = os.pread(fd, 100, 0).decode("ascii", "replace")
    return f"{MARK}={mark}".encode() if mark else None


def _lock_files(common: str) -> Iterator[str]:
    """Git's own lock files: of the repository, of its worktrees, and of its refs."""
    flat = [common]
    with suppress(OSError):
        flat += [entry.path for entry in os.scandir(os.path.join(common, "worktrees"))]
    for folder in flat:
        with suppress(OSError):
            yield from (e.path for e in os.scandir(folder) if e.name.endswith(".lock"))
    for folder, _, names in os.walk(os.path.join(common, "refs")):
        yield from (os.path.join(folder, name) for name in names if name.endswith(".lock"))


def _half_made(common: str) -> Iterator[str]:
    """What git knows of worktrees that it was killed before it had made."""
    with suppress(OSError):
        for entry in os.scandir(os.path.join(common, "worktrees")):
            if entry.is_dir(follow_symlinks=False) and _has_no_commit(entry.path):
                yield entry.path


def _has_no_commit(worktree: str) -> bool:
    return bytes_of(os.path.join(worktree, "HEAD"), 100).startswith(_NO_COMMIT)


async def _remove_half_made(worktree: str) -> None:
    """Remove it, unless someone's own git is making it now."""
    made = entry_at(worktree)
    if made is not None:
        await asyncio.sleep(max(0.0, made.st_mtime + STALE_SECONDS - time.time()))
        if _has_no_commit(worktree):
            shutil.rmtree(worktree, ignore_errors=True)


async def _remove_stale(path: str, since: float) -> None:
    """Remove a lock file that came into being after the dead act began and that nobody drops."""
    with suppress(OSError):
        made = os.stat(path).st_mtime
        if made < since - STALE_SECONDS:  # not of that act: its maker knows why
            return
        await asyncio.sleep(max(0.0, made + STALE_SECONDS - time.time()))
        if os.stat(path).st_mtime == made:
            os.unlink(path)


async def drop_dead_lock(folder: str) -> bool:
    """Remove the index lock of a git that is no more; whether there was one.

    It stays while any git works in that checkout.
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
    if _made(lock) != made or is_at_work("git", top):
        return False
    os.unlink(lock)
    return True


def _made(path: str) -> tuple[int, int] | None:
    found = entry_at(path)
    return None if found is None else (found.st_mtime_ns, found.st_ino)
