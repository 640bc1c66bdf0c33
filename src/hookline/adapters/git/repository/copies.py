"""Copies of a task's work: its branch and its files as they lie, as a bundle for another clone."""

from __future__ import annotations

import asyncio
import os
import tempfile
from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.git.door import ALONE, HOOKED, GitFailed, nul
from hookline.adapters.git.index import copy_index
from hookline.adapters.git.repository.bases import Bases
from hookline.adapters.git.repository.plumbing import Plumbing
from hookline.adapters.git.repository.push import pushes_of
from hookline.adapters.git.repository.worktrees import Worktrees
from hookline.domain.work.places import Restored, TakenCopy, WorkCopy
from hookline.domain.work.repository import Kept, RepositoryError, branch_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.ports.repository import Unfit

# What a bundle has needs a name in it, and only while it is made.
_REF = "refs/hookline/copies/"
_MERGING = "MERGE_HEAD"
_BY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "hookline"), ("EMAIL", "hookline@localhost"))
}
_EVERYTHING = ":/"
_READ_NAMES = ("--pathspec-from-file=-", "--pathspec-file-nul")
_NOT_TAKEN, _NOT_RESTORED = "the work cannot be copied", "the copy of the work cannot be used here"


class Copies(msgspec.Struct, frozen=True):
    """Copies of tasks' work, with which another clone continues it."""

    _repo: Plumbing
    _bases: Bases
    _worktrees: Worktrees

    async def take(self, folder: str, base: str, unfit: Unfit, known: WorkCopy | None) -> TakenCopy:
        at = self._repo.at(folder)
        tip, onto = await self._repo.tip(at.top), (await self._bases.known(base)).sha
        merging = await self._repo.operation(at.top) == "merge"
        with tempfile.TemporaryDirectory(prefix="hookline-copy-") as scratch:
            but = await asyncio.to_thread(unfit, at.top, await self._untracked(at.top))
            tree = await self._tree(at.top, scratch, but)
            copy = WorkCopy(
                tip=tip,
                files=tip,
                tree=tree,
                merging=await self._repo.sha(at.top, _MERGING) if merging else None,
                pushed=await self._pushed(os.path.basename(at.top)),
                left_out=tuple(but),
            )
            if known is not None and known.is_like(copy):
                return TakenCopy(known, None)
            if tree != await self._repo.objects.tree(tip):
                asked = ("commit-tree", tree, "-p", tip, "-m", "files as they lie")
                files = (await self._repo.ask(*asked, aside=_BY, doing=_NOT_TAKEN)).text
                copy = msgspec.structs.replace(copy, files=files)
            ref = f"{_REF}{os.path.basename(at.top)}"
            return TakenCopy(copy, await self._bundle(ref, copy, onto, scratch))

    async def is_current(self, task_id: str, copy: WorkCopy) -> bool:
        tip = await self._repo.commit(f"refs/heads/{branch_of(task_id)}")
        return tip is None or (tip == copy.tip and await self._pushed(task_id) == copy.pushed)

    async def restore(self, task_id: str, copy: WorkCopy, bundle: bytes | None) -> Restored:
        branch, worktrees = branch_of(task_id), self._worktrees
        await worktrees.follow_base(task_id)
        if bundle is not None:
            await self._unbundle(bundle)
        for each in {copy.tip, copy.files, copy.merging or copy.tip}:
            if await self._repo.commit(each) is None:
                raise RepositoryError(f"{_NOT_RESTORED}: this clone has no commit {each[:12]}")
        gone = await worktrees.discard(task_id)
        if isinstance(gone, Kept):  # a crash may have left it half made
            await worktrees.open(task_id)
            gone = await worktrees.discard(task_id)
        if isinstance(gone, Kept):
            help = f"`git -C {worktrees.place(task_id)} status` shows it; remove it and try again"
            why = "; ".join(gone.unsaved)
            raise RepositoryError(f"an older worktree of {task_id} is in the way: {why}", help=help)
        await self._repo.point(f"refs/heads/{branch}", copy.tip, doing=_NOT_RESTORED)
        made = await worktrees.open(task_id)
        if copy.files != copy.tip:
            taken = ("read-tree", "-m", "-u", copy.tip, copy.files)
            await self._repo.git(made.path, *ALONE, *taken, doing=_NOT_RESTORED, timeout=HOOKED)
            await self._repo.git(made.path, "reset", "--quiet", doing=_NOT_RESTORED)
        for ref, commit in copy.pushed.items():
            if ref in pushes_of(branch) and await self._repo.commit(commit) is not None:
                await self._repo.point(ref, commit, doing=_NOT_RESTORED)
        if copy.merging is not None:
            noted = ("update-ref", "--no-deref", _MERGING, copy.merging)
            await self._repo.git(made.path, *noted, doing=_NOT_RESTORED)
        return Restored(made, gone.rescued)

    async def _tree(self, top: str, scratch: str, but: Sequence[str]) -> str:
        """The files of a worktree as a tree, made with an index of our own."""
        index = os.path.join(scratch, "index")
        copy_index(self._repo.at(top).git_dir, index)
        aside = {"GIT_INDEX_FILE": index}
        wanted = nul([_EVERYTHING, *(f":(top,exclude,literal){name}" for name in but)])
        add = ("add", "--all", *_READ_NAMES)
        await self._repo.git(top, *add, stdin=wanted, aside=aside, doing=_NOT_TAKEN)
        return (await self._repo.git(top, "write-tree", aside=aside, doing=_NOT_TAKEN)).text

    async def _untracked(self, top: str) -> list[str]:
        asked = ("ls-files", "--others", "--exclude-standard", "-z")
        return (await self._repo.git(top, *asked, doing=_NOT_TAKEN)).names

    async def _pushed(self, task_id: str) -> dict[str, str]:
        """What is noted of pushes of the branch, without which nothing pushed is replaced."""
        found = {ref: await self._repo.commit(ref) for ref in pushes_of(branch_of(task_id))}
        return {ref: commit for ref, commit in found.items() if commit is not None}

    async def _bundle(self, ref: str, copy: WorkCopy, onto: str, scratch: str) -> bytes | None:
        """What the copy has and the base has not, packed; None if that is nothing."""
        commits = [copy.files, *copy.pushed.values()]
        if all([await self._repo.is_ancestor(each, onto) for each in commits]):
            return None
        path = os.path.join(scratch, "bundle")
        await self._repo.point(ref, copy.files, doing=_NOT_TAKEN)
        try:
            asked = ("bundle", "create", "--quiet", path, ref, *copy.pushed, f"^{onto}")
            await self._repo.ask(*asked, doing=_NOT_TAKEN)
        finally:
            await self._repo.ask("update-ref", "--no-deref", "-d", ref)
        with open(path, "rb") as file:
            return file.read()

    async def _unbundle(self, bundle: bytes) -> None:
        with tempfile.TemporaryDirectory(prefix="hookline-copy-") as scratch:
            path = os.path.join(scratch, "bundle")
            with open(path, "wb") as file:
                file.write(bundle)
            said = await self._repo.ask("bundle", "unbundle", path)
        if said.code:
            help = "bring this clone up to date with `git fetch`; it needs the base of the work"
            raise GitFailed(_NOT_RESTORED, said, help=help)
