"""Merging finished work: the result is built next to the base, which then moves in one step."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.git.door import HOOKED, LIMIT, REBASES, GitFailed, printable
from hookline.adapters.git.repository.bases import Bases, KnownBase
from hookline.adapters.git.repository.changes import MERGED, REBASE, Changes, Trailers, as_message
from hookline.adapters.git.repository.conflicts import ConflictFiles
from hookline.adapters.git.repository.plumbing import STYLE, Plumbing
from hookline.adapters.git.repository.push import Pushes, refusal
from hookline.adapters.git.repository.upkeep import Upkeep
from hookline.adapters.git.repository.worktree_folders import Scratch, WorktreeFolders
from hookline.domain.pages.taskpage import trailers_in
from hookline.domain.work.repository import (
    BaseMoved,
    MergeConflict,
    Merged,
    Prepared,
    Refused,
    RepositoryError,
)
from hookline.files import bytes_of, own_folder, publish
from hookline.ports.leases import prove_lease

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from hookline.domain.work.forge import MergeMethod

# Written into the checkout's git folder before its files are changed, with the tree they go to:
# after a crash the same merge is another commit.
_NOTE = "hookline-step"
_FILES = ("100644", "100755")


class Merges(msgspec.Struct, frozen=True):
    """Merges into the base, at the remote where there is one."""

    _repo: Plumbing
    _bases: Bases
    _upkeep: Upkeep
    _changes: Changes
    _files: ConflictFiles
    _scratch: Scratch
    _pushes: Pushes
    _steps: FastForwards
    _trailers: Trailers

    async def merge(
        self, head: str, base: str, message: str, method: MergeMethod = "merge"
    ) -> Merged | MergeConflict | BaseMoved | Refused:
        prepared = await self.prepare(head, base, message, method)
        return prepared if isinstance(prepared, MergeConflict) else await self.land(prepared)

    async def prepare(
        self,
        head: str,
        base: str,
        message: str,
        method: MergeMethod = "merge",
        *,
        onto: str | None = None,
    ) -> Prepared | MergeConflict:
        """Build what the base would become, to be tested in `scratch` before it is landed.

        `onto` is the base where it was fetched a moment ago; to land it is to fetch it again.
        """
        commit = await self._repo.commit(head)
        if commit is None:
            raise RepositoryError(f"there is no commit {head[:80]!r} to merge")
        known = await self._bases.fetch(base) if onto is None else KnownBase(base, onto, None)
        async with self._repo.exclusive("merge"):
            if (since := await self._merged_since(commit, known)) is not None:
                return _prepared(since, commit, known, merged=True)
            built = await self._build(commit, known, message, method)
            if isinstance(built, MergeConflict):
                return built
            # All of it is tested, also what the work does not change.
            await self._repo.objects.check(self._repo.root, "--no-walk", built)
            await self._repo.point(MERGED + commit, built, doing="the merge could not be recorded")
            return _prepared(built, commit, known)

    def at_rest(self) -> AbstractAsyncContextManager[None]:
        return self._repo.exclusive("merge")

    async def land(self, prepared: Prepared) -> Merged | BaseMoved | Refused:
        base = await self._bases.fetch(prepared.base)
        async with self._repo.exclusive("merge"):
            if prepared.merged or await self._repo.is_ancestor(prepared.sha, base.sha):
                # What a process that died after its push left to be done.
                is_far = base.remote is not None
                notices = await self._bring_along(prepared.sha, base.name) if is_far else ()
                return Merged(prepared.sha, base.name, notices)
            if base.sha != prepared.base_head:
                return BaseMoved(base.name, prepared.base_head, base.sha)
            await self._repo.objects.check(self._repo.root, f"{base.sha}..{prepared.sha}")
            if base.remote is not None:
                return await self._land_at_remote(prepared, base)
            return await self._land_here(prepared, base)

    async def _build(
        self, commit: str, base: KnownBase, message: str, method: MergeMethod
    ) -> str | MergeConflict:
        """The commit that the base would become: what git's merge gives, and nothing else."""
        await self._repo.fork(self._repo.root, base.sha, commit)
        merged = await self._repo.objects.merge_trees(self._repo.root, base.sha, commit)
        if merged.conflicts:
            # Told from the side of the work, as everywhere.
            merged = await self._repo.objects.merge_trees(self._repo.root, commit, base.sha)
            return MergeConflict(base.sha, await self._files.first(self._repo.root, merged))
        if method == "rebase":
            return await self._replayed(commit, base, message, merged.tree)
        if method == "squash" and merged.tree == await self._repo.objects.tree(base.sha):
            return base.sha  # the base has all of it already
        parents = (base.sha,) if method == "squash" else (base.sha, commit)
        words = as_message(message, "Merge")
        return await self._repo.objects.commit_tree(merged.tree, parents, words, {})

    async def _replayed(
        self, commit: str, base: KnownBase, message: str, tree: str
    ) -> str | MergeConflict:
        """The commits of the work on top of the base, with the content that a merge has."""
        stands = await self._repo.is_ancestor(base.sha, commit)
        async with self._scratch.checkout(commit, base.sha) as path:
            await self._upkeep.verify(path)
            asked = (*STYLE, *REBASE, base.sha)
            said = await self._repo.git(path, *asked, timeout=HOOKED, hooks=False)
            files = await self._changes.conflict_files(path) if said.code else ()
            if said.code and not files:
                raise GitFailed("nothing was merged", said)
            head = None if said.code else await self._repo.tip(path)
        if head is None or await self._repo.objects.tree(head) != tree:
            if stands:  # a rebase drops merges, and what was resolved in them
                head = await self._changes.flat(commit, base.sha, base.sha)
            elif head is None:
                return MergeConflict(base.sha, files)
            else:
                help = f"rebase it onto {base.name} yourself, check the result, and try again"
                words = "rebasing the work gives different files than merging it"
                raise RepositoryError(words, help=help)
        if trailers := trailers_in(message):
            return await self._trailers.signed(self._repo.root, base.sha, head, trailers)
        return head

    async def _merged_since(self, commit: str, base: KnownBase) -> str | None:
        """The commit of the base that brought the work in; None when it is not in."""
        if (landed := await self._changes.landed(commit, base.sha)) is not None:
            return landed
        if not await self._repo.is_ancestor(commit, base.sha):
            return None
        asked = ("rev-list", "--first-parent", "--ancestry-path", f"{commit}..{base.sha}")
        said = await self._repo.ask(*asked, doing="the date of the merge is unknown")
        oldest = said.text.rpartition("\n")[2]
        if not oldest or await self._repo.commit(f"{oldest}^1") == commit:
            return commit
        return oldest

    async def _land_at_remote(
        self, prepared: Prepared, base: KnownBase
    ) -> Merged | BaseMoved | Refused:
        assert base.remote is not None
        spec = f"{prepared.sha}:refs/heads/{base.name}"
        said = await self._pushes.push_ref(self._repo.root, base.remote, spec)
        listed = await self._pushes.listed(base.remote, base.name)
        now = base._replace(sha=prepared.sha)
        if listed != prepared.sha:
            now = await self._bases.fetch(base.name)
        if await self._repo.is_ancestor(prepared.sha, now.sha):
            return Merged(prepared.sha, base.name, await self._bring_along(prepared.sha, base.name))
        if now.sha != prepared.base_head:
            return BaseMoved(base.name, prepared.base_head, now.sha)
        return refusal(said, f"{base.name} was not moved at {base.remote}", base.remote)

    async def _bring_along(self, sha: str, base: str) -> tuple[str, ...]:
        """Move our own branch of that name too, where nothing is lost by it."""
        ref = f"refs/heads/{base}"
        ours = await self._repo.commit(ref)
        if ours in (None, sha) or not await self._repo.is_ancestor(ours, sha):
            return ()
        try:
            refused = await self._steps.advance(ref, ours, sha)
        except RepositoryError as problem:  # the remote has it, so it is merged anyway
            refused = Refused("rejected", problem.message)
        return () if refused is None else (f"your local {base} was not updated: {refused.reason}",)

    async def _land_here(self, prepared: Prepared, base: KnownBase) -> Merged | BaseMoved | Refused:
        ref = f"refs/heads/{base.name}"
        prove_lease()
        refused = await self._steps.advance(ref, base.sha, prepared.sha)
        now = await self._repo.commit(ref)
        if await self._repo.is_ancestor(prepared.sha, now):
            return Merged(prepared.sha, base.name)
        if now != base.sha:
            return BaseMoved(base.name, base.sha, now or "")
        return refused or Refused("rejected", f"{base.name} did not move")


class FastForwards(msgspec.Struct, frozen=True):
    """Fast-forwards of branches that people may have checked out."""

    _repo: Plumbing
    _upkeep: Upkeep
    _folders: WorktreeFolders

    async def advance(self, ref: str, old: str, new: str) -> Refused | None:
        """Move a branch forward; refused before anything moved if it would overwrite edits."""
        checkout = await self._folders.checkout_of(ref)
        if checkout is None:
            return await self._advance_ref(ref, old, new)
        await self._upkeep.verify(checkout)
        if (operation := await self._repo.operation(checkout)) is not None:
            reason = f"git is in the middle of a {operation} in {checkout}: finish it"
            return Refused("local-edits", reason)
        if await self._would_become_sparse(checkout):
            reason = f"core.sparseCheckout is on, but {checkout} has all files: an update would"
            return Refused("local-edits", f"{reason} remove some; `git sparse-checkout disable`")
        if (lock := self._lock_in_the_way(checkout, ref)) is not None:
            reason = f"git holds {lock}: if no git is running there, remove it"
            return Refused("rejected", reason)
        note = os.path.join(self._repo.at(checkout).git_dir, _NOTE)
        tree = await self._repo.objects.tree(new)
        await self._take_up(checkout, old, new, cut_short=_noted(note) == tree)
        with own_folder(os.path.dirname(note)) as folder:
            publish(folder, _NOTE, tree.encode())
        # Ignored files are the user's as well.
        only = ("--ff-only", "--no-overwrite-ignore", "--no-autostash", "--no-squash", "--quiet")
        said = await self._repo.git(checkout, *_straight(ref), "merge", *only, new, timeout=HOOKED)
        os.unlink(note)
        if not said.code:
            return None
        edits = await self._edits_in_the_way(checkout, old, new)
        named = ", ".join(edits[:5]) or "see git's output"
        reason = f"edits in {checkout} would be overwritten ({named})"
        reason += ": commit or stash them"
        return Refused("local-edits", reason, said.words, checkout, tuple(edits))

    async def _would_become_sparse(self, checkout: str) -> bool:
        """Whether a setting was turned on that git has not acted on yet."""
        if await self._repo.settings.get("core.sparsecheckout") != "true":
            return False
        said = await self._repo.git(checkout, "ls-files", "-t", "-z", doing="the files are unknown")
        return not any(name.startswith("S ") for name in said.names)

    def _lock_in_the_way(self, checkout: str, ref: str) -> str | None:
        """A lock at which git would stop after it has changed the files."""
        at = self._repo.at(checkout)
        places = (at.git_dir, "index"), (at.git_dir, "HEAD"), (at.common, ref)
        locks = (os.path.join(folder, f"{name}.lock") for folder, name in places)
        return next((lock for lock in locks if os.path.lexists(lock)), None)

    async def _advance_ref(self, ref: str, old: str, new: str) -> Refused | None:
        if await self._is_being_rebased(ref):
            return Refused("local-edits", f"{ref} is in the middle of a rebase: finish it")
        said = await self._repo.ask("update-ref", "-m", "hookline: merge", ref, new, old)
        return Refused("rejected", f"{ref} did not move", said.words) if said.code else None

    async def _is_being_rebased(self, ref: str) -> bool:
        place = self._repo.at(self._repo.root).git_dir
        return any(_noted(os.path.join(place, name, "head-name")) == ref for name in REBASES)

    async def _edits_in_the_way(self, checkout: str, old: str, new: str) -> list[str]:
        said = await self._repo.git(checkout, "diff", "--name-only", "--no-renames", "-z", old, new)
        touched = set(said.names)
        dirty = await self._repo.dirty(checkout)
        return sorted(printable(name) for name in dirty if name in touched)

    async def _take_up(self, checkout: str, old: str, new: str, *, cut_short: bool) -> None:
        """Let the index know files that already are as they will be.

        A crash in the middle of the step leaves such files, and git would take them for edits.
        One that git was writing when it was killed is the beginning of what it will be.
        """
        dirty = set(await self._repo.dirty(checkout))
        if not dirty:
            return
        asked = ("diff-tree", "-r", "-z", "--no-renames", old, new)
        said = await self._repo.git(checkout, *asked, doing="not a fast-forward")
        entries = []
        for about, name in zip(said.names[::2], said.names[1::2], strict=True):
            _, mode, _, blob, _ = about.split(" ")
            path = os.path.join(checkout, name)
            if name not in dirty or mode not in _FILES or not _is_plain(path):
                continue
            if await self._repo.objects.hash_of(checkout, name) == blob:
                entries.append(os.fsencode(f"{mode} {blob}\t{name}") + b"\0")
            elif cut_short and await self._begins(checkout, name, blob):
                os.unlink(path)
        if entries:
            index, stdin = ("update-index", "-z", "--index-info"), b"".join(entries)
            doing = f"{checkout} cannot be updated"
            await self._repo.git(checkout, *index, stdin=stdin, doing=doing)

    async def _begins(self, checkout: str, name: str, blob: str) -> bool:
        with open(os.path.join(checkout, name), "rb") as file:
            found = file.read(LIMIT)
        with suppress(RepositoryError):  # too large to be compared: it stays
            said = await self._repo.git(checkout, "cat-file", "--filters", f"--path={name}", blob)
            return not said.code and said.out.startswith(found)
        return False


def _straight(ref: str) -> tuple[str, ...]:
    """No setting of the repository makes a merge of another kind out of a step forward."""
    own = f"branch.{ref.removeprefix('refs/heads/')}.mergeOptions="
    return ("-c", "pull.twohead=ort", "-c", own)


def _noted(path: str) -> str:
    return bytes_of(path, 1000).decode("utf-8", "replace").strip()


def _is_plain(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)


def _prepared(sha: str, head: str, base: KnownBase, *, merged: bool = False) -> Prepared:
    return Prepared(sha=sha, head=head, base=base.name, base_head=base.sha, merged=merged)
