"""Waiting for a file's lock among all processes; the kernel takes it from one that dies."""

from __future__ import annotations

import asyncio
import fcntl
import time


async def acquire(fd: int, patience: float, poll: float) -> bool:
    """Lock a file; whether that came about in time."""
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
        await asyncio.sleep(poll)
