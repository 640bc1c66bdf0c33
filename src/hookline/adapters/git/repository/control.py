"""What steers git for all worktrees: settings, hooks, attributes, where an agent can write, too.

No git process is needed to look at it, except for settings that changed.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from hookline.digest import sha256
from hookline.domain.work.repository import RepositoryError
from hookline.files import read_regular

if TYPE_CHECKING:
    from hookline.adapters.git.repository.plumbing import Plumbing

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


async def control_state(repo: Plumbing) -> dict[str, str]:
    """A stamp for each file and each setting that steers git here; none without a repository.

    Settings of branches count for the base alone: git writes them for every branch.
    """
    try:
        common = repo.common
        settings = await repo.settings.own()
        elsewhere = await repo.settings.get("core.hookspath")
    except RepositoryError:
        return {}
    bases = tuple(f"branch.{name}." for name in (repo.wanted_base, *_MAIN) if name)
    found = {
        f"{key} in config": digest
        for key, digest in settings.items()
        if key.startswith(bases) or not (key.startswith("branch.") or _EVERYDAY.fullmatch(key))
    }
    places = {name: os.path.join(common, name) for name in _FILES}
    places |= _hooks("hooks", os.path.join(common, "hooks"))
    if os.path.isabs(elsewhere := os.path.expanduser(elsewhere or "")):
        places |= _hooks("core.hookspath", elsewhere)
    stamps = {name: _stamp(path) for name, path in places.items()}
    return found | {name: stamp for name, stamp in stamps.items() if stamp is not None}


def _hooks(called: str, folder: str) -> dict[str, str]:
    with suppress(OSError):
        names = [name for name in sorted(os.listdir(folder)) if not name.endswith(_SAMPLE)]
        return {f"{called}/{name}": os.path.join(folder, name) for name in names[:_MOST_HOOKS]}
    return {}


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
