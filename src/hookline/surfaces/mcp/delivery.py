"""Calling the hooks that wait after an agent's change, one change after the other."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from hookline.app import App
from hookline.domain.display import visible
from hookline.errors import HooklineError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.domain.records import Delivery

PATIENCE = 10.0


class Courier:
    """Delivers on behalf of all calls.

    One at a time: two deliveries of one process would take each other's for abandoned.
    """

    def __init__(self) -> None:
        self._one = asyncio.Lock()
        self._running: set[asyncio.Task[None]] = set()

    async def deliver(self, environ: Mapping[str, str]) -> None:
        """Call the hooks that wait; the caller waits a while, slow hooks go on behind its back."""
        task = asyncio.create_task(self._drain(environ))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        await asyncio.wait((task,), timeout=PATIENCE)

    async def close(self) -> None:
        """Stop; calls that were cut short are made again by the next process."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _drain(self, environ: Mapping[str, str]) -> None:
        async with self._one:
            try:
                app = App.open(environ=environ)
                app.listen, app.tell = tell_failure, _note
                try:
                    await app.deliver()
                finally:
                    app.close()
            except HooklineError as problem:  # the change is stored; its hooks wait in the store
                _note(f"hooks were not called: {problem.message}")


def tell_failure(row: Delivery) -> None:
    """Say that a call failed, to whoever reads the server's stderr."""
    if row.failure:
        _note(row.failure)


def _note(text: str) -> None:
    print(f"hookline mcp: {visible(text)}", file=sys.stderr, flush=True)
