"""What work changes, by the commits and trees that were recorded while it was done."""

from __future__ import annotations

import msgspec

from hookline.domain.work.repository import FileChange

OWN_FOLDER = "its agent worked in your own checkout, and nothing recorded the files as they were"
UNCOMMITTED = "the files were not committed then, so only their names are known"


class Change(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """What work changes: from one commit to another, as far as git still knows it.

    `older` and `newer` name what is compared; a `fork` is compared from where it left its base, up
    to the files in `tree` if they need not be committed.
    """

    older: str
    newer: str
    fork: bool = False
    tree: str | None = None
    files: list[FileChange] = []
    diff: str = ""
    unknown: str | None = None

    @property
    def lines(self) -> tuple[int, int]:
        """How many lines were added and removed."""
        added = sum(each.added or 0 for each in self.files)
        return added, sum(each.removed or 0 for each in self.files)
