"""The folders of worktrees: where they lie, how they are tied to the repository, and those that
are there for a moment, to build or to test a commit apart from everything else."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress

import msgspec

from hookline.adapters.git.checkout import BrokenWorktree
from hookline.adapters.git.door import HOOKED
from hookline.adapters.git.repository.locks import WORKTREES
from hookline.adapters.git.repository.plumbing import Plumbing
from hookline.adapters.git.repository.submodules import fetch_submodules
from hookline.adapters.processes.identity import boot_id, process_identity, this_process
from hookline.digest import sha256
from hookline.domain.work.repository import RepositoryError, check_task_name
from hookline.files import own_folder, publish, read_regular

_PREFIX = ".scratch-"
# Of a process on another machine, or of before the last boot, nothing is known but its age.
_FOREIGN_SECONDS = 24 * 3600.0


class WorktreeFolders(msgspec.Struct, frozen=True):
    """The folders of worktrees, and how they are tied to the repository."""

    _repo: Plumbing

    def place(self, task_id: str) -> str:
        return os.path.join(self._repo.worktrees, check_task_name(task_id))

    def marker(self, task_id: str) -> str:
        return os.path.join(self._repo.worktrees, f".making-{task_id}")

    def prepare(self) -> None:
        if os.path.islink(self._repo.worktrees):
            what = "is a link, and Hookline does not write through links"
            raise RepositoryError(f"{self._repo.worktrees} {what}")
        try:
            os.makedirs(self._repo.worktrees, exist_ok=True)
            # Without it `git add` in the main checkout would take worktrees for submodules.
            if not os.path.lexists(os.path.join(self._repo.worktrees, ".gitignore")):
                with own_folder(self._repo.folder, "worktrees") as folder:
                    publish(folder, ".gitignore", b"*\n")
        except OSError as problem:
            raise RepositoryError(f"cannot write to {self._repo.worktrees}: {problem}") from problem

    def is_whole(self, task_id: str) -> bool:
        """Whether a worktree was made to its end, and is still tied to this repository."""
        if os.path.lexists(self.marker(task_id)):
            return False
        with suppress(BrokenWorktree):
            self._repo.at(self.place(task_id))
            return True
        return False

    def tie_again(self, path: str) -> bool:
        """Write the ties again where git's record of the worktree is whole; whether it was.

        `git worktree repair` believes what is in the folder, and would change the record of
        another worktree.
        """
        own, name = os.path.join(_real(path), ".git"), os.path.basename(path)
        for record, place in self._records():
            moved = os.path.basename(record) == name and not os.path.lexists(place)
            if place == own or moved:
                for folder, file, text in (
                    (record, "commondir", "../.."),
                    (record, "gitdir", own),
                    (path, ".git", f"gitdir: {record}"),
                ):
                    with own_folder(folder) as opened:
                        publish(opened, file, os.fsencode(f"{text}\n"))
                return True
        return False

    def _records(self) -> Iterator[tuple[str, str]]:
        """Git's own record of each worktree, and the `.git` that it names."""
        place = os.path.join(self._repo.common, "worktrees")
        for name in os.listdir(place) if os.path.isdir(place) else ():
            with suppress(OSError):
                record = os.path.join(place, name)
                named = os.fsdecode(read_regular(os.path.join(record, "gitdir"), 64 * 1024))
                link = os.path.join(record, named.removesuffix("\n"))
                if not os.path.islink(record):
                    yield record, os.path.normpath(link)

    def is_locked(self, path: str) -> bool:
        """Whether someone ran `git worktree lock` on it."""
        own = os.path.join(_real(path), ".git")
        records = (record for record, link in self._records() if link == own)
        return any(os.path.lexists(os.path.join(record, "locked")) for record in records)

    async def discard(self, path: str) -> None:
        """Remove a worktree in which nobody's work is, whole or not.

        An agent can put a link there, and what it leads to is not ours to remove.
        """
        if os.path.islink(path):
            os.unlink(path)
            return
        shutil.rmtree(path, ignore_errors=True)
        await self.forget_missing(path)

    async def forget_missing(self, path: str) -> None:
        """Remove git's own record of one worktree; `git worktree prune` would take others too."""
        for record, link in self._records():
            if link == os.path.join(_real(path), ".git"):
                shutil.rmtree(record, ignore_errors=True)

    async def checkout_of(self, ref: str) -> str | None:
        """The user's checkout that has a branch checked out, the project's own first.

        An agent can have its worktree claim the branch, which is then no checkout to bring along.
        """
        if await self._repo.ref(self._repo.root) == ref:
            return self._repo.at(self._repo.root).top
        own = os.path.join(os.path.realpath(self._repo.worktrees), "")
        found = (path for path in await self.checkouts(ref) if not path.startswith(own))
        return next(found, None)

    async def checkouts(self, ref: str) -> list[str]:
        """Every checkout that has a branch checked out."""
        said = await self._repo.ask("worktree", "list", "--porcelain", "-z")
        found, path = [], ""
        for line in said.out.split(b"\0"):
            word, _, value = os.fsdecode(line).partition(" ")
            if word == "worktree":
                path = value
            elif (word, value) == ("branch", ref):
                found.append(path)
        return found


class Scratch(msgspec.Struct, frozen=True):
    """Temporary detached worktrees."""

    _repo: Plumbing
    _folders: WorktreeFolders

    @asynccontextmanager
    async def checkout(self, sha: str, base: str) -> AsyncIterator[str]:
        """A checkout of one commit that is gone at the end of the block; its path."""
        commit = await self._repo.commit(sha)
        if commit is None:
            raise RepositoryError(f"there is no commit {sha[:80]!r}")
        me, own = this_process(), os.urandom(4).hex()
        name = f"{_PREFIX}{_machine()}-{me.pgid}-{me.start_time}-{own}"
        path = os.path.join(self._repo.worktrees, name)
        async with self._repo.exclusive(WORKTREES):
            self._folders.prepare()
            for left in os.listdir(self._repo.worktrees):  # by processes that are gone
                if left.startswith(_PREFIX) and _is_abandoned(self._repo.worktrees, left):
                    await self._folders.discard(os.path.join(self._repo.worktrees, left))
            add = ("worktree", "add", "--quiet", "--detach", path, commit)
            doing = "no folder to build a commit in"
            await self._repo.ask(*add, doing=doing, timeout=HOOKED, hooks=False)
        try:
            await fetch_submodules(self._repo, path, base)
            yield path
        finally:
            await self._folders.discard(path)


def _machine() -> str:
    return str(sha256(boot_id().encode()).hexdigest()[:8])


def _is_abandoned(folder: str, name: str) -> bool:
    machine, pid, start = (*name.removeprefix(_PREFIX).split("-", 3), "", "")[:3]
    if machine != _machine():
        age = time.time() - os.lstat(os.path.join(folder, name)).st_mtime
        return age > _FOREIGN_SECONDS
    found = process_identity(int(pid)) if pid.isdigit() else None
    return found is None or str(found.start_time) != start


def _real(path: str) -> str:
    """A path whose own name is kept, be it a link."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
