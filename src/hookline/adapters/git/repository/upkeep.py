"""Keeping a checkout in order: verified before each act, and restored after one that failed."""

from __future__ import annotations

import os

import msgspec

from hookline.adapters.git.checkout import BrokenWorktree
from hookline.adapters.git.door import ALONE, RESCUED, printable
from hookline.adapters.git.refs import stands_alone
from hookline.adapters.git.repository.notes import WRITING, ConflictNote, RebaseNote
from hookline.adapters.git.repository.plumbing import Plumbing
from hookline.domain.work.repository import RepositoryError
from hookline.files import bytes_of

_SETTINGS = "look at core.* in `git config --list --show-origin`"


class Upkeep(msgspec.Struct, frozen=True):
    """Keeps one checkout in order: verified, restored, its edits put away."""

    _repo: Plumbing

    async def own(self, top: str, branch: str | None) -> None:
        """Verify that a checkout may be written in, and is of that branch; end what we began."""
        await self.recover(top)
        if (operation := await self._repo.operation(top)) is not None:
            raise _unfinished(top, operation)
        wanted = branch or self._repo.task_branch(top)
        if wanted is None:
            return
        if (found := await self._repo.branch(top)) != wanted:
            raise RepositoryError(f"{top} has {found or 'no branch'} checked out, not {wanted}")
        await self._check_ref(top, f"refs/heads/{wanted}")

    async def recover(self, top: str) -> None:
        """Verify a checkout, and end what we began there and a crash interrupted."""
        await self.verify(top)
        await self.end_own_acts(top)

    async def _check_ref(self, top: str, ref: str) -> None:
        """Refuse a branch that is gone, or that moves another one when it moves."""
        if stands_alone(self._repo.at(top), ref):
            return
        form = "--format=%(refname) %(symref)"
        said = await self._repo.git(top, "for-each-ref", form, "refs/heads", doing="no branches")
        targets = dict(line.split(" ", 1) for line in said.text.splitlines())
        name = ref.removeprefix("refs/heads/")
        if ref not in targets:
            raise RepositoryError(f"the branch {name} is gone, or has no commits")
        tied = [other for other, target in targets.items() if target == ref]
        if other := targets[ref] or next(iter(tied), ""):
            raise RepositoryError(
                f"the branch {name} is a symbolic ref to {other}: moving one moves the other"
            )

    async def verify(self, top: str) -> None:
        """Refuse a checkout whose settings send a git that writes to other folders."""
        at = self._repo.at(top)
        said = await self._repo.layout(top)
        # Paths, in which there may be line ends: what is known of them is compared as a whole.
        known = f"true\n{at.top}\n{self._repo.common}\n"
        hooks = os.path.realpath(said.text.removeprefix(known))
        if said.code or not said.text.startswith(known):
            words = f"git does not work in {top}: {said.words}"
            raise BrokenWorktree(words, help=_SETTINGS)
        others = os.path.join(os.path.realpath(self._repo.worktrees), "")
        if hooks.startswith(others) and not hooks.startswith(os.path.join(at.top, "")):
            raise BrokenWorktree(f"git's hooks are in a worktree: {hooks}", help=_SETTINGS)

    def own_top(self, folder: str) -> str:
        """The top of a task's worktree; work in other checkouts is not moved."""
        top = self._repo.at(folder).top
        if self._repo.task_branch(top) is None:
            raise RepositoryError(f"{top} is not the worktree of a task: nothing is rebased there")
        return top

    async def end_own_acts(self, top: str) -> None:
        """Undo a rebase that was interrupted, and a merge whose files were being written."""
        await self._end_own_rebase(top)
        note = self.noted_conflict(top)
        if note is not None and note.state == WRITING:
            await self.undo(top, note.head, note.ref)
            self.forget_conflict(top)

    async def _end_own_rebase(self, top: str) -> None:
        """Undo our own rebase that a crash or a conflict left; anyone else's is not touched."""
        branch = self._repo.task_branch(top)
        if branch is None:
            return  # nothing is rebased in a checkout of the user's
        place = self._repo.at(top).git_dir
        note = RebaseNote.read(place, branch)
        if note is None:
            return
        under_way = await self._repo.operation(top)
        # A git that was killed may have written none of it, or only its beginning.
        if under_way == "rebase" and not note.onto.startswith(_target(place)):
            RebaseNote.forget(place)  # ours is over, and this one is someone else's
            return
        # Work without its own commits is moved in one step, which leaves no trace in git.
        stands = await self._repo.tip(top) == note.head
        stepped = stands and await self._repo.is_ancestor(note.head, note.onto)
        if under_way or stepped or await self._repo.ref(top) != note.ref:
            await self.undo(top, note.head, note.ref)
        RebaseNote.forget(place)

    async def undo(self, top: str, head: str, ref: str) -> None:
        """Restore a checkout to where our act began; files that this would overwrite are kept."""
        if await self._repo.operation(top) == "rebase":
            said = await self._repo.git(top, "rebase", "--abort")
            if said.code:
                await self._repo.git(top, "rebase", "--quit")
        if await self._repo.ref(top) != ref:
            doing = f"{top} cannot be restored"
            await self._repo.git(top, "symbolic-ref", "HEAD", ref, doing=doing)
        moved = await self._repo.dirty(top) or await self._repo.tip(top) != head
        if moved or await self._repo.operation(top) is not None:
            await self.put_away(top)
            reset = (*ALONE, "reset", "--hard", "--quiet")
            await self._repo.git(top, *reset, head, doing="the earlier state cannot be restored")
        await self.check_clean(top)

    async def put_away(self, top: str) -> str | None:
        """Keep all that is not committed under a separate ref, and name it."""
        await self._repo.git(top, "add", "--all")
        saved = (await self._repo.git(top, "stash", "create", "put away by Hookline")).text
        return await self.keep(top, saved) if saved else None

    async def keep(self, top: str, commit: str) -> str:
        """Keep a commit under its own ref, and name it."""
        ref = f"{RESCUED}{commit}"
        await self._repo.git(top, "update-ref", ref, commit, doing="nothing was put away")
        return ref

    async def check_clean(self, top: str) -> None:
        """Refuse a checkout with files that are not committed."""
        if (operation := await self._repo.operation(top)) is not None:
            raise _unfinished(top, operation)
        if dirty := await self._repo.dirty(top):
            words = f"not all files in {top} are committed, such as {printable(dirty[0])}"
            raise RepositoryError(words, help="commit them first")

    def noted_conflict(self, top: str) -> ConflictNote | None:
        """The note of a merge into this task's worktree."""
        return ConflictNote.read(self._repo.at(top).git_dir, self._repo.task_branch(top))

    def forget_conflict(self, top: str) -> None:
        """That merge is over."""
        ConflictNote.forget(self._repo.at(top).git_dir)


def _unfinished(top: str, operation: str) -> RepositoryError:
    words = f"git is in the middle of a {operation} in {top}, which Hookline did not start"
    return RepositoryError(words, help=f"finish it, or run `git {operation} --abort` there")


def _target(place: str) -> str:
    """The commit that a rebase under way moves to."""
    found = bytes_of(os.path.join(place, "rebase-merge", "onto"), 100)
    return found.decode("ascii", "replace").strip()
