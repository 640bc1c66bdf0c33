"""The state of a folder that an agent works in, as git sees it."""

from __future__ import annotations

import msgspec

from hookline.digest import sha256


class WorkState(msgspec.Struct, frozen=True):
    """What stands in a folder: its commit and tree, and a stamp for each file that differs.

    Two states with the same fingerprint hold the same files. Outside a repository there is no
    commit and nothing is known, nor where git fails: then `error` says why.
    """

    commit: str | None = None
    tree: str | None = None
    stamps: dict[str, str] = {}
    in_repository: bool = True
    error: str | None = None

    @property
    def fingerprint(self) -> str | None:
        """A short name of this state; None where nothing is known."""
        if not self.in_repository:
            return None
        encoded = msgspec.json.encode((self.tree, sorted(self.stamps.items())))
        return str(sha256(encoded).hexdigest()[:16])


class WorkTree(msgspec.Struct, frozen=True, rename="camel"):
    """The content of a folder as a git tree, and how it differs from an earlier one.

    `error` says why git could not tell.
    """

    in_repository: bool
    tree: str | None = None
    diff_hash: str | None = None
    changed_files: int = 0
    error: str | None = None
