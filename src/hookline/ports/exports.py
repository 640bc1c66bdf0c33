"""Where telemetry is sent from: how far it has come, and who takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hookline.domain.hooks.records import Delivery
    from hookline.domain.telemetry import ExportPosition, Figure, Span


class Exports(Protocol):
    """How far each exporter has come; perishable, and not in the log."""

    def all(self) -> list[ExportPosition]:
        """Every exporter that ever sent something, by name."""

    def find(self, name: str) -> ExportPosition | None:
        """One of them; None if it never did."""

    def begin(self, name: str, seq: int) -> None:
        """Send what comes after a position in the log, whatever was sent before."""

    def take(self, name: str, owner: str, token: int, until: float) -> None:
        """A process sends from now on."""

    def let_go(self, name: str, token: int) -> None:
        """It does not any more."""

    def arrived(self, position: ExportPosition, sent: int, rejected: int, at: float) -> bool:
        """Spans arrived; False if another process sends by now, and nothing was changed."""

    def failed(self, position: ExportPosition, error: str, next_try: float) -> None:
        """Nothing could be sent."""

    def leave_open(self, name: str, deliveries: Collection[int]) -> None:
        """Calls whose place is passed and that are not over."""

    def close(self, name: str, deliveries: Collection[int]) -> None:
        """They are over, and were sent."""

    def open_calls(self, name: str) -> int:
        """How many calls are waited for."""

    def perhaps_over(self, name: str, after: int, limit: int) -> list[Delivery]:
        """Those of them that wait for nothing, by number."""

    def task_states(self) -> dict[str, int]:
        """How many tasks there are in each state."""

    def call_counts(self) -> list[tuple[str, str, str, str, int, int]]:
        """(hook, kind, point, status, count, microseconds) of all calls."""

    def calls_after(self, delivery: int, limit: int) -> list[Delivery]:
        """Calls in the order in which they were recorded."""


class Taken(msgspec.Struct, frozen=True):
    """What a collector says: how many of the spans it refused, and why."""

    rejected: int = 0
    message: str = ""


class NotTaken(Exception):
    """A collector took nothing; `is_ours` if the same would be refused again."""

    def __init__(self, message: str, *, is_ours: bool = False) -> None:
        super().__init__(message)
        self.is_ours = is_ours


class Collector(Protocol):
    """Whoever takes telemetry."""

    async def spans(self, spans: Sequence[Span]) -> Taken:
        """Send spans; NotTaken if they did not arrive."""

    async def figures(self, figures: Sequence[Figure], since: float, now: float) -> Taken:
        """Send figures; counters count from `since`."""
