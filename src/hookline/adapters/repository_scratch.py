"""Checkouts for a moment, to build or to test a commit beside everything else."""

from __future__ import annotations

import os
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from hookline.adapters.git.door import HOOKED
from hookline.adapters.identity import boot_id, process_identity, this_process
from hookline.adapters.repository_worktrees import Worktrees
from hookline.digest import sha256
from hookline.domain.repository import RepositoryError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_PREFIX = ".scratch-"
# Of a process on another machine, or of before the last boot, nothing is known but its age.
_FOREIGN_SECONDS = 24 * 3600.0


class Scratch(Worktrees):
    """Temporary detached worktrees."""

    @asynccontextmanager
    async def scratch(self, sha: str) -> AsyncIterator[str]:
        """A checkout of one commit that is gone at the end of the block; its path."""
        commit = await self._sha(self.root, sha)
        if commit is None:
            raise RepositoryError(f"there is no commit {sha[:80]!r}")
        path = os.path.join(self._worktrees, _own_name())
        async with self._exclusive("worktrees"):
            self._prepare_folder()
            await self._sweep()
            await self._git(
                self.root,
                *("worktree", "add", "--quiet", "--detach", path, commit),
                doing="no place to build a commit in",
                timeout=HOOKED,
                hooks=False,
            )
        try:
            await self._submodules(path)
            yield path
        finally:
            await self._discard(path)

    async def _sweep(self) -> None:
        """Remove what processes that are gone left."""
        for name in os.listdir(self._worktrees):
            if name.startswith(_PREFIX) and _is_abandoned(self._worktrees, name):
                await self._discard(os.path.join(self._worktrees, name))


def _own_name() -> str:
    me = this_process()
    return f"{_PREFIX}{_machine()}-{me.pgid}-{me.start_time}-{os.urandom(4).hex()}"


def _machine() -> str:
    return str(sha256(boot_id().encode()).hexdigest()[:8])


def _is_abandoned(folder: str, name: str) -> bool:
    machine, pid, start = (*name.removeprefix(_PREFIX).split("-", 3), "", "")[:3]
    if machine != _machine():
        age = time.time() - os.lstat(os.path.join(folder, name)).st_mtime
        return age > _FOREIGN_SECONDS
    found = process_identity(int(pid)) if pid.isdigit() else None
    return found is None or str(found.start_time) != start
