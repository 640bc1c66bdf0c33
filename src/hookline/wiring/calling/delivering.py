"""Calling the hooks of events in the background of a command that advances runs."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from hookline.wiring.calling.retrying import retried
from hookline.wiring.running.presence import heartbeat

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from hookline.app import App
    from hookline.domain.hooks.records import Delivery
    from hookline.ports.feeds import Feeds
    from hookline.ports.store import Transaction

LOOK_AGAIN = 1.0


@asynccontextmanager
async def at_work(
    app: App,
    observe: Callable[[Delivery], None] | None = None,
    tell: Callable[[str], None] | None = None,
    keep: Callable[[], Callable[[Transaction], None] | None] = lambda: None,
    look: Callable[[], None] = lambda: None,
) -> AsyncIterator[None]:
    """What a process needs that advances runs: a heartbeat, and hooks called meanwhile.

    Before it calls them, it looks whether people have to be told something.
    """

    async def deliver() -> int:
        look()
        return await app.deliver() if app.work_waits() else 0

    before = app.listen, app.tell
    app.listen, app.tell = observe or app.listen, tell or app.tell
    try:
        with heartbeat(app, keep):
            async with delivered(app.feeds, deliver, app.tell):
                yield
    finally:
        app.listen, app.tell = before


@asynccontextmanager
async def delivered(
    feeds: Feeds, deliver: Callable[[], Awaitable[int]], tell: Callable[[str], None]
) -> AsyncIterator[None]:
    """Deliver events as they happen, and not only when the command is over.

    A call that is under way at the end is waited for: interrupted, it would be made again.
    """
    calls = _Calls(feeds, deliver, tell)
    task = asyncio.ensure_future(calls.run())
    try:
        yield
        if calls.busy:
            calls.stopping = True
            await task
    finally:
        task.cancel()
        await asyncio.wait({task})
        calls.close()
        if not task.cancelled():
            task.result()


class _Calls:
    """Delivers again and again."""

    def __init__(
        self, feeds: Feeds, deliver: Callable[[], Awaitable[int]], tell: Callable[[str], None]
    ) -> None:
        self._waker = feeds.wakeup()
        self._deliver = deliver
        self._tell = tell
        self.busy = False
        self.stopping = False

    def close(self) -> None:
        """Nobody is woken any more."""
        self._waker.close()

    async def run(self) -> None:
        while not self.stopping:
            count = await retried(self._deliver_busily, self._tell, lambda: self.stopping)
            if not count:  # what waits may be in other hands
                await self._waker.wait(LOOK_AGAIN)

    async def _deliver_busily(self) -> int:
        self.busy = True
        try:
            return await self._deliver()
        finally:
            self.busy = False
