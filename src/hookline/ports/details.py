"""What is kept of finished work besides the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hookline.domain.hooks.records import Prunable
    from hookline.domain.runs.model import RunOutline


class Details(Protocol):
    """What hooks saw and printed, and what was told to agents: the log does not need it."""

    def runs(self) -> Iterator[RunOutline]:
        """Every run in a few words, the oldest first."""

    def prunable(self, after: int, until: int, limit: int) -> list[Prunable]:
        """Events after a place and up to another whose hooks are all over, in order."""

    def remove(self, event_seqs: Sequence[int]) -> None:
        """Remove what the hooks of these events saw, printed and told; what they decided stays."""

    def of_run(self, identifier: str) -> int:
        """How many bytes the store has of a run that the log has too: all but its last chapter."""

    def remove_of_run(self, identifier: str, limit: int) -> bool:
        """Remove that, so many effects at a time; whether nothing is left."""

    def blobs_but_of(self, runs: Iterable[str], event_seqs: Sequence[int]) -> set[str]:
        """The names of all blobs that anything needs but these runs and the hooks of events."""
