"""Being woken by a PostgreSQL server: a thread listens, and pokes whoever waits here."""

from __future__ import annotations

import os
import select
import threading
from contextlib import suppress
from typing import Any

import psycopg

from hookline.adapters.store.postgres.database import channel_of
from hookline.adapters.store.postgres.server import OPTIONS

# How often those who wait look for themselves if nobody tells them.
POLL = 1.0
LONGEST = 4.0
# What happens so soon after something else is told together: many machines look at each change.
GAP = 0.1


class ServerWaker:
    """Waits until something may have been stored."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._mine, self._its = os.pipe()
        os.set_blocking(self._mine, False)
        os.set_blocking(self._its, False)
        listener.add(self)

    def __enter__(self) -> ServerWaker:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def fileno(self) -> int:
        """What an event loop can watch, whatever becomes of the connection."""
        return self._mine

    def wait(self, timeout: float | None = None) -> bool:
        """Return when there may be news, or False when the time is over."""
        seconds = LONGEST if timeout is None else min(timeout, LONGEST)
        ready, _, _ = select.select([self._mine], [], [], seconds)
        if ready:
            os.read(self._mine, 1 << 16)
        return bool(ready) or timeout is None or timeout > LONGEST

    def poke(self) -> None:
        """There may be news; who was told so already is not told twice."""
        with suppress(OSError):
            os.write(self._its, b"!")

    def close(self) -> None:
        """Nobody waits any more."""
        if self._listener.forget(self):
            os.close(self._mine)
            os.close(self._its)


class Listener:
    """A thread with its own connection; if that is lost, it pokes until there is another."""

    def __init__(self, url: str, project: int) -> None:
        self._url = url
        self._channel = channel_of(project)
        self._wakers: set[ServerWaker] = set()
        self._lock = threading.Lock()
        self._ended, self._end = os.pipe()
        self._thread = threading.Thread(target=self._run, daemon=True, name="listener")
        self._thread.start()

    def add(self, waker: ServerWaker) -> None:
        """Poke it from now on."""
        with self._lock:
            self._wakers.add(waker)

    def forget(self, waker: ServerWaker) -> bool:
        """Leave it alone; False if it was left alone before."""
        with self._lock:
            if waker not in self._wakers:
                return False
            self._wakers.discard(waker)
            return True

    def close(self) -> None:
        """Let go of the connection."""
        os.close(self._end)
        self._thread.join()
        os.close(self._ended)

    def _run(self) -> None:
        while True:
            try:
                with psycopg.connect(self._url, **OPTIONS) as connection:
                    if is_direct(connection):
                        connection.execute(f"LISTEN {self._channel}".encode())
                        self._poke()
                        if not self._listen(connection):
                            return
            except psycopg.Error:  # whoever waits looks for themselves meanwhile
                pass
            self._poke()
            if self._is_over(POLL):
                return

    def _listen(self, connection: psycopg.Connection[Any]) -> bool:
        """Poke as often as the server tells something; False when the end has come."""
        handles = [connection.fileno(), self._ended]
        while True:
            ready, _, _ = select.select(handles, [], [])
            if self._ended in ready:
                return False
            connection.pgconn.consume_input()
            while connection.pgconn.notifies():
                pass
            self._poke()
            if self._is_over(GAP):
                return False

    def _is_over(self, seconds: float) -> bool:
        return bool(select.select([self._ended], [], [], seconds)[0])

    def _poke(self) -> None:
        with self._lock:
            for waker in self._wakers:
                waker.poke()


def is_direct(connection: psycopg.Connection[Any]) -> bool:
    """Whether no pooler is in between, which would give what is told to someone else."""
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    return row is not None and row[0] == connection.info.backend_pid
