"""What happens in a session, for those who watch: a file of JSON lines beside the store.

The store is the truth; this is the way to see it happen, from this process or another.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.moments import iso
from hookline.files import open_regular, open_to_append

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = "sessions"
# Past this only the outline of a session is told: not what its agent says, nor its hooks.
MAX_BYTES = 256 * 1024 * 1024
OUTLINE = "session_"
FIRST = "session_started"
TURN, AGENT = "turn_started", "agent"
# What an agent says in one turn is told up to here.
MAX_SAID = 1024 * 1024
LEFT_OUT = {"type": "notice", "text": "the rest of what the agent says in this turn is left out"}
MAX_LINE = 4 * 1024 * 1024
CHUNK = 1 << 20
_encode = msgspec.json.Encoder().encode


def feed_path(folder: str, run_id: str) -> str:
    """Where the feed of a run stands."""
    return os.path.join(folder, FOLDER, f"{run_id}.jsonl")


class FileFeed:
    """Writes the feeds of runs."""

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

    def _bounded(self, run_id: str, what: str, details: dict[str, Any]) -> list[dict[str, Any]]:
        """What is told of this: an agent that says more and more must not fill the disk."""
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
            file = self._files[run_id] = self._open(run_id)
        if what == FIRST:  # what a store that is gone had told under this number
            os.ftruncate(file, 0)
        if what.startswith(OUTLINE) or os.fstat(file).st_size < MAX_BYTES:
            os.write(file, line)

    def _open(self, run_id: str) -> int:
        return open_to_append(feed_path(self._folder, run_id))

    def _close(self, run_id: str) -> None:
        file = self._files.pop(run_id, None)
        if file is not None:
            os.close(file)


class FeedReader:
    """Reads a feed from a place on, as it grows; `tail` begins so many bytes before its end."""

    def __init__(self, folder: str, run_id: str, *, tail: int | None = None) -> None:
        self._path = feed_path(folder, run_id)
        self._rest = b""
        self._place = 0
        if tail is not None:
            try:
                self._place = max(0, os.path.getsize(self._path) - tail)
            except OSError:  # nothing was told yet
                self._place = 0

    def new(self) -> Iterator[dict[str, Any]]:
        """What was told since the last time; half a line waits for its end."""
        try:
            with open(open_regular(self._path), "rb") as file:
                if os.fstat(file.fileno()).st_size < self._place:  # it was begun anew
                    self._place, self._rest = 0, b""
                file.seek(self._place)
                while data := file.read(CHUNK):
                    self._place += len(data)
                    *lines, rest = (self._rest + data).split(b"\n")
                    self._rest = rest if len(rest) <= MAX_LINE else b"-"  # decodes to nothing
                    for line in lines:
                        yield from _decoded(line)
        except OSError:  # nothing was told yet
            return


def _decoded(line: bytes) -> Iterator[dict[str, Any]]:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):  # a process was killed in the middle of it
        return
    if isinstance(found, dict) and isinstance(found.get("type"), str):
        data = found.get("data")
        if isinstance(data, dict):
            yield found
