"""The git side of gates: everything that Hookline does in a repository, as one object.

Every act looks first, then acts, then proves what it did; it is harmless when repeated after a
crash, and leaves a clean tree when it fails. The parts are in the modules named repository_*.
"""

from __future__ import annotations

from hookline.adapters.git.door import printable
from hookline.adapters.repository_control import Controlling
from hookline.adapters.repository_diff import Diffing
from hookline.adapters.repository_findings import Inspecting
from hookline.domain.repository import RepositoryError


class GitRepository(Inspecting, Controlling, Diffing):
    """A project's repository."""

    async def identity(self) -> str | None:
        """Who commits here, as "Name <address>"; None if git does not know."""
        try:
            said = await self._git(self.root, "var", "GIT_COMMITTER_IDENT")
        except RepositoryError:  # such as where there is no repository
            return None
        return printable(said.text.rpartition(">")[0] + ">") if not said.code else None

    async def base_head(self, base: str) -> str:
        """The newest commit of a base, as its remote has it now."""
        return (await self.fetch(base)).sha

    async def holds(self, base: str, commit: str) -> bool:
        """Whether a base, as its remote has it now, holds a commit."""
        newest = await self.base_head(base)
        known = await self._sha(self.root, commit)
        return known is not None and await self._is_ancestor(self.root, known, newest)

    async def tree_of(self, commit: str) -> str:
        """The id of all that a commit holds."""
        return await self._tree(commit)

    async def remote_url(self, remote: str) -> str:
        """Where a remote is."""
        said = await self._git(self.root, "remote", "get-url", "--", remote)
        if not said.text:
            name = remote[:80]
            help = f"`git remote add {name} URL` adds it; `git remote -v` shows which there are"
            raise RepositoryError(f"there is no remote {name!r}", help=help)
        return said.text
