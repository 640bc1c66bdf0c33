"""The git side of gates: everything that Hookline does in a repository, as one object.

Every act looks first, then acts, then proves what it did; it is harmless when repeated after a
crash, and leaves a clean tree when it fails. The parts are in the modules named repository_*.
"""

from __future__ import annotations

from hookline.adapters.repository_findings import Inspecting
from hookline.domain.repository import RepositoryError


class GitRepository(Inspecting):
    """A project's repository."""

    async def remote_url(self, remote: str) -> str:
        """Where a remote is."""
        said = await self._git(self.root, "remote", "get-url", "--", remote)
        if not said.text:
            raise RepositoryError(
                f"there is no remote {remote[:80]!r}", help="`git remote -v` shows them"
            )
        return said.text
