"""The log of hook calls that a person can tail."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from hookline.files import open_to_append, own_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.records import Delivery

MAX_LOG_BYTES = 8 * 1024 * 1024


class CallLog:
    """Writes a line for each call; a file that grew large makes room for a new one."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = -1
        self._second = 0
        self._stamp = ""

    def write(self, rows: Sequence[Delivery]) -> None:
        """Add these calls."""
        now = int(time.time())
        try:
            if now != self._second or self._file < 0:  # who makes room is noticed in time
                self._second = now
                self._stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
                self._open()
            lines = "".join([f"{self._stamp} {_line(row)}\n" for row in rows])
            os.write(self._file, lines.encode(errors="replace"))
        except OSError:  # the record is in the store; no hook fails for want of a log
            self.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self) -> None:
        try:
            found = os.lstat(self._path)
        except FileNotFoundError:  # there is none yet, or another process made room
            self.close()
        else:
            if self._file >= 0 and os.fstat(self._file).st_ino != found.st_ino:
                self.close()
            if found.st_size > MAX_LOG_BYTES:
                self._make_room()
                self.close()
        if self._file < 0:
            self._file = open_to_append(self._path)

    def _make_room(self) -> None:
        place, name = os.path.split(self._path)
        with own_folder(*os.path.split(place)) as folder:
            os.replace(name, f"{name}.1", src_dir_fd=folder, dst_dir_fd=folder)


def _line(row: Delivery) -> str:
    line = (
        f"event={row.event_seq} point={row.point} hook={row.hook} status={row.status}"
        f" ms={(row.duration_us or 0) / 1000:.1f}"
    )
    if row.exit_code is not None:
        line += f" exit={row.exit_code}"
    if row.error:
        line += f" error={row.error.splitlines()[0][:300]!r}"
    return line
