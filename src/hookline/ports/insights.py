"""What the store adds up about how work goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.domain.insights import InsightRows, Selection, Split


class InsightQueries(Protocol):
    """Tables over the log, and the facts that they add up, each with its event."""

    def rows(
        self, table: str, asked: Selection, now: str, splits: Sequence[Split]
    ) -> list[InsightRows]:
        """The rows of a table, split in each of these ways; what has not ended lasts until now."""

    def facts(
        self, table: str, asked: Selection, now: str, match: Mapping[str, str], limit: int
    ) -> InsightRows:
        """The newest facts behind a table, those whose columns have these values."""

    def count(self, table: str, asked: Selection, now: str, match: Mapping[str, str]) -> int:
        """How many of these facts there are."""
