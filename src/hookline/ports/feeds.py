"""What happens, for those who watch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from contextlib import AbstractContextManager

    from hookline.domain.hooks.records import Delivery
    from hookline.files import Removed


# What was told about a run, as it was written: its `timestamp`, its `type` and its `data`.
FeedRecord = Mapping[str, Any]
# The type of the record that rings the bell of those who watch; its data says who rang.
BELL = "bell"


class FeedReader(Protocol):
    """One session's feed, read as it grows."""

    def new(self) -> Iterator[FeedRecord]:
        """What was told since the last time."""


class Waker(Protocol):
    """Learning that something may have been written to a folder."""

    def wait(self, timeout: float | None = None) -> bool:
        """Return when there may be news, or False when the time is over."""


class Wakeup(Protocol):
    """Learning that something may have been stored, inside an event loop."""

    async def wait(self, timeout: float) -> bool:
        """Return when something may have been stored, or the time is over."""

    def close(self) -> None:
        """Nobody waits any more."""


class CallLog(Protocol):
    """The log of hook calls that a person can tail."""

    def write(self, rows: Sequence[Delivery]) -> None:
        """Add these calls."""

    def close(self) -> None:
        """Let go of the file."""


class Feeds(Protocol):
    """What happens in sessions, and that something happened at all.

    The store is the truth; this is the way to see it happen, from this process or another.
    """

    def of(self, run_id: str) -> Callable[[str, dict[str, Any]], None]:
        """What tells those who watch a run."""

    def reader(self, run_id: str, *, tail: int | None = None) -> FeedReader:
        """Read what is reported about a run; `tail`: bytes from its end to begin at."""

    def sweep(self, run_ids: Collection[str], *, dry: bool = False) -> Removed:
        """Remove what was told about these runs."""

    def waker(self, folder: str | None = None) -> AbstractContextManager[Waker]:
        """What waits for writes to the store, or to another folder."""

    def wakeup(self, folder: str | None = None) -> Wakeup:
        """What waits for writes to the store, or to another folder, inside an event loop."""

    def close(self) -> None:
        """Nobody tells or watches any more."""
