"""What the agents of sessions say and do, for those who look at a session."""

from __future__ import annotations

import asyncio
import os
import threading
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import StreamingResponse

from hookline.app import App
from hookline.queries.page.events import FeedEntry
from hookline.surfaces.serving import in_thread
from hookline.surfaces.web.routes import LINES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from hookline.ports.feeds import FeedReader, Wakeup

FOLDER = "sessions"
HEARTBEAT = 15.0
# So many records are sent together, and what comes within this time.
MOST, GATHERED = 500, 0.1
_encode = msgspec.json.Encoder().encode
_BEAT = _encode(FeedEntry(timestamp="", type="beat", data={})) + b"\n"


class SessionFeeds:
    """The feeds of sessions, each read at the pace of whoever looks; one wakeup serves all."""

    def __init__(self, root: str, environ: Mapping[str, str]) -> None:
        self._root, self._environ = root, environ
        self._app: App | None = None
        self._wakeup: Wakeup | None = None
        self._over = asyncio.Event()
        self._opening = threading.Lock()

    def end(self) -> None:
        """End the feeds: whoever looks comes again."""
        self._over.set()

    def close(self) -> None:
        """Let go of the store, once nobody looks any more."""
        if self._wakeup is not None:
            self._wakeup.close()
        if self._app is not None:
            self._app.close()

    def response(self, run_id: str, tail: int) -> StreamingResponse:
        """A session's feed, from so many bytes before its end on."""
        return StreamingResponse(self._told(run_id, tail), media_type=LINES)

    async def _told(self, run_id: str, tail: int) -> AsyncIterator[bytes]:
        wakeup, reader = await in_thread(partial(self._reader, run_id, tail))
        yield _BEAT
        while not self._over.is_set():
            if lines := await in_thread(partial(_lines, reader)):
                for at in range(0, len(lines), MOST):
                    yield b"".join(lines[at : at + MOST])
                await asyncio.sleep(GATHERED)
            elif not await self._waited(wakeup):
                yield _BEAT

    async def _waited(self, wakeup: Wakeup) -> bool:
        """Wait for news, or for the end; whether one of them came in time."""
        waits = {
            asyncio.ensure_future(each) for each in (wakeup.wait(HEARTBEAT), self._over.wait())
        }
        done, left = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for each in left:
            each.cancel()
        return any(each.result() for each in done)

    def _reader(self, run_id: str, tail: int) -> tuple[Wakeup, FeedReader]:
        with self._opening:
            if self._app is None or self._wakeup is None:
                self._app = App.open(self._root, environ=self._environ, read_only=True)
                folder = os.path.join(self._app.project.folder, FOLDER)
                self._wakeup = self._app.feeds.wakeup(folder)
            return self._wakeup, self._app.feeds.reader(run_id, tail=tail)


def _lines(reader: FeedReader) -> list[bytes]:
    return [_encode(record) + b"\n" for record in islice(reader.new(), MOST * 20)]
