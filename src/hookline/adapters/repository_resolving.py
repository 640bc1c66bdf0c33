"""Conflicts that somebody resolves by editing files alone: what git has to do for it, we do.

The base is merged into the files of a task's worktree and nothing is committed. Whoever resolves
the conflict edits them, with or without git; then the result is committed on top of the base, as if
it had been rebased: a merge commit would bring the conflict back with the next rebase.
"""

from __future__ import annotations

import os
from contextlib import suppress

import msgspec

from hookline.adapters.git.door import ALONE, HOOKED, LIMIT, GitFailed, printable
from hookline.adapters.repository_changes import as_message, lock_of
from hookline.adapters.repository_conflicts import (
    OURS,
    SHOWN_FILES,
    THEIRS,
    MergedTree,
    Stages,
    markers_left,
    passages,
    read_plain,
    sides,
)
from hookline.adapters.repository_kept import KeepingBase
from hookline.adapters.repository_notes import (
    OPEN,
    WRITING,
    ConflictNote,
    forget_note,
    read_note,
    write_note,
)
from hookline.adapters.repository_objects import STYLE
from hookline.domain.repository import (
    ConflictFile,
    MarkersLeft,
    OpenConflict,
    RebaseConflict,
    Rebased,
    Refused,
)

_MERGE = (
    *("-c", "rerere.enabled=false", *STYLE, *ALONE, "merge", "--no-commit", "--no-ff", "--quiet"),
    *("--no-autostash", "--no-verify-signatures", "--no-log", "--no-signoff"),
)
# The base's side of a file that has no lines to mark lies beside it under this name.
_ASIDE = "~theirs"
# So much of a file is read to find markers and passages.
_LARGEST = LIMIT


class Resolving(KeepingBase):
    """Opens conflicts in the worktrees of tasks, looks at them, and closes them."""

    async def open_conflict(
        self, folder: str, onto: str, *, branch: str | None = None
    ) -> Rebased | OpenConflict:
        """Merge the newest base into the files of a worktree, for somebody to resolve there.

        One that is open already is kept. Where nothing conflicts, the work is moved.
        """
        top = self._own_top(folder)
        base = await self.fetch(onto)
        async with self._exclusive(lock_of(top)):
            await self._verify(top)
            await self._end_own_rebase(top)
            note = self._noted_conflict(top)
            if note is None or not await self._is_merging(top, note):
                forget_note(self._at(top).git_dir)
                begun = await self._begin(top, base.sha, branch)
                if isinstance(begun, Rebased):
                    return begun
                note = begun
            merged = await self._merge_tree(top, note)
            if merged.conflicts:
                return await self._described(top, note, merged)
            return Rebased(True, await self._finish(top, note, merged), note.onto, note.head)

    async def _begin(self, top: str, onto: str, branch: str | None) -> Rebased | ConflictNote:
        found = await self._rebase(top, onto, branch)
        if not isinstance(found, RebaseConflict):
            return found
        head, place = await self._head(top), self._at(top).git_dir
        note = ConflictNote(head, onto, found.fits, found.stopped, await self._ref(top), WRITING)
        write_note(place, note)
        said = await self._git(top, *_MERGE, onto, timeout=HOOKED)
        if await self._sha(top, "MERGE_HEAD") != onto:
            await self._end_own_rebase(top)
            raise GitFailed("no merge, all is as before", said)
        merged = await self._merge_tree(top, note)
        for each in merged.conflicts:
            await self._ready(top, merged, each)
        if all(each.path != ".gitmodules" for each in merged.conflicts):
            await self._submodules(top)
        note = note._replace(state=OPEN)
        write_note(place, note)
        return note

    async def _ready(self, top: str, merged: MergedTree, file: Stages) -> None:
        """Make a conflict that no markers show one that the state of the files decides."""
        theirs = file.objects.get(THEIRS)
        kind = file.kind(await self._written(top, merged, file))
        if kind == "submodule":
            # To check out a commit there takes git; the base's is tested with the base.
            entry = f"{file.modes[THEIRS]},{theirs},{file.path}"
            await self._git(
                *(top, "update-index", "--cacheinfo", entry), doing="no commit of a submodule"
            )
        if kind == "binary":
            asked = ("cat-file", "--filters", f"--path={file.path}", str(theirs))
            said = await self._git(top, *asked, limit=LIMIT)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            if said.code or said.left_out:
                return
            with suppress(OSError):  # a file of that name is somebody's
                fd = os.open(os.path.join(top, file.path + _ASIDE), flags, 0o644)
                with open(fd, "wb") as aside:
                    aside.write(said.out)

    async def conflict(
        self, folder: str, base: str, *, answered: bool = True
    ) -> OpenConflict | None:
        """The conflict that is open in a worktree, with what is still to do about it.

        None where there is none of ours, or somebody ended the merge or began something else.
        Not `answered`: no turn about it has ended well, so nobody has said that it is resolved.
        """
        top = self._at(folder).top
        if self._noted_conflict(top) is None:
            return None
        async with self._exclusive(lock_of(top)):
            await self._verify(top)
            await self._end_own_rebase(top)
            note = self._noted_conflict(top)
            if note is None or not await self._is_ours(top, note):
                return None
            note = await self._as_ended(top, note, base)
            merged = await self._merge_tree(top, note)
            found = await self._described(top, note, merged)
            left = await self._markers(top, note, merged)
            undone = () if left else await self._restore(top, note, merged)
            return msgspec.structs.replace(
                *(found,), markers=left, restored=undone, undecided=not answered
            )

    async def close_conflict(self, folder: str) -> Refused | None:
        """Commit how a conflict was resolved, on top of the base; what a hook of git says to it."""
        top = self._at(folder).top
        if self._noted_conflict(top) is None:
            return None
        async with self._exclusive(lock_of(top)):
            note = self._noted_conflict(top)
            if note is None or not await self._is_ours(top, note):
                return None
            try:
                await self._finish(top, note, await self._merge_tree(top, note))
            except GitFailed as problem:
                return Refused("rejected", "git does not commit it", problem.said.words)
            return None

    async def drop_conflict(self, folder: str) -> str | None:
        """Bring a worktree back to before a conflict was opened; the ref that keeps the edits.

        What somebody committed to end the merge goes, too: nobody found it to be resolved.
        """
        return await self._drop(folder, committed=True)

    async def _drop(self, folder: str, *, committed: bool) -> str | None:
        top = self._at(folder).top
        if self._noted_conflict(top) is None:
            return None
        async with self._exclusive(lock_of(top)):
            await self._verify(top)
            note = self._noted_conflict(top)
            kept = None
            is_ours = self._is_ours if committed else self._is_merging
            if note is not None and await is_ours(top, note):
                tip = await self._head(top)
                kept = await self._put_away(top)
                if kept is None and tip != note.head:
                    kept = await self._keep(top, tip)
                reset = (*ALONE, "reset", "--hard", "--quiet", note.head)
                await self._git(top, *reset, doing="no way back")
            forget_note(self._at(top).git_dir)
            return kept

    async def recover(self, folder: str) -> None:
        """Undo what a crash left in a checkout, and what nobody goes on with."""
        await super().recover(folder)
        # Commits may be what somebody made of it who went on with it alone.
        await self._drop(folder, committed=False)

    async def _end_own_rebase(self, top: str) -> None:
        """Undo a rebase that was cut short, and a merge whose files were being written."""
        await super()._end_own_rebase(top)
        note = self._noted_conflict(top)
        if note is None or note.state != WRITING:
            return
        await self._undo(top, note.head, note.ref)
        forget_note(self._at(top).git_dir)

    # How it stands

    def _noted_conflict(self, top: str) -> ConflictNote | None:
        """The note of a merge into this task's worktree."""
        return read_note(self._at(top).git_dir, self._task_branch(top))

    async def _is_merging(self, top: str, note: ConflictNote) -> bool:
        """Whether our merge is still under way."""
        if await self._ref(top) != note.ref or await self._operation(top) != "merge":
            return False
        return await self._sha(top, "MERGE_HEAD") == note.onto

    async def _is_ours(self, top: str, note: ConflictNote) -> bool:
        """Whether our merge is under way, or somebody ended it by a commit that holds the base."""
        if await self._is_merging(top, note):
            return True
        if await self._ref(top) != note.ref or await self._operation(top) is not None:
            return False  # something that somebody else began
        head = await self._head(top)
        if await self._is_ancestor(top, note.onto, head):
            return True
        if head == note.head and await self._holds_merge(top, note):
            # As after `git reset`, which forgets the merge and keeps the files.
            await self._git(top, "update-ref", "MERGE_HEAD", note.onto, doing="no merge")
            return True
        forget_note(self._at(top).git_dir)  # whoever ended it is asked anew
        return False

    async def _as_ended(self, top: str, note: ConflictNote, base: str) -> ConflictNote:
        """The merge as somebody ended it, who may have taken a newer base."""
        if await self._is_merging(top, note):
            return note
        held = await self._fork(top, (await self._known_base(base)).sha)
        is_newer = await self._is_ancestor(top, note.onto, held)
        return note._replace(onto=held) if is_newer else note

    async def _holds_merge(self, top: str, note: ConflictNote) -> bool:
        """Whether the files are those of the merge, and not as they were before it."""
        merged = await self._merge_tree(top, note)
        brought = await self._brought(top, note, merged)
        changed = await self._changed_since(top, note.head)
        return brought <= changed and any(each.path in changed for each in merged.conflicts)

    async def _merge_tree(self, top: str, note: ConflictNote) -> MergedTree:
        # Git names files after the sides where both cannot have their name.
        ours = "HEAD" if await self._head(top) == note.head else note.head
        return await self._merge_trees(top, ours, note.onto)

    async def _described(self, top: str, note: ConflictNote, merged: MergedTree) -> OpenConflict:
        files = await self._files(top, merged)
        return OpenConflict(onto=note.onto, files=files, count=len(_listed(merged)))

    async def _files(self, top: str, merged: MergedTree) -> tuple[ConflictFile, ...]:
        """The first of the files in conflict, from the side of the work."""
        shown = _listed(merged)[:SHOWN_FILES]
        return tuple([await self._file(top, merged, each) for each in shown])

    async def _file(self, top: str, merged: MergedTree, file: Stages) -> ConflictFile:
        if file.path in merged.renames:
            return await self._renamed(top, merged, file.path)
        written = await self._written(top, merged, file)
        kind = file.kind(written)
        if kind in ("submodule", "mode"):
            about = file.objects if kind == "submodule" else file.modes
            return ConflictFile(printable(file.path), about[OURS], about[THEIRS], kind)
        texts = await self._versions(top, file)
        text = (written or b"").decode("utf-8", "replace") if kind == "marked" else ""
        found = sides(file.path, texts.get(OURS), texts.get(THEIRS), *passages(text))
        aside = file.path + _ASIDE
        has_aside = kind == "binary" and os.path.lexists(os.path.join(top, aside))
        return msgspec.structs.replace(
            found, kind=kind, aside=printable(aside) if has_aside else None
        )

    async def _renamed(self, top: str, merged: MergedTree, old: str) -> ConflictFile:
        """A file that each side gave another name, with what it is under them."""
        mine, other = merged.renames[old]
        stages = {each.path: each for each in merged.conflicts}
        ours = (await self._versions(top, stages[mine])).get(OURS)
        theirs = (await self._versions(top, stages[other])).get(THEIRS)
        names = (printable(mine), printable(other))
        found = sides(old, ours, theirs)
        return msgspec.structs.replace(found, kind="renamed-twice", renamed=names)

    async def _written(self, top: str, merged: MergedTree, file: Stages) -> bytes | None:
        """What git makes of both sides of a file, with markers; None if it is no text."""
        said = await self._git(
            top, "cat-file", "blob", f"{merged.tree}:{file.path}", limit=_LARGEST
        )
        return None if said.code or said.left_out else said.out

    async def _versions(self, top: str, file: Stages) -> dict[int, bytes]:
        found = {}
        for stage, sha in file.objects.items():
            said = await self._git(top, "cat-file", "blob", sha, limit=_LARGEST)
            if not said.code:
                found[stage] = said.out
        return found

    async def _markers(
        self, top: str, note: ConflictNote, merged: MergedTree
    ) -> tuple[MarkersLeft, ...]:
        """The files in which markers of ours are left, also where a file got another name."""
        asked = ("grep", "--untracked", "-I", "-l", "-z", "-F", "-e", f"> {note.onto}")
        said = await self._git(top, *asked)
        known = {each.path: each for each in merged.conflicts}
        found = []
        for name in sorted({*known, *said.names}):
            file = known.get(name)
            versions = await self._sides_of(top, note, name, file)
            written = await self._written(top, merged, file) if file and file.is_both else None
            now = read_plain(os.path.join(top, name))
            if lines := markers_left(now, note.onto, versions, written):
                found.append(MarkersLeft(printable(name), lines))
        return tuple(found)

    async def _sides_of(
        self, top: str, note: ConflictNote, name: str, file: Stages | None
    ) -> dict[int, bytes]:
        """A file as each side has it; where names differ, a stage may hold a merge of both."""
        if file is None or not file.is_both:
            asked = {OURS: f"{note.head}:{name}", THEIRS: f"{note.onto}:{name}"}
            file = Stages(name, {}, asked)
        return await self._versions(top, file)

    async def _resolved_files(self, top: str) -> list[str]:
        """The uncommitted files of a merge of ours that are not as the base has them."""
        note = self._noted_conflict(top)
        if note is None or not await self._is_merging(top, note):
            return []
        own = await self._changed_since(top, note.onto)
        return [name for name in await self._dirty(top) if name in own]

    # Closing it

    async def _finish(self, top: str, note: ConflictNote, merged: MergedTree) -> str:
        """Commit the files as they are on top of the base; the commit."""
        if await self._is_merging(top, note):
            for each in merged.conflicts:
                await self._clear_aside(top, each)
            await self._git(top, "add", "--all", doing="the files cannot be added")
            message = as_message(f"Merge {note.onto}", "Merge")
            said = await self._git(
                top, "commit", "--quiet", "--file=-", stdin=message, timeout=HOOKED
            )
            if said.code:
                raise GitFailed("the resolved conflict was not committed", said)
        tip = await self._head(top)
        head = await self._without_merges(top, note, tip)
        if head != tip:
            why = ("-m", "hookline: resolved on top of the base")
            await self._git(top, "update-ref", *why, "HEAD", head, tip, doing="not committed")
        forget_note(self._at(top).git_dir)
        await self._submodules(top)
        return head

    async def _clear_aside(self, top: str, file: Stages) -> None:
        name = file.path + _ASIDE
        path, theirs = os.path.join(top, name), file.objects.get(THEIRS)
        if theirs is None or not os.path.isfile(path) or os.path.islink(path):
            return
        asked = ("hash-object", f"--path={file.path}", "--", path)
        if (await self._git(top, *asked)).text == theirs:
            os.unlink(path)

    async def _without_merges(self, top: str, note: ConflictNote, tip: str) -> str:
        said = await self._git(
            top, "rev-list", "--merges", "--count", f"{note.onto}..{tip}", doing="no commits"
        )
        if said.text == "0":  # whoever resolved it has rebased
            return tip
        return await self._flat(tip, note.fits, note.onto, f"{note.stopped}^@")


def _listed(merged: MergedTree) -> list[Stages]:
    """The paths in conflict, without the new names of files that are listed by their old one."""
    new_names = {name for pair in merged.renames.values() for name in pair}
    return [each for each in merged.conflicts if each.path not in new_names]
