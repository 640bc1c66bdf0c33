"""Following what happens, in its own thread: all live views are drawn here.

A reader that does not read, or is gone, stops this thread and nothing else: what is not read yet
waits in the file of a feed or in the store, and the work continues.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import msgspec

from hookline.errors import StoreError, WaitEnded
from hookline.ports.feeds import BELL
from hookline.surfaces.cli.live.lines import ViewLine, plain
from hookline.surfaces.cli.live.screen import Screen, half, most
from hookline.surfaces.cli.live.view import FRAME
from hookline.surfaces.cli.output import note, stdout_file, write_all
from hookline.wiring.project.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TextIO

    from hookline.app import App
    from hookline.ports.feeds import FeedRecord
    from hookline.ports.store import Store, View

Heard = TypeVar("Heard")
Shown = TypeVar("Shown", contravariant=True)
Read = TypeVar("Read", covariant=True)

# Who reads slowly is told in pieces of this many records.
BATCH = 500
# Only a terminal that takes nothing keeps one waiting so long; a busy machine needs a while, too.
LEAVING = 5.0
# The view may be waiting for the same server.
LEAVING_OUTAGE = 0.5


class AsRecords(Generic[Heard]):
    """What is told as programs read it, a line for each record that they want.

    The ending is for the command to tell.
    """

    def __init__(self, wanted: Callable[[Heard], bool]) -> None:
        self._file = stdout_file()
        self._wanted = wanted

    def hear(self, lines: Iterable[Heard]) -> None:
        """Write what was told."""
        told = [msgspec.json.encode(line) for line in lines if self._wanted(line)]
        if told:
            write_all(self._file, b"\n".join([*told, b""]))

    def say(self, text: str) -> None:
        """Records are on stdout; who reads stderr is told there."""
        note(text)

    def close(self) -> None:
        """There is nothing to take back."""


def is_for_watchers(line: FeedRecord) -> bool:
    """Whether a record of a session's feed is told as it comes."""
    return line["type"] not in ("session_ended", BELL)


def rung_by_others(own: str) -> Callable[[FeedRecord], bool]:
    """Whether a record rings here: a process has rung its own terminal itself."""
    return lambda line: line["type"] == BELL and line["data"].get("by") != own


class LiveView(Protocol[Shown]):
    """What is told, as people see it. Knows nothing of terminals and threads."""

    def take(self, record: Shown) -> list[ViewLine]:
        """Hear a record; the lines that are finished by it."""

    def region(self, now: float, rows: int) -> list[ViewLine]:
        """What is open, in at most so many rows."""


class StoreView(Protocol):
    """What a store tells, as lines."""

    def look(self, view: View) -> Iterable[ViewLine]:
        """What is new, each line once."""

    def take(self, record: ViewLine) -> list[ViewLine]:
        """A line stays as it is."""
        return [record]

    def region(self, now: float, rows: int) -> list[ViewLine]:
        """What is open, in at most so many rows."""


class OnScreen(Generic[Heard]):
    """What is told as a person sees it, on stderr; in a pipe only what is finished."""

    def __init__(
        self,
        view: LiveView[Heard],
        environ: Mapping[str, str],
        room: Callable[[int], int] = half,
        *,
        first: Sequence[ViewLine] = (),
        rings: Callable[[Heard], bool] = lambda record: False,
        stream: TextIO | None = None,
    ) -> None:
        self._view, self._rings = view, rings
        self._screen = Screen(stream or sys.stderr, environ, room)
        self._first = first

    def hear(self, lines: Iterable[Heard]) -> None:
        """Print what is finished, draw what is open, and ring if someone is called."""
        heard = list(lines)
        if any(map(self._rings, heard)):
            self._screen.ring()
        self.show([line for record in heard for line in self._view.take(record)])

    def say(self, text: str) -> None:
        """Print a line of our own."""
        self.show([plain(text, "yellow", wraps=True)])

    def show(self, finished: Sequence[ViewLine]) -> None:
        """Print lines, and draw what is open again."""
        screen = self._screen
        finished, self._first = [*self._first, *finished], ()
        open_lines = self._view.region(time.time(), screen.room) if screen.is_live else []
        screen.show(finished, open_lines)

    def close(self) -> None:
        """Take back what is open."""
        self._screen.show([])


# What happens to a feed.
Show = AsRecords[Heard] | OnScreen[Heard]


class Source(Protocol[Read]):
    """Where records come from, as they are told."""

    def new(self) -> Iterable[Read]:
        """What was told since the last time."""


class StoreLook(Generic[Read]):
    """What is new in a store, over a connection of the thread that shows it."""

    def __init__(self, url: str, look: Callable[[View], Iterable[Read]]) -> None:
        self._url, self._look = url, look
        self._store: Store | None = None

    def new(self) -> Iterable[Read]:
        """What `look` finds."""
        try:
            if self._store is None:
                self._store = open_store(self._url, read_only=True, waits=False)
            with self._store.read() as view:
                return list(self._look(view))
        except StoreError:  # busy now; nothing is missed by looking later
            return ()


class Watch(Generic[Heard]):
    """Shows what happens while the work is done in another thread."""

    def __init__(self, reader: Source[Heard], show: Show[Heard]) -> None:
        self._reader = reader
        self._show = show
        self._said: deque[str] = deque()
        self._problem: OSError | None = None
        self._nobody_reads = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True, name="view")

    def __enter__(self) -> Watch[Heard]:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        """The work is over. Whoever reads may take their time, but not from one who leaves."""
        self._over.set()
        leaving = LEAVING_OUTAGE if kind is WaitEnded else LEAVING
        self._thread.join(timeout=None if kind is None else leaving)

    def say(self, text: str) -> None:
        """Tell a person something, from any thread."""
        self._said.append(text)

    def show_for(self, seconds: float) -> None:
        """Wait that long; OSError as soon as nobody reads any more."""
        # Not join: a ^C in the midst of it counts the thread as ended.
        if self._nobody_reads.wait(seconds) and self._problem is not None:
            raise self._problem

    def _follow(self) -> None:
        try:
            while not self._over.wait(FRAME):
                self._step()
            self._step()
            self._show.close()
        except OSError as problem:  # nobody reads any more; the session does not depend on it
            self._problem = problem
            self._nobody_reads.set()

    def _step(self) -> None:
        """Show what was told since the last time."""
        while self._said:
            self._show.say(self._said.popleft())
        records = iter(self._reader.new())
        while batch := list(islice(records, BATCH)):
            self._show.hear(batch)
        self._show.hear([])


def store_watch(app: App, view: StoreView, *, quiet: bool) -> Watch[ViewLine]:
    """Shows what a store tells; if `quiet`, only what is said besides."""
    show = AsRecords[ViewLine](lambda line: False) if quiet else OnScreen(view, app.environ, most)
    return Watch(StoreLook(app.store.url, view.look), show)
