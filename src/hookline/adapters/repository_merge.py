"""Merging finished work: the result is built beside the base, which then moves in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.adapters.git.door import HOOKED, GitFailed
from hookline.adapters.repository_changes import MERGED, REBASE, as_message
from hookline.adapters.repository_objects import STYLE
from hookline.adapters.repository_push import refusal
from hookline.adapters.repository_trailers import Signing
from hookline.domain.commit_message import trailers_in
from hookline.domain.repository import (
    BaseMoved,
    MergeConflict,
    Merged,
    Prepared,
    Refused,
    RepositoryError,
)

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from hookline.adapters.repository_state import Base
    from hookline.domain.forge import MergeMethod


class Merging(Signing):
    """Merges into the base, at the remote where there is one."""

    async def merge(
        self, head: str, base: str, message: str, method: MergeMethod = "merge"
    ) -> Merged | MergeConflict | BaseMoved | Refused:
        """Merge a commit into the base; of one that is merged already, say since when."""
        prepared = await self.prepare_merge(head, base, message, method)
        return prepared if isinstance(prepared, MergeConflict) else await self.land(prepared)

    async def prepare_merge(
        self, head: str, base: str, message: str, method: MergeMethod = "merge"
    ) -> Prepared | MergeConflict:
        """Build what the base would become, to be tested in `scratch` before it is landed."""
        commit = await self._sha(self.root, head)
        if commit is None:
            raise RepositoryError(f"there is no commit {head[:80]!r} to merge")
        known = await self.fetch(base)
        async with self._exclusive("merge"):
            if (since := await self._merged_since(commit, known)) is not None:
                return _prepared(since, commit, known, merged=True)
            built = await self._build(commit, known, message, method)
            if isinstance(built, MergeConflict):
                return built
            # All of it is tested, also what the work does not change.
            await self._check_objects(self.root, "--no-walk", built)
            await self._git(
                self.root, "update-ref", MERGED + commit, built, doing="the merge is not noted"
            )
            return _prepared(built, commit, known)

    def at_rest(self) -> AbstractAsyncContextManager[None]:
        """While nothing of ours is merged: `async with repository.at_rest():`."""
        return self._exclusive("merge")

    async def land(self, prepared: Prepared) -> Merged | BaseMoved | Refused:
        """Move the base to what was prepared, if it still is where it was then."""
        base = await self.fetch(prepared.base)
        async with self._exclusive("merge"):
            if prepared.merged or await self._is_ancestor(self.root, prepared.sha, base.sha):
                return await self._landed_earlier(prepared, base)
            if base.sha != prepared.base_head:
                return BaseMoved(base.name, prepared.base_head, base.sha)
            await self._check_objects(self.root, f"{base.sha}..{prepared.sha}")
            if base.remote is not None:
                return await self._land_at_remote(prepared, base)
            return await self._land_here(prepared, base)

    async def _build(
        self, commit: str, base: Base, message: str, method: MergeMethod
    ) -> str | MergeConflict:
        """The commit that the base would become: what git's merge gives, and nothing else."""
        await self._fork(self.root, base.sha, commit)
        merged = await self._merge_trees(self.root, base.sha, commit)
        if merged.conflicts:
            # Told from the side of the work, as everywhere.
            merged = await self._merge_trees(self.root, commit, base.sha)
            return MergeConflict(base.sha, await self._files(self.root, merged))
        if method == "rebase":
            return await self._replayed(commit, base, message, merged.tree)
        if method == "squash" and merged.tree == await self._tree(base.sha):
            return base.sha  # the base has all of it already
        parents = (base.sha,) if method == "squash" else (base.sha, commit)
        return await self._commit_tree(merged.tree, parents, as_message(message, "Merge"), {})

    async def _replayed(
        self, commit: str, base: Base, message: str, tree: str
    ) -> str | MergeConflict:
        """The commits of the work on top of the base, with the content that a merge has."""
        stands = await self._is_ancestor(self.root, base.sha, commit)
        async with self.scratch(commit) as path:
            await self._verify(path)
            said = await self._git(path, *STYLE, *REBASE, base.sha, timeout=HOOKED, hooks=False)
            files = await self._conflicts(path) if said.code else ()
            if said.code and not files:
                raise GitFailed("nothing was merged", said)
            head = None if said.code else await self._head(path)
        if head is None or await self._tree(head) != tree:
            if stands:  # a rebase drops merges, and what was resolved in them
                head = await self._flat(commit, base.sha, base.sha)
            elif head is None:
                return MergeConflict(base.sha, files)
            else:
                raise RepositoryError(
                    "a rebase of the work gives other files than a merge of it",
                    help=f"rebase it onto {base.name} yourself, look at it, and try again",
                )
        trailers = trailers_in(message)
        return await self._signed(self.root, base.sha, head, trailers) if trailers else head

    async def _merged_since(self, commit: str, base: Base) -> str | None:
        """The commit of the base that brought the work in; None when it is not in."""
        if (landed := await self._landed(commit, base.sha)) is not None:
            return landed
        if not await self._is_ancestor(self.root, commit, base.sha):
            return None
        said = await self._git(
            self.root,
            *("rev-list", "--first-parent", "--ancestry-path", f"{commit}..{base.sha}"),
            doing="when it was merged is unknown",
        )
        oldest = said.text.rpartition("\n")[2]
        if not oldest or await self._sha(self.root, f"{oldest}^1") == commit:
            return commit
        return oldest

    async def _land_at_remote(self, prepared: Prepared, base: Base) -> Merged | BaseMoved | Refused:
        assert base.remote is not None
        said = await self._push_ref(
            self.root, base.remote, f"{prepared.sha}:refs/heads/{base.name}"
        )
        now = await self.fetch(base.name)
        if await self._is_ancestor(self.root, prepared.sha, now.sha):
            return Merged(prepared.sha, base.name, await self._bring_along(prepared.sha, base.name))
        if now.sha != prepared.base_head:
            return BaseMoved(base.name, prepared.base_head, now.sha)
        return refusal(said, f"{base.name} was not moved at {base.remote}", base.remote)

    async def _landed_earlier(self, prepared: Prepared, base: Base) -> Merged:
        """What a process that died after its push left to be done."""
        along = base.remote is not None
        notices = await self._bring_along(prepared.sha, base.name) if along else ()
        return Merged(prepared.sha, base.name, notices)

    async def _bring_along(self, sha: str, base: str) -> tuple[str, ...]:
        """Move our own branch of that name too, where nothing is lost by it."""
        ref = f"refs/heads/{base}"
        ours = await self._sha(self.root, ref)
        if ours in (None, sha) or not await self._is_ancestor(self.root, ours, sha):
            return ()
        try:
            refused = await self._advance(ref, ours, sha)
        except RepositoryError as problem:  # the remote has it, so it is merged all the same
            refused = Refused("rejected", problem.message)
        return () if refused is None else (f"your own {base} stays behind: {refused.reason}",)

    async def _land_here(self, prepared: Prepared, base: Base) -> Merged | BaseMoved | Refused:
        ref = f"refs/heads/{base.name}"
        refused = await self._advance(ref, base.sha, prepared.sha)
        now = await self._sha(self.root, ref)
        if now is not None and await self._is_ancestor(self.root, prepared.sha, now):
            return Merged(prepared.sha, base.name)
        if now != base.sha:
            return BaseMoved(base.name, base.sha, now or "")
        return refused or Refused("rejected", f"{base.name} did not move")


def _prepared(sha: str, head: str, base: Base, *, merged: bool = False) -> Prepared:
    return Prepared(sha=sha, head=head, base=base.name, base_head=base.sha, merged=merged)
