"""A program that is spoken with: its pipes as asyncio's streams, and nothing of it left behind."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from hookline.adapters.processes.capture import Capture
from hookline.adapters.processes.leader import Leader

if TYPE_CHECKING:
    import subprocess

    from hookline.domain.text.cleaning import Stream

# A process that left the group can hold a pipe open forever; its output is not waited for.
DRAIN_SECONDS = 0.2


class LocalDialogue:
    """A running program, its stdin to write to, its stdout to read, its stderr kept.

    Its stdout is a protocol and comes byte for byte; who reads it cleans the text in its messages.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], line_limit: int, cleaning: Stream | None = None
    ) -> None:
        self.reader = asyncio.StreamReader(limit=line_limit)
        self.writer: asyncio.StreamWriter
        self.timed_out = False
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._complaints = Capture(None, cleaning)
        self.leader = Leader(self._loop, process, self._exited)
        self._ears: list[asyncio.ReadTransport] = []
        self._mouth: asyncio.WriteTransport | None = None
        self._timers: list[asyncio.TimerHandle] = []

    @property
    def exit_code(self) -> int | None:
        return self._process.returncode

    def stderr(self) -> str:
        self._complaints.end()
        return self._complaints.text()

    async def end(self, grace: float) -> bool:
        self.writer.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), grace)
        return self._ended.is_set()

    async def open(self, timeout: float) -> None:
        """Begin to listen, to wait for the end, and to count the time."""
        process, loop = self._process, self._loop
        listeners = (
            (process.stdout, lambda: asyncio.StreamReaderProtocol(self.reader)),
            (process.stderr, lambda: _Keeper(self._complaints)),
        )
        for pipe, listener in listeners:
            transport, _ = await loop.connect_read_pipe(listener, pipe)
            self._ears.append(transport)
        # A protocol of streams is what knows how to wait until a pipe takes more.
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        self._mouth, _ = await loop.connect_write_pipe(lambda: protocol, process.stdin)
        self.writer = asyncio.StreamWriter(self._mouth, protocol, None, loop)
        self.leader.watch()
        self._timers.append(loop.call_later(timeout, self._expire))

    def close(self) -> None:
        """Let go of everything; a program that still runs is killed with its group."""
        for timer in self._timers:
            timer.cancel()
        self.leader.close()
        for ear in self._ears:
            ear.close()
        self._hang_up()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _hang_up(self) -> None:
        if self._mouth is None:
            return
        # Once it is closed and has nothing left to write, there is nothing to abort.
        if not self._mouth.is_closing() or self._mouth.get_write_buffer_size():
            self._mouth.abort()

    def _expire(self) -> None:
        self.timed_out = self.leader.kill()

    def _exited(self) -> None:
        self._ended.set()
        self._timers.append(self._loop.call_later(DRAIN_SECONDS, self._cut))

    def _cut(self) -> None:
        for ear in self._ears:
            ear.close()


class _Keeper(asyncio.Protocol):
    def __init__(self, capture: Capture) -> None:
        self._capture = capture

    def data_received(self, data: bytes) -> None:
        self._capture.feed(data)
