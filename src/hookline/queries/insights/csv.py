"""Insights as comma-separated values."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hookline.domain.insights import Cell
    from hookline.queries.insights.types import InsightFacts, InsightTable

# What a spreadsheet would take for a formula.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def csv_text(table: InsightTable | InsightFacts) -> str:
    """One table, with its columns as they are named in its statement."""
    names = [column.name for column in table.columns]
    return _written([names, *table.rows])


def csv_of_all(tables: Sequence[InsightTable]) -> str:
    """Several tables: a line for each figure, behind what it is about."""
    head: list[Cell] = ["table", "week", "type", "agent", "about", "figure", "value"]
    return _written([head, *(line for table in tables for line in _lines(table))])


def _lines(table: InsightTable) -> Iterator[list[Cell]]:
    texts = [place for place, column in enumerate(table.columns) if column.unit == "text"]
    for row in table.rows:
        about = " ".join(str(row[place]) for place in texts[3:])
        for column, cell in zip(table.columns, row, strict=True):
            if column.unit != "text":
                yield [table.name, *row[:3], about, column.name, cell]


def _written(rows: Iterable[Sequence[Cell]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_safe, rows))
    return text.getvalue()


def _safe(row: Sequence[Cell]) -> list[Cell]:
    return [
        f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULAS) else cell for cell in row
    ]
