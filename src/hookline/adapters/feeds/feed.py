"""What happens in a session, for those who watch: a file of JSON lines next to the store.

The store is the truth; this is the way to see it happen, from this process or another.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.timestamps import iso
from hookline.files import Removed, open_regular, open_to_append, own_folder, sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from contextlib import AbstractContextManager

    from hookline.adapters.feeds.wakeup import AsyncWaker
    from hookline.ports import feeds as ports
    from hookline.ports.feeds import FeedRecord

FOLDER = "sessions"
_ENDING = ".jsonl"
# Past this only the outline of a session is kept: not what its agent says, nor its hooks.
MAX_BYTES = 256 * 1024 * 1024
OUTLINE = "session_"
FIRST = "session_started"
TURN, AGENT = "turn_started", "agent"
# How much of what an agent says in one turn is kept.
MAX_SAID = 1024 * 1024
LEFT_OUT = {"type": "notice", "text": "the rest of this turn's output is left out"}
MAX_LINE = 4 * 1024 * 1024
CHUNK = 1 << 20
_encode = msgspec.json.Encoder().encode


def feed_path(folder: str, run_id: str) -> str:
    """The file of a run's feed."""
    return os.path.join(folder, FOLDER, f"{run_id}{_ENDING}")


class FileFeed:
    """The feeds of runs as files in a project's folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._files: dict[str, int] = {}
        self._said: dict[str, int] = {}

    def of(self, run_id: str) -> Callable[[str, dict[str, Any]], None]:
        """The feed of one run."""

        def tell(what: str, details: dict[str, Any]) -> None:
            try:
                for each in self._bounded(run_id, what, details):
                    line = {"timestamp": iso(time.time()), "type": what, "data": each}
                    self._write(run_id, what, _encode(line) + b"\n")
            except OSError:  # a full disk costs those who watch, not the session
                self._close(run_id)

        return tell

    def reader(self, run_id: str, *, tail: int | None = None) -> ports.FeedReader:
        return FeedReader(self._folder, run_id, tail=tail)

    def sweep(self, run_ids: Collection[str], *, dry: bool = False) -> Removed:
        names = {f"{run_id}{_ENDING}" for run_id in run_ids}
        if not os.path.isdir(os.path.join(self._folder, FOLDER)):
            return Removed()
        with own_folder(self._folder, FOLDER) as folder:
            return sweep(folder, lambda name, found: name in names, dry=dry)

    def waker(self, folder: str | None = None) -> AbstractContextManager[ports.Waker]:
        from hookline.adapters.feeds.bus import Waker  # few commands wait

        return Waker(folder or self._folder)

    def wakeup(self, folder: str | None = None) -> AsyncWaker:
        from hookline.adapters.feeds.bus import Waker
        from hookline.adapters.feeds.wakeup import AsyncWaker  # imports asyncio

        return AsyncWaker(Waker(folder or self._folder))

    def close(self) -> None:
        for run_id in list(self._files):
            self._close(run_id)

    def _bounded(self, run_id: str, what: str, details: dict[str, Any]) -> list[dict[str, Any]]:
        """What is kept of this: an agent that says more and more must not fill the disk."""
        if what == TURN:
            self._said[run_id] = 0
        if what != AGENT or details.get("type") != "text":
            return [details]
        text, left = details.get("text", ""), MAX_SAID - self._said.get(run_id, 0)
        if left < 0:
            return []
        self._said[run_id] = MAX_SAID - left + len(text)
        return [details] if len(text) <= left else [{**details, "text": text[:left]}, LEFT_OUT]

    def _write(self, run_id: str, what: str, line: bytes) -> None:
        file = self._files.get(run_id)
        if file is None:
            file = self._files[run_id] = open_to_append(feed_path(self._folder, run_id))
        if what == FIRST:  # what a removed store wrote under this number
            os.ftruncate(file, 0)
        if what.startswith(OUTLINE) or os.fstat(file).st_size < MAX_BYTES:
            os.write(file, line)

    def _close(self, run_id: str) -> None:
        file = self._files.pop(run_id, None)
        if file is not None:
            os.close(file)


class FeedReader:
    """Reads a feed from a place on, as it grows; `tail`: bytes from its end to begin at."""

    def __init__(self, folder: str, run_id: str, *, tail: int | None = None) -> None:
        self._path = feed_path(folder, run_id)
        self._rest = b""
        self._place = 0
        if tail is not None:
            with suppress(OSError):  # nothing was written yet
                self._place = max(0, os.path.getsize(self._path) - tail)

    def new(self) -> Iterator[FeedRecord]:
        """What was written since the last time; half a line waits for its end."""
        # Without a file, nothing was written yet.
        with suppress(OSError), open(open_regular(self._path), "rb") as file:
            if os.fstat(file.fileno()).st_size < self._place:  # it was started again
                self._place, self._rest = 0, b""
            file.seek(self._place)
            while data := file.read(CHUNK):
                self._place += len(data)
                *lines, rest = (self._rest + data).split(b"\n")
                self._rest = rest if len(rest) <= MAX_LINE else b"-"  # decodes to nothing
                for line in lines:
                    yield from decoded(line)


def decoded(line: bytes) -> Iterator[FeedRecord]:
    """The record of a line, if it is whole."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):  # a process was killed in the middle of it
        return
    is_record = isinstance(found, dict) and isinstance(found.get("type"), str)
    if is_record and isinstance(found.get("data"), dict):
        yield found
