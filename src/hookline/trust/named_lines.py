"""What runs keep to be run later: only what this user's own trusted configurations have named.

A store on a server can hold any line, and whoever advances the run would run it. So the user's
folder remembers, by their digests, those that were read here from files that were trusted.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.digest import sha256
from hookline.errors import Untrusted
from hookline.immutable import Immutable
from hookline.trust.private import read_private, write_private

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "lines"


class NamedLines(Immutable):
    """The lines of one project's configurations, as its clone in `folder` had them."""

    home: str
    folder: str
    store_id: str

    def remember(self, lines: Mapping[bytes, str]) -> None:
        """A configuration that is trusted names these."""
        for line in lines:
            if not self._is_named(line):
                write_private(self._record(line), b"")

    def unnamed(self, lines: Mapping[bytes, str]) -> list[str]:
        """What of these nobody has named here, as it is told."""
        return [shown for line, shown in lines.items() if not self._is_named(line)]

    def _is_named(self, line: bytes) -> bool:
        try:
            return read_private(self._record(line)) is not None
        except Untrusted:
            return False

    def _record(self, line: bytes) -> str:
        place = os.fsencode(f"{os.path.realpath(self.folder)}\0{self.store_id}\0")
        return os.path.join(self.home, FOLDER, sha256(place + line).hexdigest())
