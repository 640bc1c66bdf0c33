"""What commits hold: read, verified and made without a checkout, so that none has a say in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.adapters.git.door import GitFailed
from hookline.adapters.repository_conflicts import MergedTree, read_stages
from hookline.adapters.repository_state import Looking

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.adapters.git.door import Said

STYLE = ("-c", "rebase.updateRefs=false", "-c", "merge.conflictStyle=merge")


class Objects(Looking):
    """Trees and commits."""

    async def _check_objects(self, folder: str, *asked: str) -> Said:
        """Refuse objects that hold other bytes than their names say; else what git lists of them.

        Git itself does not look: it reads, tests and checks out what somebody put in their place.
        """
        look = ("rev-list", "--objects", "--verify-objects", "--quiet", *asked)
        said = await self._git(folder, *look)
        if said.code or "error:" in said.err:  # of a file's content git tells by its words alone
            help = "`git fsck` lists them; a copy of the repository may have them whole"
            raise GitFailed("objects of git are damaged or were replaced", said, help=help)
        return said

    async def _commit_tree(
        self, tree: str, parents: tuple[str, ...], message: bytes, by: Mapping[str, str]
    ) -> str:
        """A commit of exactly this content, in which no checkout and no hook has a say."""
        signed = ("-S",) if await self._settings.get("commit.gpgsign") == "true" else ()
        on = [word for parent in parents for word in ("-p", parent)]
        made = await self._git(
            *(self.root, "commit-tree", *signed, *on, "-F", "-", tree),
            stdin=message,
            aside=by,
            doing="nothing was committed",
        )
        return made.text

    async def _tree(self, commit: str) -> str:
        """The id of all that a commit holds."""
        asked = ("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}")
        return (await self._git(self.root, *asked, doing="the commit cannot be read")).text

    async def _merge_trees(self, folder: str, ours: str, theirs: str) -> MergedTree:
        """What a merge of two commits comes to. It is made beside every checkout."""
        asked = ("merge-tree", "--write-tree", "--no-messages", "-z", ours, theirs)
        said = await self._git(folder, *STYLE, *asked)
        if said.code not in (0, 1):
            raise GitFailed("the two cannot be merged", said)
        tree, *fields = said.out.split(b"\0")
        return MergedTree(tree.decode(), read_stages([field for field in fields if b"\t" in field]))
