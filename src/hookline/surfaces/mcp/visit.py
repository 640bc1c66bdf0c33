"""One call of a tool: the project opened for it, who calls, and the hooks that wait afterwards."""

from __future__ import annotations

import asyncio
import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from hookline.app import App
from hookline.domain.text.display import visible
from hookline.operations.announcements import deliver_and_tell
from hookline.wiring.calling.retrying import retried

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.domain.hooks.records import Delivery

MAX_NAME = 60
PATIENCE = 10.0
_SESSION = ("HOOKLINE_SESSION", "HOOKLINE_RUN_ID", "HOOKLINE_TASK_ID")


class Visit(NamedTuple):
    """What a tool works with.

    `agent` is the profile that the server was started for, which a client cannot choose;
    `commands` is whether agents may have commands of their own run.
    """

    app: App
    agent: str | None = None
    commands: bool = True


def in_session(environ: Mapping[str, str]) -> bool:
    """Whether a server was started for the agent of a session."""
    return all(environ.get(name) for name in ("HOOKLINE_DIR", *_SESSION))


@contextmanager
def opened(environ: Mapping[str, str], client: str | None, *, commands: bool) -> Iterator[Visit]:
    """The project as it is now: configuration and trust may have changed since the last call."""
    with closing(App.open(environ=signed(environ, client))) as app:
        yield Visit(app, environ.get("HOOKLINE_AGENT"), commands)


def signed(environ: Mapping[str, str], client: str | None) -> Mapping[str, str]:
    """The environment in which the caller has a name: its session's agent, or what it says."""
    name = "".join(char for char in client or "" if char.isprintable())[:MAX_NAME].strip()
    if environ.get("HOOKLINE_AGENT") or not name:
        return environ
    return {**environ, "HOOKLINE_AGENT": name}


# The hooks that wait after a change


class Courier:
    """Delivers on behalf of all calls.

    One at a time: two deliveries of one process would take each other's for abandoned.
    """

    def __init__(self) -> None:
        self._one = asyncio.Lock()
        self._broken = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()

    async def deliver(self, environ: Mapping[str, str]) -> None:
        """Call the hooks that wait; the caller waits a while, slow hooks run in the background."""
        if self._broken.is_set():  # what is tried again delivers all that waits
            return
        task = asyncio.create_task(self._drain(environ))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        breaks = asyncio.ensure_future(self._broken.wait())
        await asyncio.wait((task, breaks), timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        breaks.cancel()

    async def close(self) -> None:
        """Stop; calls that were interrupted are made again by the next process."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _drain(self, environ: Mapping[str, str]) -> None:
        async def deliver() -> int:
            with closing(App.open(environ=environ)) as app:
                app.listen, app.tell = tell_failure, note
                return await deliver_and_tell(app)

        async with self._one:
            await retried(deliver, self._tell_trouble)
            self._broken.clear()

    def _tell_trouble(self, text: str) -> None:
        self._broken.set()
        note(text)


def tell_failure(row: Delivery) -> None:
    """Say that a call failed, to whoever reads the server's stderr."""
    if row.failure:
        note(row.failure)


def note(text: str) -> None:
    """Tell whoever reads the server's stderr."""
    print(f"hookline mcp: {visible(text)}", file=sys.stderr, flush=True)
