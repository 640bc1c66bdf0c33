"""Delivery in the background: what goes wrong is told at once, and tried again."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Awaitable, Callable

from hookline.errors import HooklineError

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


async def retried(
    deliver: Callable[[], Awaitable[int]],
    tell: Callable[[str], None],
    is_over: Callable[[], bool] = lambda: False,
) -> int:
    """Deliver, however often that takes; how many events were seen to."""
    pause = FIRST_PAUSE
    while not is_over():
        try:
            return await deliver()
        except Exception as problem:  # noqa: BLE001  # nothing continues without its hooks
            tell(f"hooks are waiting: {_described(problem)}; trying again in {pause:g} s")
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
    return 0


def _described(problem: Exception) -> str:
    """An error in a line; of a bug, where it is."""
    if isinstance(problem, HooklineError):
        return problem.message
    last = traceback.extract_tb(problem.__traceback__)[-1]
    where = f"{os.path.basename(last.filename)}:{last.lineno}"
    return f"{type(problem).__name__}: {' '.join(str(problem).split())} ({where})"
