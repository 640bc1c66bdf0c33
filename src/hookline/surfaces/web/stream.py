"""The stream of events: one look at the log for all who watch, each at their own place in it.

Nothing is kept for a client that reads slowly: what is no longer in the newest lines is read from
the log again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec
from starlette.responses import StreamingResponse

from hookline.app import App
from hookline.errors import HooklineError
from hookline.queries.page.events import stream_beat, stream_lines
from hookline.surfaces.web.routes import LINES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping


T = TypeVar("T")
# The newest lines; who is further behind gets pages of the log, and who is lost begins afresh.
NEWEST, PAGE, LOST = 2000, 500, 20_000
HEARTBEAT = 15.0
# What happens within this time is told together.
GATHERED = 0.1
_encode = msgspec.json.Encoder().encode


class _EventLine(NamedTuple):
    seq: int
    text: bytes


class EventStream:
    """What happens in a project, for many who watch."""

    def __init__(self, root: str, environ: Mapping[str, str]) -> None:
        # Whoever uses a connection to the store has to be its thread.
        self._one = ThreadPoolExecutor(1, thread_name_prefix="stream")
        self._open = partial(App.open, root, environ=environ, read_only=True)
        self._app: App | None = None
        self._lines: deque[_EventLine] = deque(maxlen=NEWEST)
        self._news = asyncio.Event()
        self._last = 0
        self.is_over = False

    async def follow(self) -> None:
        """Look whenever something may have been stored, until it is over."""
        self._last = await self._asked(self._end)
        app = self._open()
        wakeup = app.feeds.wakeup()
        try:
            while not self.is_over:
                if not await self._look() and not await wakeup.wait(HEARTBEAT):
                    with suppress(HooklineError):  # it is opened again at the next look
                        await self._asked(self._open_again)  # the store may be another one by now
                await asyncio.sleep(GATHERED)
        finally:
            wakeup.close()
            app.close()
            # A store that answers nothing may be asked right now, and is not waited for.
            self._one.submit(self._close)
            self._one.shutdown(wait=False)

    def close(self) -> None:
        """End the streams: whoever watches comes again."""
        self.is_over = True
        self._tell()

    def response(self, after: int | None) -> StreamingResponse:
        """The stream after a position; without one, from now on."""
        return StreamingResponse(self._told(after), media_type=LINES)

    async def _told(self, after: int | None) -> AsyncIterator[bytes]:
        place = self._last if after is None else after
        if not self._last - LOST <= place <= max(self._last, await self._end_now()):
            place = self._last  # too much was missed, or the store is another one
            yield _encode(stream_beat("again", place)) + b"\n"
        else:
            yield _encode(stream_beat("beat", place)) + b"\n"
        while not self.is_over:
            news = self._news
            lines = await self._after(place)
            if lines:
                place = lines[-1].seq
                yield b"".join(line.text for line in lines)
                continue
            try:
                await asyncio.wait_for(news.wait(), HEARTBEAT)
            except TimeoutError:
                yield _encode(stream_beat("beat", place)) + b"\n"

    async def _after(self, place: int) -> list[_EventLine]:
        """The next lines after a position."""
        if place >= self._last:
            return []
        first = self._lines[0].seq if self._lines else self._last + 1
        if place + 1 >= first:
            behind = self._lines[-1].seq - place
            return [each for each in list(self._lines)[-behind:] if each.seq > place][:PAGE]
        return await self._asked(self._read, place)

    async def _look(self) -> bool:
        """Take in what is new; whether there is more."""
        try:
            found = await self._asked(self._read, self._last)
        except HooklineError:  # away, or nobody trusts the configuration now: it is tried again
            return False
        if found:
            self._lines.extend(found)
            self._last = found[-1].seq
            self._tell()
        return len(found) == PAGE

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def _end_now(self) -> int:
        with suppress(HooklineError):
            return await self._asked(self._end)
        return self._last

    async def _asked(self, ask: Callable[..., T], *given: int) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._one, partial(ask, *given))

    def _opened(self) -> App:
        if self._app is None:
            self._app = self._open()
        return self._app

    def _open_again(self) -> None:
        self._close()
        self._opened()

    def _close(self) -> None:
        if self._app is not None:
            self._app.close()
            self._app = None

    def _end(self) -> int:
        with self._opened().read() as view:
            return view.log.last()

    def _read(self, after: int) -> list[_EventLine]:
        with self._opened().read() as view:
            return [
                _EventLine(line.seq, _encode(line) + b"\n")
                for line in stream_lines(view, view.log.events(after=after, limit=PAGE))
            ]
