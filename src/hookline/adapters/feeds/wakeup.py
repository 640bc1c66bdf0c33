"""Being woken by the store inside an event loop; many may wait at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.adapters.feeds.bus import Waker
    from hookline.adapters.feeds.listening import ServerWaker

# The kernel reports a write before its commit can be seen, so everyone is woken again.
_ECHOES = (0.003, 0.02, 0.1)
_POLL = 0.05


class AsyncWaker:
    """Wakes every waiter when something may have been stored."""

    def __init__(self, waker: Waker | ServerWaker) -> None:
        self._waker = waker
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Future[None]] = set()
        self._echoes: list[asyncio.TimerHandle] = []

    async def wait(self, timeout: float) -> bool:
        loop = asyncio.get_running_loop()
        handle = self._waker.fileno()
        if handle is not None and self._loop is not loop:
            self._loop = loop
            loop.add_reader(handle, self._written)
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.add(future)
        try:
            patience = timeout if handle is not None else min(timeout, _POLL)
            done, _ = await asyncio.wait({future}, timeout=patience)
            return bool(done)
        finally:
            self._waiting.discard(future)
            future.cancel()

    def close(self) -> None:
        """Close the kernel's handle; nothing waits any more."""
        handle = self._waker.fileno()
        if handle is not None and self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(handle)
        self._loop = None
        self._waker.close()

    def _written(self) -> None:
        self._waker.wait(0)
        self._wake()
        assert self._loop is not None  # the reader was added with it
        for echo in self._echoes:
            echo.cancel()
        self._echoes = [self._loop.call_later(delay, self._wake) for delay in _ECHOES]

    def _wake(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
