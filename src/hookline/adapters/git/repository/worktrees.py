"""A worktree and a branch per task: made, found again, repaired, and removed only when saved."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.git.door import HOOKED, printable
from hookline.adapters.git.refs import is_missing
from hookline.adapters.git.repository.bases import Bases
from hookline.adapters.git.repository.changes import MERGED, Changes
from hookline.adapters.git.repository.locks import WORKTREES
from hookline.adapters.git.repository.plumbing import Plumbing
from hookline.adapters.git.repository.push import pushes_of
from hookline.adapters.git.repository.resolving import Conflicts
from hookline.adapters.git.repository.submodules import fetch_submodules
from hookline.adapters.git.repository.upkeep import Upkeep
from hookline.adapters.git.repository.worktree_folders import WorktreeFolders
from hookline.domain.text.excerpts import first_few
from hookline.domain.work.repository import (
    BRANCH_PREFIX,
    Cleaned,
    Kept,
    RepositoryError,
    Worktree,
    branch_of,
)
from hookline.files import own_folder, publish

if TYPE_CHECKING:
    from hookline.adapters.git.repository.bases import KnownBase

_SHOWN = 5
_LOCKED, _IN_SUBMODULES = "it is locked", "commits in submodules that are not pushed"
_LINK = "160000 "  # the mode of another repository's commit in the index
# What a ref of this repository cannot keep, or a person has said must stay.
_UNKEPT = frozenset((_LOCKED, _IN_SUBMODULES))
_UNPUSHED = "git rev-list --max-count=1 HEAD --branches --not --remotes"


class Worktrees(msgspec.Struct, frozen=True):
    """The worktrees of tasks, in the project's `.hookline/worktrees`."""

    _repo: Plumbing
    _bases: Bases
    _upkeep: Upkeep
    _changes: Changes
    _conflicts: Conflicts
    _folders: WorktreeFolders
    _begun_on: Callable[[str], str | None]

    async def open(self, task_id: str, *, first: bool = False) -> Worktree:
        branch = branch_of(task_id)
        path = self._folders.place(task_id)
        onto = await self._bases.fetch(await self._base_of(task_id))
        async with self._repo.exclusive(WORKTREES):
            self._folders.prepare()
            fresh = await self._make_branch(branch, onto, first=first)
            notices = onto.notices
            if self._folders.is_whole(task_id):
                await self._conflicts.recover(path)
                await self._check_on(path, branch)
            else:
                notices += await self._make(task_id, path, onto.sha)
        made = await self._worktree(task_id, base=onto.name)
        return msgspec.structs.replace(made, fresh=fresh, notices=notices)

    def place(self, task_id: str) -> str:
        """Where a task's worktree is, or would be."""
        return self._folders.place(task_id)

    async def follow_base(self, task_id: str) -> None:
        """Learn of what the remote has of a task's base."""
        await self._bases.fetch(await self._base_of(task_id))

    async def list(self) -> list[Worktree]:
        prefix = f"refs/heads/{BRANCH_PREFIX}"
        form = "--format=%(objectname) %(refname)"
        said = await self._repo.ask(
            "for-each-ref", form, prefix, doing="the branches cannot be listed"
        )
        pairs = (line.split(" ", 1) for line in said.text.splitlines())
        found = {ref.removeprefix(prefix): head for head, ref in pairs}
        with suppress(OSError):
            names = [name for name in os.listdir(self._repo.worktrees) if name[0] != "."]
            found = dict.fromkeys(names, "") | found
        names = sorted(found, key=_by_number)
        return [await self._worktree(name, head=found[name]) for name in names]

    async def unsaved(self, task_id: str) -> tuple[str, ...]:
        path = self._folders.place(task_id)
        if not os.path.lexists(path):
            return ()
        if not self._folders.is_whole(task_id):
            return (f"{path} is no longer a git worktree, so its files cannot be checked",)
        reasons = [_LOCKED] if self._folders.is_locked(path) else []
        if (operation := await self._repo.operation(path)) is not None:
            reasons.append(f"a {operation} is in progress")
        if dirty := await self._repo.dirty(path):
            names = first_few([printable(name) for name in dirty], _SHOWN)
            reasons.append(f"uncommitted files: {names}")
        reasons += await self._unsaved_commits(task_id)
        if os.path.lexists(os.path.join(path, ".gitmodules")):
            asked = ("submodule", "--quiet", "foreach", "--recursive", _UNPUSHED)
            if (await self._repo.git(path, *asked)).out:
                reasons.append(_IN_SUBMODULES)
        return tuple(reasons)

    async def clean(self, task_id: str) -> Cleaned | Kept:
        branch, path = branch_of(task_id), self._folders.place(task_id)
        base = await self._base_of(task_id)
        if not await self._is_in_own(branch, base):
            await self._bases.fetch(base)
        async with self._repo.exclusive(WORKTREES):
            existed = os.path.lexists(path)
            if reasons := await self.unsaved(task_id):
                return Kept(task_id, reasons)
            await self._remove(task_id)
            await self._drop_branch(branch, base)
            return Cleaned(task_id, existed)

    async def discard(self, task_id: str) -> Cleaned | Kept:
        branch, path = branch_of(task_id), self._folders.place(task_id)
        base, existed = await self._base_of(task_id), os.path.lexists(path)
        async with self._repo.exclusive(WORKTREES):
            lost = await self.unsaved(task_id) if existed else await self._unsaved_commits(task_id)
            if existed and (not self._folders.is_whole(task_id) or _UNKEPT.intersection(lost)):
                return Kept(task_id, lost)
            kept = [await self._put_away(path)] if existed and await self._repo.dirty(path) else []
            for tip in [t for t in await self._tips(task_id) if not await self._is_merged(t, base)]:
                kept += [await self._upkeep.keep(self._repo.root, tip)]
            await self._remove(task_id)
            await self._delete_branch(branch)
            return Cleaned(task_id, existed, lost, tuple(kept))

    async def _put_away(self, path: str) -> str:
        """Keep all files of a worktree under a ref; RepositoryError if one would not be in it."""
        doing = "its files cannot be saved"
        await self._upkeep.verify(path)
        await self._repo.git(path, "add", "--all", doing=doing)
        listed = await self._repo.git(path, "ls-files", "--stage", "-z", doing=doing)
        links = [name.partition("\t")[2] for name in listed.names if name.startswith(_LINK)]
        inside = [name for name in links if os.path.isdir(os.path.join(path, name, ".git"))]
        if inside or (await self._repo.git(path, "diff", "--quiet")).code:
            names = first_few([printable(name) for name in inside or links], _SHOWN)
            raise RepositoryError(f"another repository in it would be lost: {names}")
        kept = await self._upkeep.put_away(path)
        if kept is None:
            raise RepositoryError(doing)
        return kept

    async def _is_in_own(self, branch: str, base: str) -> bool:
        """Whether our own base holds a branch, so that no remote has to be asked."""
        names = (f"refs/heads/{branch}", f"refs/heads/{base}")
        tip, own = [await self._repo.commit(name) for name in names]
        return await self._repo.is_ancestor(tip, own)

    async def _worktree(
        self, task_id: str, *, head: str | None = None, base: str | None = None
    ) -> Worktree:
        path, branch = self._folders.place(task_id), branch_of(task_id)
        if head is None:
            head = await self._repo.commit(f"refs/heads/{branch}")
        root = self._repo.root
        prefix = os.path.relpath(os.path.realpath(root), self._repo.at(root).top)
        return Worktree(
            task=task_id,
            path=path,
            folder=path if prefix == "." else os.path.join(path, prefix),
            branch=branch,
            base=base or await self._base_of(task_id),
            head=head or "",
            lost=not self._folders.is_whole(task_id),
        )

    async def _base_of(self, task_id: str) -> str:
        return self._begun_on(task_id) or await self._bases.branch()

    async def _make_branch(self, branch: str, base: KnownBase, *, first: bool) -> bool:
        """Make a branch unless it is there; whether it was made now."""
        ref = f"refs/heads/{branch}"
        tip = await self._repo.commit(ref)
        if first and tip is not None and not await self._repo.is_ancestor(tip, base.sha):
            # They are of an earlier store's task, or were planted to be merged with this one.
            help = f"`git log {base.name}..{branch}` shows them;"
            help += f" `git branch -m {branch} NAME` keeps them under another name"
            found = f"{branch} has commits from before any work on the task"
            raise RepositoryError(found, help=help)
        if tip is None:
            await self._repo.ask(
                *("update-ref", "-m", "hookline: begin", ref, base.sha, ""),
                doing=f"the branch {branch} cannot be made",
                help=f"rename a branch that is called '{BRANCH_PREFIX[:-1]}', if there is one",
            )
            return True
        return False

    async def _check_on(self, path: str, wanted: str) -> None:
        found = await self._repo.branch(path)
        if found != wanted and await self._repo.operation(path) is None:
            raise RepositoryError(
                f"{path} is on {found or 'no branch'}, not on the branch {wanted}",
                help=f"run `git -C {path} switch {wanted}`, and merge what you want to keep",
            )

    async def _make(self, task_id: str, path: str, base: str) -> tuple[str, ...]:
        """Make a worktree; what is left of an earlier one is taken over, not thrown away."""
        marker, branch = self._folders.marker(task_id), branch_of(task_id)
        if os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path)):
            raise RepositoryError(f"{path} already exists", help="move it away, and try again")
        if not os.path.lexists(marker) and os.path.isdir(path) and os.listdir(path):
            return await self._take_over(task_id, path, branch)
        # Whoever made the marker never handed the worktree out: nobody's work is in it.
        with own_folder(self._repo.folder, "worktrees") as folder:
            publish(folder, os.path.basename(marker), b"")
        await self._folders.discard(path)
        add, doing = ("worktree", "add", "--quiet", path, branch), "cannot be made"
        await self._repo.ask(*add, doing=f"the worktree of {task_id} {doing}", timeout=HOOKED)
        notices = await fetch_submodules(self._repo, path, base)
        os.unlink(marker)
        return notices

    async def _take_over(self, task_id: str, path: str, branch: str) -> tuple[str, ...]:
        """Tie a folder whose ties to the repository are cut to it again, its files untouched."""
        link = os.path.join(path, ".git")
        if os.path.isdir(link) and not os.path.islink(link):
            help = "move it away, and try again"
            raise RepositoryError(f"{path} is a repository of its own", help=help)
        if self._folders.tie_again(path) and self._folders.is_whole(task_id):
            await self._check_on(path, branch)
            return ()
        fresh = os.path.join(self._repo.worktrees, f".fresh-{task_id}")
        await self._folders.discard(fresh)
        await self._folders.forget_missing(path)
        # By force: what is left of the old ties may still claim the branch.
        add = ("worktree", "add", "--quiet", "--force", "--no-checkout", fresh, branch)
        await self._repo.ask(*add, doing=f"the worktree of {task_id} cannot be repaired")
        os.replace(os.path.join(fresh, ".git"), link)
        os.rmdir(fresh)
        await self._repo.ask("worktree", "repair", path, doing="no repair")
        await self._upkeep.verify(path)
        await self._repo.git(path, "read-tree", "HEAD", doing="no repair")
        # What is missing would be taken for removed; what is there is left as it is.
        await self._repo.git(path, "checkout-index", "--quiet", "--all")
        return (f"{path} was reconnected to the repository; its files did not change",)

    async def _tips(self, task_id: str) -> set[str]:
        """What a task's branch and its worktree, if it has one, have as their last commit."""
        path, ref = self._folders.place(task_id), f"refs/heads/{branch_of(task_id)}"
        found = {await self._repo.commit(ref)}
        if os.path.lexists(path):
            found.add(await self._repo.sha(path, "HEAD"))
        return {tip for tip in found if tip is not None}

    async def _unsaved_commits(self, task_id: str) -> tuple[str, ...]:
        base = await self._base_of(task_id)
        for tip in await self._tips(task_id):
            if not await self._is_merged(tip, base) and not await self._is_pushed(tip):
                known = await self._bases.known(base)
                said = await self._repo.ask("rev-list", "--count", f"{known.sha}..{tip}")
                return (f"commits that are neither merged into {base} nor pushed: {said.text}",)
        return ()

    async def _is_pushed(self, tip: str) -> bool:
        asked = ("for-each-ref", "--count=1", f"--contains={tip}", "refs/remotes")
        return bool((await self._repo.ask(*asked)).text)

    async def _is_merged(self, tip: str, base: str) -> bool:
        """Whether the base, here or at the remote, holds this work, be it as another commit."""
        remote = await self._bases.remote(base)
        places = [f"refs/heads/{base}", *([f"refs/remotes/{remote}/{base}"] if remote else [])]
        for place in places:
            known = await self._repo.commit(place)
            if known is None:
                continue
            if await self._repo.is_ancestor(tip, known) or await self._changes.landed(tip, known):
                return True
        return False

    async def _remove(self, task_id: str) -> None:
        """Remove a worktree, in steps that a kill cannot leave half done."""
        path = self._folders.place(task_id)
        gone = os.path.join(self._repo.worktrees, f".gone-{task_id}")
        await self._folders.discard(gone)
        with suppress(FileNotFoundError):
            os.rename(path, gone)
        await self._folders.forget_missing(path)
        await self._folders.discard(gone)

    async def _drop_branch(self, branch: str, base: str) -> None:
        ref = f"refs/heads/{branch}"
        tip = await self._repo.commit(ref)
        if tip is not None and await self._is_merged(tip, base):
            await self._delete_branch(branch)

    async def _delete_branch(self, branch: str) -> None:
        ref = f"refs/heads/{branch}"
        tip = await self._repo.commit(ref)
        if tip is None or await self._folders.checkouts(ref):
            return
        notes = (MERGED + tip, *pushes_of(branch))
        gone = [each for each in notes if not is_missing(self._repo.at(self._repo.root), each)]
        lines = [f"delete {ref} {tip}", *(f"option no-deref\ndelete {each}" for each in gone), ""]
        stdin, doing = "\n".join(lines).encode(), f"{branch} was not removed"
        await self._repo.ask("update-ref", "--stdin", stdin=stdin, doing=doing)
        await self._repo.ask("config", "--remove-section", f"branch.{branch}")


def _by_number(name: str) -> tuple[int, str]:
    digits = name.rpartition("-")[2]
    return (int(digits) if digits.isdigit() else 0, name)
