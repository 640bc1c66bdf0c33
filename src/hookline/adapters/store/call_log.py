"""The log of hook calls that a person can tail."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING

from hookline.domain.timestamps import to_second
from hookline.files import entry_at, locked, open_to_append, own_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.hooks.records import Delivery

MAX_LOG_BYTES = 10 * 1024 * 1024
# How many files are kept that made room: hooks.log.1 is the newest.
KEPT = 3


class FileCallLog:
    """Writes a line for each call; a file that grew large makes room for a new one.

    Several processes write at once, each whole lines; one of them makes room for all.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = -1
        self._second = 0
        self._stamp = ""

    def write(self, rows: Sequence[Delivery]) -> None:
        now = int(time.time())
        try:
            if now != self._second or self._file < 0:  # who makes room is noticed in time
                self._second = now
                self._stamp = to_second(now)
                self._open()
            lines = "".join([f"{self._stamp} {_line(row)}\n" for row in rows])
            os.write(self._file, lines.encode(errors="replace"))
        except OSError:  # the record is in the store; no hook fails for want of a log
            self.close()

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self) -> None:
        found = entry_at(self._path)  # none before the first line, or if another made room
        if found is not None and found.st_size > MAX_LOG_BYTES:
            self._make_room()
            found = None
        if found is None or (self._file >= 0 and os.fstat(self._file).st_ino != found.st_ino):
            self.close()
        if self._file < 0:
            self._file = open_to_append(self._path)

    def _make_room(self) -> None:
        place, name = os.path.split(self._path)
        older = [name, *(f"{name}.{number}" for number in range(1, KEPT + 1))]
        with own_folder(*os.path.split(place)) as folder, locked(folder, alone=True):
            if _size(folder, name) <= MAX_LOG_BYTES:
                return  # another process was faster
            for each, next_name in reversed([*pairwise(older)]):
                with suppress(FileNotFoundError):
                    os.replace(each, next_name, src_dir_fd=folder, dst_dir_fd=folder)


def _size(folder: int, name: str) -> int:
    with suppress(FileNotFoundError):
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
    return 0


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
