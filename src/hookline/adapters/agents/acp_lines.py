"""Messages of the Agent Client Protocol, one per line, from an agent that is not trusted.

The transport that is given to the protocol's own connection. What comes through is known to be
a message; lines are bounded, and what an agent prints between messages is counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

# A message can hold the whole of a file twice, before and after an edit.
LINE_LIMIT = 16 * 1024 * 1024
MAX_STRAY_LINES = 1000
Message = dict[str, Any]
_PARTS = (("id", int | str | None), ("method", str | None), ("error", dict | None))


class AcpLines:
    """An agent's stdin and stdout as a stream of messages."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_stray: Callable[[str], None],
    ) -> None:
        self.problem: str | None = None
        self._reader = reader
        self._writer = writer
        self._on_stray = on_stray
        self._strays = 0

    async def send(self, message: Message) -> None:
        """Write a message; an agent that does not listen any more has hung up."""
        try:
            self._writer.write(msgspec.json.encode(message) + b"\n")
            await self._writer.drain()
        except OSError:
            self._reader.feed_eof()

    async def receive(self) -> Message | None:
        """The next message; None when there will be no more."""
        while self.problem is None:
            line = await self._line()
            if line is None:
                return None
            message = _message(line)
            if message is not None:
                # A flood must not keep the loop from acting on what already came.
                await asyncio.sleep(0)
                return message
            self._count(line)
        return None

    async def close(self) -> None:
        """Nothing: the owner of the dialogue closes its pipes."""

    async def _line(self) -> bytes | None:
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            return end.partial or None
        except asyncio.LimitOverrunError:
            self.problem = f"it printed a line longer than {LINE_LIMIT >> 20} MiB"
        except OSError as problem:
            self.problem = f"its output could not be read: {problem}"
        return None

    def _count(self, line: bytes) -> None:
        shown = line.decode("utf-8", "replace").strip()[:100]
        if not shown:
            return
        self._strays += 1
        if self._strays == 1:
            self._on_stray(shown)
        if self._strays >= MAX_STRAY_LINES:
            self.problem = f"it printed {self._strays} lines that are not messages, first {shown!r}"


def _message(line: bytes) -> Message | None:
    """The message on a line, if it is one that a connection can handle."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    is_object = isinstance(message, dict)
    is_fine = is_object and all(isinstance(message.get(key), kind) for key, kind in _PARTS)
    return message if is_fine else None
