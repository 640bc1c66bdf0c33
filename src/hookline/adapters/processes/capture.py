"""What a program prints, clean and within bounds: head and tail in memory, the whole in a blob."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from hookline.digest import sha256
from hookline.domain.text.excerpts import left_out
from hookline.files import create, locked, own_folder

if TYPE_CHECKING:
    from hookline.domain.text.cleaning import Stream

HALF = 16 * 1024
CAP = 2 * HALF
BLOB_CAP = 64 * 1024 * 1024
# How much of the end is cleaned when what comes before is not kept, and what is dropped of it.
LAST, MARGIN = 96 * 1024, 32 * 1024
_CONTINUATION = range(0x80, 0xC0)


class Capture:
    """One stream of a program. With a blobs folder, what does not fit is stored as well.

    With `cleaning` it is cleaned before anyone sees it. Unless all of it is `told` to someone,
    what is not kept is not cleaned either, which takes longer than all the rest.
    """

    def __init__(
        self,
        blobs: str | None = None,
        cleaning: Stream | None = None,
        *,
        told: bool = False,
        half: int = HALF,
    ) -> None:
        self.total = 0
        self._cleaning = cleaning
        self._cleaned = told or cleaning is None
        self._last = bytearray()
        self._head = bytearray()
        self._tail = bytearray()
        self._blobs = blobs
        self._half = half
        self._spill: _Spill | None = None

    def feed(self, chunk: bytes) -> bytes:
        """Take the next bytes of the stream; those that are known to be clean by now."""
        if not self._cleaned and self.total > CAP + (BLOB_CAP if self._blobs else 0):
            self._last += chunk
            if len(self._last) > 4 * LAST:
                self.total += len(self._last) - LAST
                del self._last[:-LAST]
            return b""
        clean = chunk if self._cleaning is None else self._cleaning.feed(chunk)
        self.keep(clean)
        return clean

    def end(self) -> bytes:
        """There is no more for now; what was held because more could have changed it."""
        if self._cleaning is None:
            return b""
        last, self._last = bytes(self._last), bytearray()
        if len(last) >= LAST:  # its beginning may be the second half of a secret
            self.total += len(self._cleaning.end() + self._cleaning.feed(last[:MARGIN]))
            last = last[MARGIN:]
        clean = self._cleaning.feed(last) + self._cleaning.end()
        self.keep(clean)
        return clean

    def keep(self, chunk: bytes) -> None:
        """Take bytes as they are."""
        if self._blobs is not None and self.total + len(chunk) > CAP:
            self._store(chunk)
        self.total += len(chunk)
        room = self._half - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk[-self._half :]
        if len(self._tail) > 4 * self._half:
            del self._tail[: -self._half]

    @property
    def left_out(self) -> int:
        """How many bytes between the beginning and the end are not kept."""
        return max(0, self.total - 2 * self._half)

    def ends(self) -> bytes:
        """What is kept, as bytes."""
        return bytes(self._head + self._tail[-self._half :])

    def text(self) -> str:
        """The stream as text; a cut is marked with the number of bytes left out."""
        if self.total <= CAP:
            return (self._head + self._tail).decode("utf-8", "replace")
        head = self._head[: _last_whole(self._head)]
        tail = self._tail[-HALF:]
        tail = tail[_first_whole(tail) :]
        marker = f"\n{left_out(self.total - len(head) - len(tail))}\n"
        return head.decode("utf-8", "replace") + marker + tail.decode("utf-8", "replace")

    def publish(self) -> str | None:
        """The path of the blob that holds the whole stream, when it was too long to be kept."""
        if self._spill is None:
            return None
        spill, self._spill = self._spill, None
        try:
            return spill.publish()
        except OSError:  # a full disk costs the whole output, never the hook's result
            spill.discard()
            return None

    def discard(self) -> None:
        """Drop a blob that was not published."""
        if self._spill is not None:
            self._spill.discard()
            self._spill = None

    def _store(self, chunk: bytes) -> None:
        try:
            if self._spill is None:
                assert self._blobs is not None
                self._spill = _Spill(self._blobs)
                self._spill.write(bytes(self._head + self._tail))
            self._spill.write(chunk)
        except OSError:  # a full disk costs the whole output, never the hook's result
            self.discard()
            self._blobs = None


class _Spill:
    """A file that is written under a passing name and published under the hash of its content."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._name = f".incoming-{os.getpid()}-{os.urandom(8).hex()}"
        with own_folder(*os.path.split(folder)) as blobs:
            self._file = open(create(blobs, self._name), "wb")  # noqa: SIM115  # closed at its end
        self._hash = sha256()
        self._room = BLOB_CAP

    def write(self, data: bytes) -> None:
        data = data[: self._room]
        if data:
            self._room -= len(data)
            self._hash.update(data)
            self._file.write(data)

    def publish(self) -> str:
        self._file.close()
        name = self._hash.hexdigest()
        top = os.path.split(self._folder)
        with (
            own_folder(*top) as blobs,
            own_folder(*top, name[:2]) as home,
            locked(home, alone=False),
        ):
            os.replace(self._name, name, src_dir_fd=blobs, dst_dir_fd=home)
        return os.path.join(self._folder, name[:2], name)

    def discard(self) -> None:
        # Closing flushes, which fails again on a full disk; the file goes either way.
        with suppress(OSError):
            self._file.close()
        with suppress(OSError), own_folder(*os.path.split(self._folder)) as blobs:
            os.unlink(self._name, dir_fd=blobs)


def _first_whole(data: bytes | bytearray) -> int:
    """Where the first whole UTF-8 character begins; 0 when this is not UTF-8."""
    return next((at for at, byte in enumerate(data[:4]) if byte not in _CONTINUATION), 0)


def _last_whole(data: bytes | bytearray) -> int:
    """Where the last whole UTF-8 character ends; the end when this is not UTF-8."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte not in _CONTINUATION:
            needed = 1 + (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0)
            return len(data) - back if needed > back else len(data)
    return len(data)
