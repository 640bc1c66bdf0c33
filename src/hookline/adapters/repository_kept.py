"""What the base brings into the files of a worktree, and whether whoever works there kept it."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from hookline.adapters.git.door import printable
from hookline.adapters.repository_changes import Changing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.adapters.repository_conflicts import MergedTree
    from hookline.adapters.repository_notes import ConflictNote

NAMES = ("--name-only", "--no-renames", "-z")
_LISTED = ("--pathspec-from-file=-", "--pathspec-file-nul")


class KeepingBase(Changing):
    """Holds a worktree against what git's own merge of both sides gives."""

    async def _brought(self, top: str, note: ConflictNote, merged: MergedTree) -> set[str]:
        """What the base changes, without a conflict; the index has it as it lies there."""
        asked = ("diff-tree", "-r", *NAMES, note.head, merged.tree)
        brought = set((await self._git(top, *asked, doing="no diff")).names)
        brought -= {each.path for each in merged.conflicts}
        # Ignored files as well, and whatever was done to the index.
        stage = ("update-index", "--add", "--replace", "-z", "--stdin")
        lying = _listed(name for name in brought if _lies(top, name))
        await self._git(top, *stage, stdin=lying, doing="files cannot be compared")
        return brought

    async def _changed_since(self, top: str, commit: str) -> set[str]:
        """The files of a checkout that are not as a commit has them, new ones as well."""
        said = await self._git(top, "diff", *NAMES, commit, doing="no diff")
        return {*said.names, *await self._untracked(top)}

    async def _untracked(self, top: str) -> list[str]:
        asked = ("ls-files", "--others", "--exclude-standard", "-z")
        return (await self._git(top, *asked, doing="new files are unknown")).names

    async def _only_theirs(
        self, top: str, note: ConflictNote, merged: MergedTree, brought: set[str]
    ) -> set[str]:
        """Of what the base changes, the files of which the work changes nothing."""
        own: set[str] = set()
        fork = await self._fork(top, note.onto, note.head)
        for one, other in ((fork, note.head), (note.onto, merged.tree)):
            asked = ("diff-tree", "-r", *NAMES, one, other)
            own |= {*(await self._git(top, *asked, doing="no diff")).names}
        return brought - own

    async def _restore(self, top: str, note: ConflictNote, merged: MergedTree) -> tuple[str, ...]:
        """Put back what the base changed, without a conflict, and somebody has changed since.

        A file that the work changes as well may be edited, but not be as it was before.
        """
        brought = await self._brought(top, note, merged)
        as_before = brought - await self._changed_since(top, note.head)
        alone = await self._only_theirs(top, note, merged, brought)
        # A submodule has files of its own, which tests may change.
        asked = ("diff", "--ignore-submodules=all", *NAMES, merged.tree)
        other = (await self._git(top, *asked, doing="no diff")).names
        undone = sorted(as_before | (alone & {*other}))
        if undone:
            restore = ("--literal-pathspecs", "restore", "--staged", "--worktree")
            await self._git(
                *(top, *restore, f"--source={merged.tree}", *_LISTED),
                stdin=_listed(undone),
                doing="changes of the base are undone, and cannot be put back",
            )
        return tuple(printable(name) for name in undone)


def _listed(names: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def _lies(top: str, name: str) -> bool:
    """Whether a file or a link lies there, and not somewhere else by a link on the way."""
    path = os.path.join(top, name)
    folder = os.path.dirname(path)
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return (stat.S_ISREG(mode) or stat.S_ISLNK(mode)) and os.path.realpath(folder) == folder
