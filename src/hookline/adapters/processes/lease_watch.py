"""What a reaper does about leases on a server: nobody else can see whether their holder works.

Loaded in the reaper's own process, and only where the store is on a server.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.processes.identity import is_stopped
from hookline.domain.timestamps import elapsed
from hookline.errors import HooklineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.adapters.store.postgres.store import PostgresStore

# A process that is stopped for so long has lost its leases, as by SIGSTOP or ^Z.
LONGEST_STOP = 1.0
# How long before the end of the leases everything is ended: asked first, and then killed.
MARGIN = 3.0
LOOK_AGAIN, TRY_AGAIN = 0.2, 0.2


class LeaseTerms(msgspec.Struct, frozen=True):
    """Whose leases they are, in which store, and how long each lasts."""

    url: str
    owner: str
    pid: int
    lease: float


class LeaseWatch:
    """Ends what a process has started before others may take its leases, and gives them back.

    That is when it was stopped, and when no renewal was acknowledged in time. Its death is heard
    of elsewhere: then `give_back` is called. `end` ends what it has started, and returns when
    nothing of it is left.
    """

    def __init__(self, terms: LeaseTerms, end: Callable[[], None]) -> None:
        self._terms, self._end = terms, end
        # When they were last renewed; None while there are none.
        self._renewed: float | None = None
        self._store: PostgresStore | None = None
        self._connection = threading.RLock()
        for work in (self._connect, self._watch):
            threading.Thread(target=work, daemon=True, name="leases").start()

    def renewed(self, sent: float) -> None:
        """A renewal that was sent at a time, as `elapsed` has it, was acknowledged."""
        self._renewed = sent

    def rest(self) -> None:
        """There are no leases any more."""
        self._renewed = None

    def give_back(self) -> None:
        """Give back all leases, unless they are over before that is possible.

        Also those that were renewed meanwhile: what was started under them has been ended.
        """
        deadline = elapsed() + self._terms.lease
        while self._renewed is not None and elapsed() < deadline:
            with self._connection, suppress(HooklineError), self._opened().write({}) as tx:
                tx.hosts.give_back(self._terms.owner)
                return
            time.sleep(TRY_AGAIN)

    def _connect(self) -> None:
        """Being connected, it can give back at once."""
        with suppress(HooklineError):
            self._opened()

    def _opened(self) -> PostgresStore:
        """The store; a connection that was lost is made again by itself."""
        from hookline.adapters.store.postgres.store import PostgresStore  # slow to load

        with self._connection:
            if self._store is None:
                self._store = PostgresStore(self._terms.url)
            return self._store

    def _watch(self) -> None:
        stopped_since: float | None = None
        while True:
            time.sleep(LOOK_AGAIN)
            now = elapsed()
            if self._renewed is None or not self._is_stopped():
                stopped_since = None
            elif stopped_since is None:
                stopped_since = now
            is_lost = stopped_since is not None and now > stopped_since + LONGEST_STOP
            if is_lost or self._is_late():
                self._end()
                self.give_back()
                while self._is_stopped() or self._is_late():
                    time.sleep(LOOK_AGAIN)

    def _is_stopped(self) -> bool:
        return is_stopped(self._terms.pid)

    def _is_late(self) -> bool:
        """Whether the leases will soon be over; a machine that slept may find that they are."""
        renewed = self._renewed
        return renewed is not None and elapsed() > renewed + self._terms.lease - MARGIN
