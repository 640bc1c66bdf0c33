"""Calling the hooks of events in the background of a command that advances runs."""

from __future__ import annotations

import asyncio
import os
import traceback
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from hookline.adapters.wakeup import AsyncWaker
from hookline.errors import HooklineError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
LOOK_AGAIN = 1.0


@asynccontextmanager
async def delivered(
    folder: str, deliver: Callable[[], Awaitable[int]], tell: Callable[[str], None]
) -> AsyncIterator[None]:
    """Deliver events as they happen, and not only when the command is over.

    A call that is under way at the end is waited for: cut short, it would be made again.
    """
    calls = _Calls(folder, deliver, tell)
    task = asyncio.ensure_future(calls.go_on())
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
    """Delivers again and again; what goes wrong is told at once, and tried again."""

    def __init__(
        self, folder: str, deliver: Callable[[], Awaitable[int]], tell: Callable[[str], None]
    ) -> None:
        self._waker = AsyncWaker(folder)
        self._deliver = deliver
        self._tell = tell
        self.busy = False
        self.stopping = False

    def close(self) -> None:
        """Nobody is woken any more."""
        self._waker.close()

    async def go_on(self) -> None:
        pause = FIRST_PAUSE
        while not self.stopping:
            self.busy = True
            try:
                count = await self._deliver()
            except Exception as problem:  # noqa: BLE001  # no run goes on without its hooks
                self.busy = False
                self._tell(f"hooks wait: {_described(problem)}; tried again in {pause:g} s")
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            self.busy = False
            pause = FIRST_PAUSE
            if not count:  # what waits may be in other hands
                await self._waker.wait(LOOK_AGAIN)


def _described(problem: Exception) -> str:
    """An error in a line; of a bug, where it is."""
    if isinstance(problem, HooklineError):
        return problem.message
    last = traceback.extract_tb(problem.__traceback__)[-1]
    where = f"{os.path.basename(last.filename)}:{last.lineno}"
    return f"{type(problem).__name__}: {' '.join(str(problem).split())} ({where})"
