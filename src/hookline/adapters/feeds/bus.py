"""Learning of new events in other processes: the file system wakes us, without polling.

Linux tells about writes to the store's files through inotify. Elsewhere the files are looked at
every 20 ms, which costs under 1% of a core.
"""

from __future__ import annotations

import ctypes
import os
import select
import time
import weakref
from contextlib import suppress

from hookline.adapters.processes.identity import has_proc

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
        self._handle = _watch(folder) if use_inotify and has_proc() else None
        # Who forgets a waker forgets its handle, of which a user has 128 at a time.
        self.close = weakref.finalize(self, _close, self._handle)
        self._seen = self._signature()
        self._echo = _FIRST_ECHO

    def __enter__(self) -> Waker:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def fileno(self) -> int | None:
        """What an event loop can watch; None where the files must be looked at."""
        return self._handle

    def wait(self, timeout: float | None = None) -> bool:
        """Return when there may be news, or False when the time is over.

        What was written since the last call is not missed: it returns at once.
        """
        # The files show the write to the WAL; the commit is visible only after its fsync, of
        # which nothing tells and which a busy disk may hold up for long. So a wait also ends by
        # itself, later and later.
        echo = self._echo
        bounded = timeout is None or echo < timeout
        if self._changed(echo if timeout is None or bounded else timeout):
            self._echo = _FIRST_ECHO
            return True
        if bounded:
            self._echo = min(echo * 2, _LAST_ECHO)
        return bounded

    def _changed(self, seconds: float) -> bool:
        """Whether the store's files change within this time."""
        if self._handle is not None:
            ready, _, _ = select.select([self._handle], [], [], seconds)
            if ready:
                os.read(self._handle, 1 << 16)
            return bool(ready)
        deadline = time.monotonic() + seconds
        while (signature := self._signature()) == self._seen:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(_POLL_SECONDS, left))
        self._seen = signature
        return True

    def _signature(self) -> tuple[tuple[int, int], ...]:
        return tuple(_stamp(os.path.join(self._folder, name)) for name in _NAMES)


_NAMES = ("hookline.db", "hookline.db-wal")


def _stamp(path: str) -> tuple[int, int]:
    with suppress(OSError):
        status = os.stat(path)
        return status.st_mtime_ns, status.st_size
    return 0, 0


def _close(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


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
