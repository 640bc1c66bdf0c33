"""A server behind a wire: what is said is counted, and takes its time."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

# The name of the socket of a server that listens on port 5432.
SOCKET = ".s.PGSQL.5432"
_PIECE = 1 << 16


class Wire:
    """A socket in a folder of its own that leads to another one.

    A round trip is what a client says after the server has spoken; it takes `seconds` longer.
    """

    def __init__(self, server: Path, folder: Path, seconds: float = 0.0) -> None:
        self.folder = folder
        self.trips = 0
        self.connections = 0
        self._server = server / SOCKET
        self._half = seconds / 2
        self._loop = asyncio.new_event_loop()
        self._ends: set[asyncio.StreamWriter] = set()
        self._is_open = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="wire")

    def __enter__(self) -> Self:
        self._thread.start()
        self._is_open.wait()
        return self

    def __exit__(self, *details: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def take(self) -> int:
        """How many round trips there were since the last time."""
        trips, self.trips = self.trips, 0
        return trips

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._over = asyncio.Event()
        os.makedirs(self.folder, exist_ok=True)
        server = await asyncio.start_unix_server(self._connect, self.folder / SOCKET)
        self._is_open.set()
        await self._over.wait()
        server.close()
        for each in list(self._ends):
            each.close()
        while self._ends:
            await asyncio.sleep(0.01)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        its_reader, its_writer = await asyncio.open_unix_connection(self._server)
        self.connections += 1
        spoken = [True]
        self._ends |= {writer, its_writer}
        await asyncio.gather(
            self._carry(reader, its_writer, spoken, by_client=True),
            self._carry(its_reader, writer, spoken, by_client=False),
        )
        self._ends -= {writer, its_writer}

    async def _carry(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        spoken: list[bool],
        *,
        by_client: bool,
    ) -> None:
        loop = asyncio.get_running_loop()
        try:
            while piece := await reader.read(_PIECE):
                if by_client and spoken[0]:
                    self.trips += 1
                spoken[0] = not by_client
                if self._half:
                    loop.call_later(self._half, writer.write, piece)
                else:
                    writer.write(piece)
        except OSError:  # one of both is gone
            pass
        loop.call_later(self._half, writer.close)
