"""Learning of new events in other processes: the file system wakes us, nobody polls.

Linux tells about writes to the store's files through inotify. Elsewhere the files are looked at
every 20 ms, which costs under 1% of a core.
"""

from __future__ import annotations

import ctypes
import os
import select
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

_IN_MODIFY = 0x2
_IN_CREATE = 0x100
_IN_NONBLOCK_CLOEXEC = 0o4000 | 0o2000000
_POLL_SECONDS = 0.02
_FIRST_ECHO = 0.001
_LAST_ECHO = 4.0


class Waker:
    """Waits until something may have been written to a store's folder."""

    def __init__(self, folder: str, *, use_inotify: bool = True) -> None:
        self._folder = folder
        self._handle = _watch(folder) if use_inotify else None
        self._seen = self._signature()
        self._echo: float | None = _FIRST_ECHO

    def __enter__(self) -> Waker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._handle is not None:
            os.close(self._handle)

    def fileno(self) -> int | None:
        """What an event loop can watch; None where the files must be looked at."""
        return self._handle

    def wait(self, timeout: float | None = None) -> bool:
        """Return when the store's files change, or False when the time is over.

        What was written since the last call is not missed: it returns at once.
        """
        if self._handle is not None:
            return self._wait_for_kernel(self._handle, timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._signature() == self._seen:
            if deadline is not None and time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        self._seen = self._signature()
        return True

    def _wait_for_kernel(self, handle: int, timeout: float | None) -> bool:
        # The kernel tells of the write to the WAL; the commit is visible only after its fsync,
        # of which nothing tells. So the next waits end by themselves, later and later.
        echo = self._echo
        bounded = echo is not None and (timeout is None or echo < timeout)
        ready, _, _ = select.select([handle], [], [], echo if bounded else timeout)
        if ready:
            os.read(handle, 1 << 16)
            self._echo = _FIRST_ECHO
        elif bounded and echo is not None:
            self._echo = echo * 2 if echo < _LAST_ECHO else None
        return bool(ready) or bounded

    def _signature(self) -> tuple[tuple[int, int], ...]:
        return tuple(_stamp(os.path.join(self._folder, name)) for name in _NAMES)


_NAMES = ("hookline.db", "hookline.db-wal")


def _stamp(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)


def _watch(folder: str) -> int | None:
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        handle = int(libc.inotify_init1(_IN_NONBLOCK_CLOEXEC))
    except (OSError, AttributeError):
        return None
    if handle < 0:
        return None
    if libc.inotify_add_watch(handle, os.fsencode(folder), _IN_MODIFY | _IN_CREATE) < 0:
        os.close(handle)
        return None
    return handle
