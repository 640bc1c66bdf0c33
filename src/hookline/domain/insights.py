"""What insights are asked for, and what the store answers."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from hookline.immutable import Immutable

Part = Literal["week", "type", "agent"]
Split: TypeAlias = tuple[Part, ...]
PARTS: Split = ("week", "type", "agent")
Cell: TypeAlias = str | int | float | None


class Selection(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """Which facts count, and how they are split: `by` nothing, they are counted together.

    `since` and `until` are moments; the first one is included, the last one is not. Without them,
    everything counts that there is. A task counts to the agent that took it last.
    """

    since: str | None = None
    until: str | None = None
    type: str | None = None
    agent: str | None = None
    by: Split = ()


class InsightRows(Immutable):
    """The rows that a statement finds, and their columns."""

    columns: list[str]
    rows: list[list[Cell]]

    def column(self, name: str) -> list[Cell]:
        """The cells of one column."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]
