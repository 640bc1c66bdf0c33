"""Commits that no gate has checked: in the base, or made where a task's work does not belong."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline.adapters.git.repository.bases import Bases
from hookline.adapters.git.repository.plumbing import Plumbing
from hookline.adapters.git.repository.worktree_folders import WorktreeFolders
from hookline.files import bytes_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hookline.domain.work.repository import Commit, Span

# What git writes into the reflog where a commit is made, and not only checked out.
_MAKING = ("commit", "cherry-pick", "revert", "am", "rebase (pick)", "rebase (continue)")
_NOT_MADE = ": fast-forward"
_LOOKED_AT = 1000
_LONGEST = 64 << 20
_LISTED = 20
_LINE = re.compile(r"[0-9a-f]{40,64} ([0-9a-f]{40,64}) .*> (\d+) [+-]\d{4}(?:\t(.*))?")


class _Move(NamedTuple):
    """A line of a reflog: the new commit, when, and how."""

    sha: str
    moment: int
    how: str

    @property
    def is_made(self) -> bool:
        return self.how.startswith(_MAKING) and not self.how.endswith(_NOT_MADE)


class UncheckedCommits(msgspec.Struct, frozen=True):
    """Looks for commits that went past the gates."""

    _repo: Plumbing
    _bases: Bases
    _folders: WorktreeFolders

    async def made_here(self, folder: str) -> list[Commit]:
        """The commits that were made in a checkout, whatever branch they went to."""
        asked = ("log", "-g", "-z", "--format=%H %gs%n%s", f"-{_LOOKED_AT}")
        said = await self._repo.git(folder, *asked)
        made = {}
        for entry in said.names:
            action, _, subject = entry.partition("\n")
            sha, _, how = action.partition(" ")
            if _Move(sha, 0, how).is_made:
                made[sha] = self._repo.told_commit(sha, subject)
        return list(made.values())

    async def not_in(self, folder: str, made: list[Commit], base: str) -> list[Commit]:
        """Those of the commits that the base does not have."""
        if not made:
            return []
        asked = ("rev-list", "--no-walk", "--stdin")
        lines = "\n".join([*(each.sha for each in made), f"^{base}", ""]).encode()
        said = await self._repo.git(folder, *asked, stdin=lines, doing="commits are unknown")
        found = set(said.text.splitlines())
        return [each for each in made if each.sha in found]

    async def bypassed(
        self, folder: str, base: str, start: str | None, merged: Collection[str]
    ) -> list[Commit]:
        known = await self._bases.known(base)
        if known.sha == start:
            return []  # the base has not moved since
        made = await self.made_here(folder)
        missing = await self.not_in(folder, made, known.sha)
        held = [each for each in made if each not in missing]
        for sha in merged if held else ():
            held = [each for each in held if not await self._repo.is_ancestor(each.sha, sha)]
        return held

    async def moved_behind(self, base: str) -> list[Commit]:
        ref = f"refs/heads/{base}"
        if await self._bases.remote(base) is not None or not await self._is_logged():
            return []  # what is merged is the remote's, where anyone may push
        checkout, now = await self._folders.checkout_of(ref), await self._repo.commit(ref)
        moves = _moves(self._repo.at(checkout).git_dir) if checkout is not None else []
        if now is None or not moves or moves[-1].sha == now or not moves[-1].sha.strip("0"):
            return []
        asked = ("log", "-z", "--format=%H %s", f"-{_LISTED}", f"{moves[-1].sha}..{now}")
        pairs = [each.partition(" ") for each in (await self._repo.ask(*asked)).names]
        found = [self._repo.told_commit(sha, subject) for sha, _, subject in pairs]
        return found or [self._repo.told_commit(now, f"to which {base} was moved")]

    async def made_in_checkout(self, start: str | None, spans: Sequence[Span]) -> list[Commit]:
        moves = _moves(self._repo.at(self._repo.root).git_dir)
        made = {
            move.sha: self._repo.told_commit(move.sha, move.how.partition(": ")[2])
            for move in moves
            if move.is_made and any(int(a) <= move.moment <= b for a, b in spans)
        }
        # Git counts whole seconds, in which a turn may have begun later.
        is_old = self._repo.is_ancestor
        return [each for sha, each in made.items() if not await is_old(sha, start)]

    async def made_on_base(
        self, base: str, start: str | None, spans: Sequence[Span]
    ) -> list[Commit]:
        made = missing = await self.made_in_checkout(start, spans)
        here = await self._repo.commit(f"refs/heads/{base}")
        for tip in {(await self._bases.known(base)).sha, here or ""} - {""}:
            missing = await self.not_in(self._repo.root, missing, tip)
        return [each for each in made if each not in missing]

    async def is_log_gone(self, folder: str) -> bool:
        return not _moves(self._repo.at(folder).git_dir) and await self._is_logged()

    async def _is_logged(self) -> bool:
        return (await self._repo.settings.get("core.logallrefupdates") or "true") != "false"


def _moves(git_dir: str) -> list[_Move]:
    """What a checkout had checked out, the oldest first."""
    text = bytes_of(os.path.join(git_dir, "logs", "HEAD"), _LONGEST)
    lines = map(_LINE.fullmatch, text.decode("utf-8", "replace").splitlines())
    return [_Move(line[1], int(line[2]), line[3] or "") for line in lines if line is not None]
