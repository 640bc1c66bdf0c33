"""Ending what runs at the same time, and waiting until it has ended."""

from __future__ import annotations

import asyncio
from typing import Any


async def end(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks; what each of them returns or raises then is lost."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
