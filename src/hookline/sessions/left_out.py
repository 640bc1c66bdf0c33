"""Which untracked files do not come along when another clone takes work over."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from hookline.files import entry_at, read_regular
from hookline.hooks.builtin.gates.contents import looks_secret

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.hooks.builtin.gates.arguments import Secrets

# A search takes about a second for two megabytes; what is left over is searched after a later turn.
MAX_FILE, MAX_SEARCHED = 4 * 1024 * 1024, 16 * 1024 * 1024


class LeftOut:
    """Finds files that hold credentials, or are too long to be searched for them.

    What nobody has touched since the last time is not searched again.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._known: dict[str, tuple[tuple[int, ...], bool]] = {}

    def find(self, top: str, names: Sequence[str]) -> list[str]:
        """The files among these, named from the top of a worktree, that stay there."""
        left, found = MAX_SEARCHED, []
        for name in names:
            path = os.path.join(top, name)
            at = entry_at(path)
            if at is None or not stat.S_ISREG(at.st_mode):
                continue  # gone by now, or a link, whose content is where it leads
            stamp = (at.st_size, at.st_mtime_ns, at.st_ctime_ns, at.st_ino)
            if self._known.get(path, ((), False))[0] != stamp:
                left -= at.st_size
                if at.st_size > MAX_FILE or left < 0:
                    found.append(name)
                    continue
                self._known[path] = stamp, self._is_secret(name, path)
            if self._known[path][1]:
                found.append(name)
        return sorted(found)

    def _is_secret(self, name: str, path: str) -> bool:
        try:
            content = read_regular(path, MAX_FILE + 1)
        except (OSError, ValueError):  # nothing is known about it
            return True
        return len(content) > MAX_FILE or looks_secret(name, content, self._secrets)
