"""What happens in sessions, in a table of a server: any host can watch."""

from __future__ import annotations

import threading
import time
from binascii import b2a_base64
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg

from hookline.adapters.feeds.feed import FIRST, MAX_BYTES, OUTLINE, FileFeed, decoded
from hookline.adapters.feeds.listening import Listener, ServerWaker
from hookline.adapters.store.postgres.database import news_of
from hookline.errors import StoreError, StoreLost, StoreUnreachable
from hookline.files import Removed, added

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from contextlib import AbstractContextManager

    from hookline.adapters.feeds.wakeup import AsyncWaker
    from hookline.adapters.store.postgres.server import ServerConnection
    from hookline.ports.feeds import FeedRecord, Waker

# What an agent says comes in many small pieces: those of so many seconds go together.
GATHERED = 0.05
_BATCH = 1000
_FORGET = b"DELETE FROM hookline.feeds WHERE project_id = %d AND run = %b"
_TELL = b"""
INSERT INTO hookline.feeds (project_id, run, line) VALUES (%d, %b, decode('%b', 'base64'))
"""
# Ids in the order of commits: a reader who has seen one has seen all before it.
_TURN = b"SELECT pg_advisory_xact_lock(%d, hashtext(%b))"
_READ = b"""
SELECT id, line FROM hookline.feeds WHERE project_id = %d AND run = %b AND id > %d
ORDER BY id LIMIT %d
"""
_TAIL = b"""
SELECT coalesce(max(id), 0) FROM (SELECT id, sum(octet_length(line)) OVER (ORDER BY id DESC) AS size
FROM hookline.feeds WHERE project_id = %d AND run = %b) lines WHERE size > %d
"""
_SIZE = b"""
SELECT count(*), coalesce(sum(octet_length(line)), 0)::bigint FROM hookline.feeds
WHERE project_id = %d AND run = %b
"""


class ServerFeed(FileFeed):
    """The feeds of runs in a table; those who tell do not wait for the server."""

    def __init__(
        self, folder: str, server: Callable[..., ServerConnection], project: int, url: str
    ) -> None:
        super().__init__(folder)
        self._connect = server
        self._project = project
        self._url = url
        self._told: list[tuple[str, str, bytes]] = []
        self._news = threading.Condition()
        self._writer: threading.Thread | None = None
        self._is_over = False
        self._listener: Listener | None = None
        self._server: ServerConnection | None = None
        self._lock = threading.Lock()

    def reader(self, run_id: str, *, tail: int | None = None) -> ServerFeedReader:
        return ServerFeedReader(self, run_id, tail)

    def sweep(self, run_ids: Collection[str], *, dry: bool = False) -> Removed:
        removed = []
        for run_id in run_ids:
            ((count, size),) = self.rows(_SIZE, run_id)
            removed.append(Removed(int(bool(count)), size))
            if count and not dry:
                self.rows(_FORGET, run_id)
        return added(removed)

    def waker(self, folder: str | None = None) -> AbstractContextManager[Waker]:
        return super().waker(folder) if folder is not None else self._waker()

    def wakeup(self, folder: str | None = None) -> AsyncWaker:
        from hookline.adapters.feeds.wakeup import AsyncWaker  # imports asyncio

        return AsyncWaker(self._waker())  # what is told is in the store as well

    def rows(self, script: bytes, run_id: str, *values: int) -> list[Any]:
        """What a statement about a run finds."""
        with self._lock:
            if self._server is None:
                self._server = self._connect(waits=False)
            server = self._server
            with server.translated():
                run = server.quote(run_id.encode())
                cursor = server.run(script % (self._project, run, *values), first=True)
                return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        if self._writer is not None:
            with self._news:
                self._is_over = True
                self._news.notify()
            self._writer.join()
        if self._server is not None:
            self._server.close()

    def _waker(self) -> ServerWaker:
        if self._listener is None:
            self._listener = Listener(self._url, self._project)
        return ServerWaker(self._listener)

    def _write(self, run_id: str, what: str, line: bytes) -> None:
        with self._news:
            if self._writer is None:
                self._writer = threading.Thread(target=self._send, daemon=True, name="feed")
                self._writer.start()
            self._told.append((run_id, what, line))
            self._news.notify()

    def _send(self) -> None:
        """Send what was told, until nothing more will be."""
        sizes: dict[str, int] = {}
        server: ServerConnection | None = None
        while True:
            with self._news:
                self._news.wait_for(lambda: self._told or self._is_over)
                told, self._told = self._told, []
                if not told:
                    break
            # A server that is away costs those who watch, not the session.
            with suppress(StoreError, psycopg.Error):
                server = server or self._connect()
                server.run(b";".join(self._statements(server, told, sizes)), first=True)
            time.sleep(0 if self._is_over else GATHERED)
        if server is not None:
            server.close()

    def _statements(
        self, server: ServerConnection, told: list[tuple[str, str, bytes]], sizes: dict[str, int]
    ) -> Iterator[bytes]:
        yield b"BEGIN"
        runs = {run_id: server.quote(run_id.encode()) for run_id in sorted({t[0] for t in told})}
        for run in runs.values():
            yield _TURN % (self._project, run)
        for run_id, what, line in told:
            if what == FIRST:  # what a removed store told under this number
                sizes[run_id] = 0
                yield _FORGET % (self._project, runs[run_id])
            sizes[run_id] = sizes.get(run_id, 0) + len(line)
            if what.startswith(OUTLINE) or sizes[run_id] < MAX_BYTES:
                told_line = b2a_base64(line, newline=False)
                yield _TELL % (self._project, runs[run_id], told_line)
        yield b"COMMIT; " + news_of(self._project)


class ServerFeedReader:
    """Reads a feed from a place on, as it grows."""

    def __init__(self, feed: ServerFeed, run_id: str, tail: int | None) -> None:
        self._feed = feed
        self._run_id = run_id
        self._place = 0
        if tail is not None:
            ((self._place,),) = feed.rows(_TAIL, run_id, tail)

    def new(self) -> Iterator[FeedRecord]:
        """What was told since the last time."""
        # Whoever shows it has more to show, also while the server is away.
        with suppress(StoreUnreachable, StoreLost):
            while rows := self._feed.rows(_READ, self._run_id, self._place, _BATCH):
                for number, line in rows:
                    self._place = number
                    yield from decoded(line)
