"""Serving one client on stdin and stdout, where nothing but the protocol may be said."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, cast

import anyio
from mcp.server.stdio import stdio_server

from hookline.errors import INTERRUPTED, OK
from hookline.surfaces.mcp.server import Desk, make_server
from hookline.surfaces.mcp.visit import note

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from io import BufferedReader


MAX_LINE = 4 * 1024 * 1024
# No message at all, so the protocol's reader refuses it as it does every garbled line.
_TOO_LONG = "a line that is too long"


def main(environ: Mapping[str, str], *, tools: str | None, commands: bool) -> int:
    """Serve one client on stdin and stdout until it goes away."""
    try:
        asyncio.run(_serve(Desk(environ, tools=tools, commands=commands)))
    except asyncio.CancelledError:  # SIGTERM: what it interrupted is cleaned up by now
        return INTERRUPTED
    return OK


async def _serve(desk: Desk) -> None:
    """Serve until the client closes stdin, or a signal ends the server."""
    source, sink = _take_streams()
    lines = StdioLines(source)
    out = anyio.wrap_file(os.fdopen(sink, "w", encoding="utf-8", closefd=False))
    server = make_server(desk)
    task = asyncio.current_task()
    assert task is not None  # this is a coroutine
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        async with stdio_server(cast("anyio.AsyncFile[str]", lines), out) as (read, write):
            await server.run(read, write, server.create_initialization_options())
    finally:
        await desk.close()


class StdioLines:
    """The lines of a stream, read by a thread that nobody has to wait for.

    A blocked read cannot be cancelled; the thread is left behind, and ^C ends the server at once.
    """

    def __init__(self, source: BufferedReader) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[str | None] = asyncio.Queue(maxsize=16)

    async def __aiter__(self) -> AsyncIterator[str]:
        """Each line; one that is too long comes as garbage."""
        threading.Thread(target=self._read, daemon=True).start()
        while (line := await self._queue.get()) is not None:
            yield line

    def _read(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            while data := self._source.readline(MAX_LINE + 1):
                if len(data) > MAX_LINE:
                    self._skip_line(data)
                    note(f"a line of more than {MAX_LINE:,} bytes was ignored")
                    self._pass_on(_TOO_LONG)
                elif data.strip():
                    self._pass_on(data.decode("utf-8", "replace"))
            self._pass_on(None)

    def _skip_line(self, data: bytes) -> None:
        while data and not data.endswith(b"\n"):
            data = self._source.readline(MAX_LINE)

    def _pass_on(self, line: str | None) -> None:
        asyncio.run_coroutine_threadsafe(self._queue.put(line), self._loop).result()


def _take_streams() -> tuple[BufferedReader, int]:
    """Stdin and stdout for the protocol alone: prints of others go to stderr, reads find nothing.

    The other ends belong to this process only; children inherit neither.
    """
    source = os.fdopen(os.dup(0), "rb")
    sink = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, sink
