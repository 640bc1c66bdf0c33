"""What commits hold: read, verified and made without a checkout, so that none has a say in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.adapters.git.door import GitFailed, printable
from hookline.adapters.repository_conflicts import MergedTree, read_merge
from hookline.adapters.repository_state import Looking
from hookline.domain.repository import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.adapters.git.door import Said

STYLE = ("-c", "rebase.updateRefs=false", "-c", "merge.conflictStyle=merge")


class Objects(Looking):
    """Trees and commits."""

    async def _check_objects(self, folder: str, *asked: str) -> Said:
        """Refuse objects that hold other bytes than their names say; else what git lists of them.

        Git itself does not look: it reads, tests and checks out what somebody put in their place.
        """
        # What a partial clone has not fetched yet is not fetched for this.
        look = ("--objects", "--verify-objects", "--missing=allow-promisor", "--quiet")
        said = await self._git(folder, "rev-list", *look, *asked)
        if said.code or "error:" in said.err:  # of a file's content git tells by its words alone
            help = "`git fsck` lists them; a copy of the repository may have them whole"
            raise GitFailed("objects of git are damaged or were replaced", said, help=help)
        return said

    async def messages(self, folder: str, base: str, head: str, limit: int) -> dict[str, str]:
        """What each commit says that the base has not, by its id; more than `limit` is an error."""
        known = await self._known_base(base)
        asked = ("log", "-z", "--format=%H%n%B", f"{known.sha}..{head}")
        said = await self._git(folder, *asked, limit=limit, doing="no commits to list")
        if said.left_out:
            raise RepositoryError(f"the messages of the commits are longer than {limit} bytes")
        pairs = (printable(each).partition("\n") for each in said.names)
        return {sha: message for sha, _, message in pairs}

    async def contents(
        self, folder: str, commit: str, names: Sequence[str], limit: int
    ) -> dict[str, bytes]:
        """Files as a commit holds them, as many as have place in `limit` bytes together."""
        # Of a longer answer both ends are kept; only its beginning is read.
        said = await self._batch(folder, "--batch", commit, names, limit=2 * limit)
        left, found = said.out[:limit] if said.left_out else said.out, {}
        for name in names:
            about, _, rest = left.partition(b"\n")
            size = about.rpartition(b" ")[2]
            if not size.isdigit():  # such as "... missing", and what was cut off
                left = rest
                continue
            if len(rest) < int(size):
                break
            found[name], left = rest[: int(size)], rest[int(size) + 1 :]
        return found

    async def size_of(self, folder: str, commit: str, names: Sequence[str]) -> int:
        """How many bytes files have together, as a commit holds them."""
        said = await self._batch(folder, "--batch-check=%(objectsize)", commit, names)
        return sum(int(size) for size in said.out.split(b"\n") if size.isdigit())

    async def _batch(
        self, folder: str, how: str, commit: str, names: Sequence[str], **options: int
    ) -> Said:
        asked = b"".join(os.fsencode(f"{commit}:{name}") + b"\0" for name in names)
        doing = "the files cannot be read"
        return await self._git(folder, "cat-file", how, "-z", stdin=asked, doing=doing, **options)

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
        asked = ("merge-tree", "--write-tree", "--messages", "-z", ours, theirs)
        said = await self._git(folder, *STYLE, *asked)
        if said.code not in (0, 1):
            raise GitFailed("the two cannot be merged", said)
        return read_merge(said.out)
