"""Following a session's feed, in a thread of its own.

A reader that does not read, or is gone, stops this thread and nothing else: what is not read yet
waits in the file of the feed, and the session goes on.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hookline.surfaces.cli.live import FRAME, Live
from hookline.surfaces.cli.live_lines import Line, plain
from hookline.surfaces.cli.live_screen import Screen, stdout_file, write_all
from hookline.surfaces.cli.output import note

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ENDED = "session_ended"
# Who reads slowly is told in pieces of this many records.
BATCH = 500
LEAVING = 0.5


class Show(Protocol):
    """What becomes of a feed."""

    def hear(self, lines: Iterable[dict[str, Any]]) -> None:
        """Show what was told."""
        ...

    def say(self, text: str) -> None:
        """Tell a person something beside it."""
        ...

    def close(self) -> None:
        """Nothing more will be told."""
        ...


class AsJson:
    """The feed as it is, a line for each record. The ending is for the command to tell."""

    def __init__(self) -> None:
        self._file = stdout_file()

    def hear(self, lines: Iterable[dict[str, Any]]) -> None:
        """Write what was told."""
        told = [msgspec.json.encode(line) for line in lines if line["type"] != ENDED]
        if told:
            write_all(self._file, b"\n".join([*told, b""]))

    def say(self, text: str) -> None:
        """Records are on stdout; who reads stderr is told there."""
        note(text)

    def close(self) -> None:
        """There is nothing to take back."""


class AsLines:
    """The feed as a person reads it, on stderr."""

    def __init__(self, live: Live, environ: Mapping[str, str]) -> None:
        self.live = live
        sys.stderr.flush()
        self._screen = Screen(sys.stderr, environ)

    def hear(self, lines: Iterable[dict[str, Any]]) -> None:
        """Print what is finished, draw what is open."""
        finished = [line for record in lines for line in self.live.take(record)]
        self.show(finished)

    def say(self, text: str) -> None:
        """Print a line of our own."""
        self.show([plain(text, "yellow", wraps=True)])

    def show(self, finished: Sequence[Line]) -> None:
        """Print lines, and draw what is open again."""
        screen = self._screen
        open_lines = self.live.region(time.time(), screen.room) if screen.is_live else []
        screen.show(finished, open_lines)

    def close(self) -> None:
        """Take the open step back."""
        self._screen.show([])


class Source(Protocol):
    """Where records come from, as they are told."""

    def new(self) -> Iterable[dict[str, Any]]:
        """What was told since the last time."""
        ...


class Watch:
    """Shows a feed while a session goes on in another thread."""

    def __init__(self, reader: Source, show: Show) -> None:
        self._reader = reader
        self._show = show
        self._said: deque[str] = deque()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True, name="view")

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        """The session is over. Whoever reads may take their time, but not from one who leaves."""
        self._over.set()
        self._thread.join(timeout=LEAVING if kind is KeyboardInterrupt else None)

    def say(self, text: str) -> None:
        """Tell a person something, from any thread."""
        self._said.append(text)

    def _follow(self) -> None:
        try:
            while not self._over.wait(FRAME):
                self.step()
            self.step()
            self._show.close()
        except OSError:  # nobody reads any more; the session does not depend on it
            return

    def step(self) -> None:
        """Show what was told since the last time."""
        while self._said:
            self._show.say(self._said.popleft())
        records = iter(self._reader.new())
        while batch := list(islice(records, BATCH)):
            self._show.hear(batch)
        self._show.hear([])
