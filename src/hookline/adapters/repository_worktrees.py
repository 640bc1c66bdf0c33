"""A worktree and a branch per task: made, found again, repaired, and removed only when saved."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.git.checkout import BrokenWorktree
from hookline.adapters.git.door import HOOKED, printable
from hookline.adapters.repository_changes import MERGED
from hookline.adapters.repository_push import Pushing
from hookline.domain.repository import (
    BRANCH_PREFIX,
    Cleaned,
    Kept,
    RepositoryError,
    Worktree,
    branch_of,
    check_task_name,
)
from hookline.files import own_folder, publish, read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.adapters.repository_state import Base

_SHOWN = 5
_UNPUSHED = "git rev-list --max-count=1 HEAD --branches --not --remotes"


class Worktrees(Pushing):
    """The worktrees of tasks, in the project's `.hookline/worktrees`."""

    async def worktree(self, task_id: str, base: str | None = None) -> Worktree:
        """The task's worktree: the one it has, repaired if need be, or a new one off the base."""
        branch = branch_of(task_id)
        path = self._place(task_id)
        recorded = await self._recorded_base(branch)
        onto = await self.fetch(recorded or base or await self.base_branch())
        async with self._exclusive("worktrees"):
            self._prepare_folder()
            fresh = await self._make_branch(branch, onto)
            notices = onto.notices
            if self._is_whole(task_id):
                await self.recover(path)
                await self._check_on(path, branch)
            else:
                notices += await self._make(task_id, path, branch)
        return msgspec.structs.replace(await self._worktree(task_id, notices), fresh=fresh)

    async def worktrees(self) -> list[Worktree]:
        """Every task's worktree, and every branch of a task whose worktree is gone."""
        prefix = f"refs/heads/{BRANCH_PREFIX}"
        form = "--format=%(objectname) %(refname)"
        said = await self._git(self.root, "for-each-ref", form, prefix, doing="no list of branches")
        pairs = (line.split(" ", 1) for line in said.text.splitlines())
        found = {ref.removeprefix(prefix): head for head, ref in pairs}
        with suppress(OSError):
            found |= {
                name: found.get(name, "") for name in os.listdir(self._worktrees) if name[0] != "."
            }
        names = sorted(found, key=_by_number)
        return [await self._worktree(name, head=found[name]) for name in names]

    async def unsaved(self, task_id: str) -> tuple[str, ...]:
        """What would be lost with a task's worktree."""
        path = self._place(task_id)
        if not os.path.lexists(path):
            return ()
        if not self._is_whole(task_id):
            return (f"{path} is no worktree of git any more, so nothing is known of its files",)
        reasons = []
        if (operation := await self._operation(path)) is not None:
            reasons.append(f"a {operation} is under way")
        if dirty := await self._dirty(path):
            names = ", ".join(printable(name) for name in dirty[:_SHOWN])
            more = f" and {len(dirty) - _SHOWN} more" if len(dirty) > _SHOWN else ""
            reasons.append(f"uncommitted files: {names}{more}")
        if (commits := await self._unsaved_commits(task_id, path)) is not None:
            reasons.append(commits)
        if os.path.lexists(os.path.join(path, ".gitmodules")):
            asked = ("submodule", "--quiet", "foreach", "--recursive", _UNPUSHED)
            if (await self._git(path, *asked)).out:
                reasons.append("commits in submodules that are not pushed")
        return tuple(reasons)

    async def clean(self, task_id: str) -> Cleaned | Kept:
        """Remove a task's worktree if nothing in it is unsaved, and its branch once merged."""
        branch, path = branch_of(task_id), self._place(task_id)
        base = await self._base_of(branch)
        await self.fetch(base)
        async with self._exclusive("worktrees"):
            existed = os.path.lexists(path)
            if reasons := await self.unsaved(task_id):
                return Kept(task_id, reasons)
            if existed:
                await self._remove(path)
            await self._drop_branch(branch, base)
            return Cleaned(task_id, existed)

    def _place(self, task_id: str) -> str:
        return os.path.join(self._worktrees, check_task_name(task_id))

    def _making(self, task_id: str) -> str:
        return os.path.join(self._worktrees, f".making-{task_id}")

    def _prepare_folder(self) -> None:
        if os.path.islink(self._worktrees):
            raise RepositoryError(f"{self._worktrees} is a link, which nothing is written through")
        try:
            os.makedirs(self._worktrees, exist_ok=True)
            # Without it `git add` in the main checkout would take worktrees for submodules.
            if not os.path.lexists(os.path.join(self._worktrees, ".gitignore")):
                with own_folder(self.folder, "worktrees") as folder:
                    publish(folder, ".gitignore", b"*\n")
        except OSError as problem:
            raise RepositoryError(f"cannot write to {self._worktrees}: {problem}") from problem

    async def _worktree(
        self, task_id: str, notices: tuple[str, ...] = (), *, head: str | None = None
    ) -> Worktree:
        path, branch = self._place(task_id), branch_of(task_id)
        if head is None:
            head = await self._sha(self.root, f"refs/heads/{branch}")
        prefix = os.path.relpath(os.path.realpath(self.root), self._at(self.root).top)
        return Worktree(
            task=task_id,
            path=path,
            folder=path if prefix == "." else os.path.join(path, prefix),
            branch=branch,
            base=await self._base_of(branch),
            head=head or "",
            lost=not self._is_whole(task_id),
            notices=notices,
        )

    async def _recorded_base(self, branch: str) -> str | None:
        return await self._settings.get(f"branch.{branch}.hooklinebase") or None

    async def _base_of(self, branch: str) -> str:
        return await self._recorded_base(branch) or await self.base_branch()

    async def _make_branch(self, branch: str, base: Base) -> bool:
        """Make a branch unless it is there; whether it was made now."""
        if await self._recorded_base(branch) is None:
            key = f"branch.{branch}.hooklineBase"
            await self._git(self.root, "config", key, base.name, doing=f"no branch {branch}")
        ref = f"refs/heads/{branch}"
        if await self._sha(self.root, ref) is None:
            await self._git(
                self.root,
                *("update-ref", "-m", "hookline: begin", ref, base.sha, ""),
                doing=f"the branch {branch} cannot be made",
                help=f"rename a branch that is called '{BRANCH_PREFIX[:-1]}', if there is one",
            )
            return True
        return False

    def _is_whole(self, task_id: str) -> bool:
        """Whether a worktree was made to its end, and is still tied to this repository."""
        if os.path.lexists(self._making(task_id)):
            return False
        try:
            self._at(self._place(task_id))
        except BrokenWorktree:
            return False
        return True

    async def _check_on(self, path: str, wanted: str) -> None:
        found = await self._branch(path)
        if found != wanted and await self._operation(path) is None:
            raise RepositoryError(
                f"{path} is not on the branch {wanted} but on {found or 'no branch at all'}",
                help=f"run `git -C {path} switch {wanted}`, with what is to be kept merged into it",
            )

    async def _make(self, task_id: str, path: str, branch: str) -> tuple[str, ...]:
        """Make a worktree; what is left of an earlier one is taken over, not thrown away."""
        marker = self._making(task_id)
        if os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path)):
            raise RepositoryError(f"{path} is in the way", help="move it away, and try again")
        if not os.path.lexists(marker) and os.path.isdir(path) and os.listdir(path):
            return await self._take_over(task_id, path, branch)
        # Whoever made the marker never handed the worktree out: nobody's work is in it.
        with own_folder(self.folder, "worktrees") as folder:
            publish(folder, os.path.basename(marker), b"")
        await self._discard(path)
        await self._git(
            self.root,
            *("worktree", "add", "--quiet", path, branch),
            doing=f"the worktree of {task_id} cannot be made",
            timeout=HOOKED,
        )
        notices = await self._submodules(path)
        os.unlink(marker)
        return notices

    async def _take_over(self, task_id: str, path: str, branch: str) -> tuple[str, ...]:
        """Tie a folder whose ties to the repository are cut to it again, its files untouched."""
        link = os.path.join(path, ".git")
        if os.path.isdir(link) and not os.path.islink(link):
            raise RepositoryError(
                f"{path} is a repository of its own", help="move it away, and try again"
            )
        if self._tie_again(path) and self._is_whole(task_id):
            await self._check_on(path, branch)
            return ()
        fresh = os.path.join(self._worktrees, f".fresh-{task_id}")
        await self._discard(fresh)
        await self._forget_missing(path)
        # By force: what is left of the old ties may still claim the branch.
        await self._git(
            self.root,
            *("worktree", "add", "--quiet", "--force", "--no-checkout", fresh, branch),
            doing=f"the worktree of {task_id} cannot be repaired",
        )
        os.replace(os.path.join(fresh, ".git"), link)
        os.rmdir(fresh)
        await self._git(self.root, "worktree", "repair", path, doing="no repair")
        await self._verify(path)
        await self._git(path, "read-tree", "HEAD", doing="no repair")
        # What is missing would be taken for removed; what is there is left as it is.
        await self._git(path, "checkout-index", "--quiet", "--all")
        return (f"{path} had lost its ties to the repository; its files are as they were",)

    def _tie_again(self, path: str) -> bool:
        """Write the ties anew where git's record of the worktree is whole; whether it was.

        `git worktree repair` believes what stands in the folder, and would change the record of
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
        place = os.path.join(self._common, "worktrees")
        for name in os.listdir(place) if os.path.isdir(place) else ():
            with suppress(OSError):
                record = os.path.join(place, name)
                named = os.fsdecode(read_regular(os.path.join(record, "gitdir"), 64 * 1024))
                link = os.path.join(record, named.removesuffix("\n"))
                if not os.path.islink(record):
                    yield record, os.path.normpath(link)

    async def _discard(self, path: str) -> None:
        """Remove a worktree in which nobody's work is, whole or not.

        An agent can put a link there, and git would remove the worktree that it leads to.
        """
        if os.path.islink(path):
            os.unlink(path)
            return
        await self._git(self.root, "worktree", "remove", "--force", "--force", path)
        shutil.rmtree(path, ignore_errors=True)
        await self._forget_missing(path)

    async def _forget_missing(self, path: str) -> None:
        """Remove git's own record of one worktree; `git worktree prune` would take others too."""
        for record, link in self._records():
            if link == os.path.join(_real(path), ".git"):
                shutil.rmtree(record, ignore_errors=True)

    async def _unsaved_commits(self, task_id: str, path: str) -> str | None:
        branch = branch_of(task_id)
        base = await self._base_of(branch)
        found = {await self._sha(path, name) for name in ("HEAD", f"refs/heads/{branch}")}
        for tip in (sha for sha in found if sha is not None):
            if not await self._is_merged(tip, base) and not await self._is_pushed(tip):
                known = await self._known_base(base)
                said = await self._git(path, "rev-list", "--count", f"{known.sha}..{tip}")
                return f"commits that are neither merged into {base} nor pushed: {said.text}"
        return None

    async def _is_pushed(self, tip: str) -> bool:
        said = await self._git(
            self.root, "for-each-ref", "--count=1", f"--contains={tip}", "refs/remotes"
        )
        return bool(said.text)

    async def _is_merged(self, tip: str, base: str) -> bool:
        """Whether the base, here or at the remote, holds this work, be it as another commit."""
        remote = await self._remote(base)
        places = [f"refs/heads/{base}", *([f"refs/remotes/{remote}/{base}"] if remote else [])]
        for place in places:
            known = await self._sha(self.root, place)
            if known is None:
                continue
            if await self._is_ancestor(self.root, tip, known) or await self._landed(tip, known):
                return True
        return False

    async def _remove(self, path: str) -> None:
        # Git refuses to remove submodules without force; what is in them was looked at.
        force = ("--force",) if os.path.lexists(os.path.join(path, ".gitmodules")) else ()
        await self._git(
            self.root, "worktree", "remove", *force, path, doing=f"{path} was not removed"
        )

    async def _drop_branch(self, branch: str, base: str) -> None:
        ref = f"refs/heads/{branch}"
        tip = await self._sha(self.root, ref)
        if tip is None or not await self._is_merged(tip, base) or await self._checkouts(ref):
            return
        await self._git(self.root, "update-ref", "-d", ref, tip, doing=f"{branch} was not removed")
        await self._git(self.root, "config", "--remove-section", f"branch.{branch}")
        await self._git(self.root, "update-ref", "-d", MERGED + tip)
        await self._forget_pushes(branch)

    async def _checkout_of(self, ref: str) -> str | None:
        """The user's checkout that has a branch checked out, the project's own first.

        An agent can have its worktree claim the branch, which is then no checkout to bring along.
        """
        if await self._ref(self.root) == ref:
            return self._at(self.root).top
        own = os.path.join(os.path.realpath(self._worktrees), "")
        found = (path for path in await self._checkouts(ref) if not path.startswith(own))
        return next(found, None)

    async def _checkouts(self, ref: str) -> list[str]:
        """Every checkout that has a branch checked out."""
        said = await self._git(self.root, "worktree", "list", "--porcelain", "-z")
        found, path = [], ""
        for line in said.out.split(b"\0"):
            word, _, value = os.fsdecode(line).partition(" ")
            if word == "worktree":
                path = value
            elif (word, value) == ("branch", ref):
                found.append(path)
        return found


def _real(path: str) -> str:
    """A path whose own name is kept, be it a link."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _by_number(name: str) -> tuple[int, str]:
    digits = name.rpartition("-")[2]
    return (int(digits) if digits.isdigit() else 0, name)
