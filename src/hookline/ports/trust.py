"""What merging needs to know about trust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class MergeTrust(Protocol):
    """Compares the changes of a merge with what the user has trusted."""

    def may_concern(self, names: Sequence[str]) -> bool:
        """Whether one of these files could be covered, now or after the merge."""

    def other_scripts(self, worktree: str) -> set[str]:
        """The covered scripts of the project of which a worktree holds another version."""

    def untrusted(self, folder: str, names: Sequence[str]) -> list[str]:
        """The covered files of a merge, checked out in a folder, that nobody has trusted yet."""
