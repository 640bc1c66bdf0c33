"""Conflicts that someone resolves by editing files alone: what git has to do for it, we do.

The base is merged into the files of a task's worktree and nothing is committed. Whoever resolves
the conflict edits them, with or without git; then the result is committed on top of the base, as if
it had been rebased: a merge commit would bring the conflict back with the next rebase.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

import msgspec

from hookline.adapters.git.door import ALONE, HOOKED, LIMIT, GitFailed, nul, printable
from hookline.adapters.git.repository.bases import Bases
from hookline.adapters.git.repository.changes import Changes, as_message
from hookline.adapters.git.repository.conflicts import (
    ASIDE,
    THEIRS,
    ConflictFiles,
    MergedTree,
    Stages,
    listed,
)
from hookline.adapters.git.repository.notes import OPEN, WRITING, ConflictNote
from hookline.adapters.git.repository.plumbing import STYLE, Plumbing
from hookline.adapters.git.repository.submodules import fetch_submodules
from hookline.adapters.git.repository.upkeep import Upkeep
from hookline.domain.work.repository import OpenConflict, RebaseConflict, Rebased, Refused
from hookline.files import entry_at

_MERGE = (
    *("-c", "rerere.enabled=false", *STYLE, *ALONE, "merge", "--no-commit", "--no-ff", "--quiet"),
    *("--no-autostash", "--no-verify-signatures", "--no-log", "--no-signoff"),
)
NAMES = ("--name-only", "--no-renames", "-z")
_LISTED = ("--pathspec-from-file=-", "--pathspec-file-nul")


class KeptBase(msgspec.Struct, frozen=True):
    """Holds a worktree against what git's own merge of both sides gives."""

    _repo: Plumbing

    async def brought(self, top: str, note: ConflictNote, merged: MergedTree) -> set[str]:
        """What the base changes, without a conflict; the index has it as it is there."""
        asked = ("diff-tree", "-r", *NAMES, note.head, merged.tree)
        brought = set((await self._repo.git(top, *asked, doing="no diff")).names)
        brought -= {each.path for each in merged.conflicts}
        # Ignored files as well, and whatever was done to the index.
        stage = ("update-index", "--add", "--replace", "-z", "--stdin")
        lying = nul(name for name in brought if _lies(top, name))
        await self._repo.git(top, *stage, stdin=lying, doing="files cannot be compared")
        return brought

    async def changed_since(self, top: str, commit: str) -> set[str]:
        """The files of a checkout that are not as a commit has them, new ones as well."""
        said = await self._repo.git(top, "diff", *NAMES, commit, doing="no diff")
        asked = ("ls-files", "--others", "--exclude-standard", "-z")
        new = await self._repo.git(top, *asked, doing="new files are unknown")
        return {*said.names, *new.names}

    async def _only_theirs(
        self, top: str, note: ConflictNote, merged: MergedTree, brought: set[str]
    ) -> set[str]:
        """Of what the base changes, the files of which the work changes nothing."""
        own: set[str] = set()
        fork = await self._repo.fork(top, note.onto, note.head)
        for one, other in ((fork, note.head), (note.onto, merged.tree)):
            asked = ("diff-tree", "-r", *NAMES, one, other)
            own |= {*(await self._repo.git(top, *asked, doing="no diff")).names}
        return brought - own

    async def restore(self, top: str, note: ConflictNote, merged: MergedTree) -> tuple[str, ...]:
        """Put back what the base changed, without a conflict, and someone has changed since.

        A file that the work changes as well may be edited, but not be as it was before.
        """
        brought = await self.brought(top, note, merged)
        as_before = brought - await self.changed_since(top, note.head)
        alone = await self._only_theirs(top, note, merged, brought)
        # A submodule has its own files, which tests may change.
        asked = ("diff", "--ignore-submodules=all", *NAMES, merged.tree)
        other = (await self._repo.git(top, *asked, doing="no diff")).names
        undone = sorted(as_before | (alone & {*other}))
        if undone:
            restore = ("--literal-pathspecs", "restore", "--staged", "--worktree", *_LISTED)
            source = f"--source={merged.tree}"
            doing = "changes of the base were undone and cannot be restored"
            await self._repo.git(top, *restore, source, stdin=nul(undone), doing=doing)
        return tuple(printable(name) for name in undone)


class Conflicts(msgspec.Struct, frozen=True):
    """Opens conflicts in the worktrees of tasks, looks at them, and closes them."""

    _repo: Plumbing
    _bases: Bases
    _upkeep: Upkeep
    _changes: Changes
    _kept: KeptBase
    _files: ConflictFiles

    async def open(
        self, folder: str, onto: str, *, branch: str | None = None
    ) -> Rebased | OpenConflict:
        """Merge the newest base into the files of a worktree, to be resolved there.

        One that is open already is kept. Where nothing conflicts, the work is moved.
        """
        top = self._upkeep.own_top(folder)
        base = await self._bases.fetch(onto)
        async with self._repo.alone_in(top):
            await self._upkeep.recover(top)
            note = self._upkeep.noted_conflict(top)
            if note is None or not await self._is_merging(top, note):
                self._upkeep.forget_conflict(top)
                begun = await self._begin(top, base.sha, branch)
                if isinstance(begun, Rebased):
                    return begun
                note = begun
            merged = await self._merge_tree(top, note)
            if merged.conflicts:
                return await self._described(top, note, merged)
            return Rebased(True, await self._finish(top, note, merged), note.onto, note.head)

    async def remember(self, folder: str, note: str) -> None:
        top = self._repo.at(folder).top
        place, branch = self._repo.at(top).git_dir, self._repo.task_branch(top)
        told = ConflictNote.parse(note, branch)
        if told is not None and ConflictNote.read(place, branch) != told:
            told.write(place)

    async def find(self, folder: str, base: str, *, answered: bool = True) -> OpenConflict | None:
        """The conflict that is open in a worktree, with what is still to do about it.

        None where Hookline began none, or the merge was ended or something else started.
        Not `answered`: no turn about it has ended well, so it is not known to be resolved.
        """
        top = self._repo.at(folder).top
        if self._upkeep.noted_conflict(top) is None:
            return None
        async with self._repo.alone_in(top):
            await self._upkeep.recover(top)
            note = self._upkeep.noted_conflict(top)
            if note is None or not await self._is_ours(top, note):
                return None
            note = await self._as_ended(top, note, base)
            merged = await self._merge_tree(top, note)
            found = await self._described(top, note, merged)
            left = await self._files.markers(top, note, merged)
            undone = () if left else await self._kept.restore(top, note, merged)
            now = {"markers": left, "restored": undone, "undecided": not answered}
            return msgspec.structs.replace(found, **now)

    async def close(self, folder: str) -> Refused | None:
        top = self._repo.at(folder).top
        if self._upkeep.noted_conflict(top) is None:
            return None
        async with self._repo.alone_in(top):
            note = self._upkeep.noted_conflict(top)
            if note is None or not await self._is_ours(top, note):
                return None
            try:
                await self._finish(top, note, await self._merge_tree(top, note))
            except GitFailed as problem:
                return Refused("rejected", "git does not commit it", problem.said.words)
            return None

    async def drop(self, folder: str) -> str | None:
        """Bring a worktree back to before a conflict was opened; the ref that keeps the edits.

        A commit that ended the merge is dropped, too: it was not found to be resolved.
        """
        return await self._drop(folder, committed=True)

    async def _drop(self, folder: str, *, committed: bool) -> str | None:
        top = self._repo.at(folder).top
        if self._upkeep.noted_conflict(top) is None:
            return None
        async with self._repo.alone_in(top):
            await self._upkeep.verify(top)
            note = self._upkeep.noted_conflict(top)
            kept = None
            is_ours = self._is_ours if committed else self._is_merging
            if note is not None and await is_ours(top, note):
                tip = await self._repo.tip(top)
                kept = await self._upkeep.put_away(top)
                if kept is None and tip != note.head:
                    kept = await self._upkeep.keep(top, tip)
                reset = (*ALONE, "reset", "--hard", "--quiet", note.head)
                await self._repo.git(top, *reset, doing="the earlier state cannot be restored")
            self._upkeep.forget_conflict(top)
            return kept

    async def recover(self, folder: str) -> None:
        top = self._repo.at(folder).top
        async with self._repo.alone_in(top):
            await self._upkeep.recover(top)
        # Commits may come from someone who continued without Hookline.
        await self._drop(folder, committed=False)

    async def _begin(self, top: str, onto: str, branch: str | None) -> Rebased | ConflictNote:
        found = await self._changes.move_onto(top, onto, branch)
        if not isinstance(found, RebaseConflict):
            return found
        head, place = await self._repo.tip(top), self._repo.at(top).git_dir
        ref = await self._repo.ref(top)
        note = ConflictNote(head, onto, found.fits, found.stopped, ref, WRITING)
        note.write(place)
        said = await self._repo.git(top, *_MERGE, onto, timeout=HOOKED)
        if await self._repo.sha(top, "MERGE_HEAD") != onto:
            await self._upkeep.end_own_acts(top)
            raise GitFailed("the merge failed; nothing changed", said)
        merged = await self._merge_tree(top, note)
        for each in merged.conflicts:
            await self._ready(top, merged, each)
        if all(each.path != ".gitmodules" for each in merged.conflicts):
            await fetch_submodules(self._repo, top, onto)
        note = msgspec.structs.replace(note, state=OPEN)
        note.write(place)
        return note

    async def _ready(self, top: str, merged: MergedTree, file: Stages) -> None:
        """Make a conflict that no markers show one that the state of the files decides."""
        theirs = file.objects.get(THEIRS)
        kind = file.kind(await self._files.written(top, merged, file))
        if kind == "submodule":
            # To check out a commit there takes git; the base's is tested with the base.
            entry = f"{file.modes[THEIRS]},{theirs},{file.path}"
            index = ("update-index", "--cacheinfo", entry)
            await self._repo.git(top, *index, doing="no commit of a submodule")
        if kind == "binary":
            asked = ("cat-file", "--filters", f"--path={file.path}", str(theirs))
            said = await self._repo.git(top, *asked, limit=LIMIT)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            if said.code or said.left_out:
                return
            with suppress(OSError):  # a file of that name is someone's
                fd = os.open(os.path.join(top, file.path + ASIDE), flags, 0o644)
                with open(fd, "wb") as aside:
                    aside.write(said.out)

    async def _is_merging(self, top: str, note: ConflictNote) -> bool:
        """Whether our merge is still under way."""
        if await self._repo.ref(top) != note.ref or await self._repo.operation(top) != "merge":
            return False
        return await self._repo.sha(top, "MERGE_HEAD") == note.onto

    async def _is_ours(self, top: str, note: ConflictNote) -> bool:
        """Whether our merge is in progress, or was ended by a commit that holds the base."""
        if await self._is_merging(top, note):
            return True
        if await self._repo.ref(top) != note.ref or await self._repo.operation(top) is not None:
            return False  # something that someone else started
        head = await self._repo.tip(top)
        if await self._repo.is_ancestor(note.onto, head):
            return True
        if head == note.head and await self._holds_merge(top, note):
            # As after `git reset`, which forgets the merge and keeps the files.
            await self._repo.git(top, "update-ref", "MERGE_HEAD", note.onto, doing="no merge")
            return True
        self._upkeep.forget_conflict(top)  # its author is asked again
        return False

    async def _as_ended(self, top: str, note: ConflictNote, base: str) -> ConflictNote:
        """The merge as someone ended it, who may have taken a newer base."""
        if await self._is_merging(top, note):
            return note
        held = await self._repo.fork(top, (await self._bases.known(base)).sha)
        is_newer = await self._repo.is_ancestor(note.onto, held)
        return msgspec.structs.replace(note, onto=held) if is_newer else note

    async def _holds_merge(self, top: str, note: ConflictNote) -> bool:
        """Whether the files are those of the merge, and not as they were before it."""
        merged = await self._merge_tree(top, note)
        brought = await self._kept.brought(top, note, merged)
        changed = await self._kept.changed_since(top, note.head)
        return brought <= changed and any(each.path in changed for each in merged.conflicts)

    async def _merge_tree(self, top: str, note: ConflictNote) -> MergedTree:
        # Git names files after the sides where both cannot have their name.
        ours = "HEAD" if await self._repo.tip(top) == note.head else note.head
        return await self._repo.objects.merge_trees(top, ours, note.onto)

    async def _described(self, top: str, note: ConflictNote, merged: MergedTree) -> OpenConflict:
        files = await self._files.first(top, merged)
        count = len(listed(merged))
        return OpenConflict(onto=note.onto, files=files, count=count, note=note.text)

    async def resolved_files(self, top: str) -> list[str]:
        """The uncommitted files of our merge that are not as the base has them."""
        note = self._upkeep.noted_conflict(top)
        if note is None or not await self._is_merging(top, note):
            return []
        own = await self._kept.changed_since(top, note.onto)
        return [name for name in await self._repo.dirty(top) if name in own]

    async def _finish(self, top: str, note: ConflictNote, merged: MergedTree) -> str:
        """Commit the files as they are on top of the base; the commit."""
        if await self._is_merging(top, note):
            for each in merged.conflicts:
                await self._clear_aside(top, each)
            await self._repo.git(top, "add", "--all", doing="the files cannot be added")
            message = as_message(f"Merge {note.onto}", "Merge")
            said = await self._changes.commit_staged(top, message)
            if said.code:
                raise GitFailed("the resolved conflict was not committed", said)
        tip = await self._repo.tip(top)
        head = await self._without_merges(top, note, tip)
        if head != tip:
            why = ("-m", "hookline: resolved on top of the base")
            await self._repo.git(top, "update-ref", *why, "HEAD", head, tip, doing="not committed")
        self._upkeep.forget_conflict(top)
        await fetch_submodules(self._repo, top, note.onto)
        return head

    async def _clear_aside(self, top: str, file: Stages) -> None:
        name = file.path + ASIDE
        path, theirs = os.path.join(top, name), file.objects.get(THEIRS)
        if theirs is None or not os.path.isfile(path) or os.path.islink(path):
            return
        if await self._repo.objects.hash_of(top, file.path, path) == theirs:
            os.unlink(path)

    async def _without_merges(self, top: str, note: ConflictNote, tip: str) -> str:
        asked = ("rev-list", "--merges", "--count", f"{note.onto}..{tip}")
        said = await self._repo.git(top, *asked, doing="no commits")
        if said.text == "0":  # whoever resolved it has rebased
            return tip
        return await self._changes.flat(tip, note.fits, note.onto, f"{note.stopped}^@")


def _lies(top: str, name: str) -> bool:
    """Whether a file or a link is there, and not somewhere else by a link on the way."""
    path = os.path.join(top, name)
    folder, found = os.path.dirname(path), entry_at(path)
    is_file = found is not None and stat.S_IFMT(found.st_mode) in (stat.S_IFREG, stat.S_IFLNK)
    return is_file and os.path.realpath(folder) == folder
