"""How long a server that is away is waited for; a person can end the wait at any moment."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hookline.errors import WaitEnded

if TYPE_CHECKING:
    from collections.abc import Iterator

# Shorter than the lease of a host: turns end here before they are taken over elsewhere.
PATIENCE = 50.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Patience:
    """For all connections of one store: once a wait was ended, none of them waits any more."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = PATIENCE if seconds is None else seconds
        self._is_over = False

    @contextmanager
    def waiting(self, place: str) -> Iterator[None]:
        """Signals end what is inside at once; whoever hears them otherwise hears them first."""
        if self._is_over:
            raise WaitEnded(_told(place))
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before: dict[int, Any] = {each: signal.getsignal(each) for each in _SIGNALS}

        def heard(number: int, frame: object) -> None:
            self._is_over = True
            before[number](number, frame)
            raise WaitEnded(_told(place))

        heard_by = {number: answer for number, answer in before.items() if callable(answer)}
        for number in heard_by:
            signal.signal(number, heard)
        try:
            yield
        finally:
            for number, answer in heard_by.items():
                if signal.getsignal(number) is heard:  # whoever heard it may have set another one
                    signal.signal(number, answer)


def _told(place: str) -> str:
    return f"told to end while {place} was waited for"
