"""What steers git for all worktrees: settings, hooks, attributes, where an agent can write, too.

No git of ours is needed to look at it, but for settings that changed.
"""

from __future__ import annotations

import os
import re
import stat

from hookline.adapters.repository_state import Looking
from hookline.digest import sha256
from hookline.domain.repository import RepositoryError
from hookline.files import read_regular

_FILES = (
    *("info/attributes", "info/exclude", "info/grafts", "info/sparse-checkout"),
    *("objects/info/alternates", "objects/info/http-alternates", "hooks"),
)
# Hooks that git comes with, and never runs.
_SAMPLE = ".sample"
_MOST_HOOKS, _LONGEST = 500, 1 << 20
# What git and its tools write by themselves in everyday work, and what we write.
_EVERYDAY = re.compile(
    r"submodule\..*\.(?:url|active)|remote\..*\.gh-resolved|lfs\.repositoryformatversion"
    r"|lfs\..*\.(?:access|locksverify)"
)
_MAIN = ("main", "master")


class Controlling(Looking):
    """Looks at what steers git."""

    async def control_state(self) -> dict[str, str]:
        """A stamp for each file and each setting that steers git here; none without a repository.

        Settings of branches count for the base alone: git writes them for every branch.
        """
        try:
            common = self._common
            settings = await self._settings.own()
        except RepositoryError:
            return {}
        bases = tuple(f"branch.{name}." for name in (self._wanted_base, *_MAIN) if name)
        found = {
            f"{key} in config": digest
            for key, digest in settings.items()
            if key.startswith(bases) or not (key.startswith("branch.") or _EVERYDAY.fullmatch(key))
        }
        for name in (*_FILES, *_hooks(common)):
            if (stamp := _stamp(os.path.join(common, name))) is not None:
                found[name] = stamp
        return found


def _hooks(common: str) -> list[str]:
    try:
        names = sorted(os.listdir(os.path.join(common, "hooks")))
    except OSError:
        return []
    return [f"hooks/{name}" for name in names if not name.endswith(_SAMPLE)][:_MOST_HOOKS]


def _stamp(path: str) -> str | None:
    """What files of the same content and kind have in common; None if nothing is there."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return f"link to {os.readlink(path)}"
        if stat.S_ISDIR(mode):
            return "a folder"
        return f"{mode & 0o111:o}-{sha256(read_regular(path, _LONGEST)).hexdigest()[:32]}"
    except FileNotFoundError:
        return None
    except OSError as problem:
        return f"unreadable ({problem.errno})"
