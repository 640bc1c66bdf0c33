"""Insights for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.tasks import shown_state
from hookline.domain.text.terminal import one_line, padded, took, width
from hookline.surfaces.cli.output import paint, say, untrusted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookline.domain.insights import Cell
    from hookline.queries.insights.types import InsightColumn, InsightFacts, InsightTable

UNKNOWN, NONE = "-", "nothing yet"
LONGEST = 60
# How many rows of a table are shown; programs get all of them.
MOST = 20
_SPLIT = ("week", "type", "agent")


def show_table(table: InsightTable) -> None:
    """A table with its advice; columns that say nothing are left out."""
    say(paint(table.title, "bold"))
    if not table.rows:
        say(f"  {NONE}")
    else:
        _show(table.columns, table.rows[:MOST])
    if (more := len(table.rows) - MOST) > 0:
        say(paint(f"  {more} more: hookline insights {table.name} --csv", "dim"))
    for each in table.advice:
        say(f"  {paint('→', 'yellow')} {untrusted(each.text)}")


def show_facts(found: InsightFacts) -> None:
    """The rows behind a figure."""
    if found.rows:
        _show(found.columns, found.rows)
    else:
        say(NONE)
    if (more := found.total - len(found.rows)) > 0:
        say(paint(f"  {more} older ones are not shown", "dim"))


def _show(columns: Sequence[InsightColumn], rows: Sequence[Sequence[Cell]]) -> None:
    places = [place for place, column in enumerate(columns) if _says(column, place, rows)]
    head = [columns[place].label for place in places]
    lines = [[_text(columns[place], row[place]) for place in places] for row in rows]
    widths = [max(map(width, cells)) for cells in zip(head, *lines, strict=True)]
    is_text = [columns[place].unit == "text" for place in places]
    for number, cells in enumerate((head, *lines)):
        line = "  ".join(map(_aligned, cells, widths, is_text)).rstrip()
        say(f"  {line if number else paint(line, 'dim')}")


def _says(column: InsightColumn, place: int, rows: Sequence[Sequence[Cell]]) -> bool:
    """Whether a column is shown: not one that the rows are not split by."""
    return column.name not in _SPLIT or any(row[place] for row in rows)


def _aligned(text: str, columns: int, is_text: bool) -> str:
    return padded(text, columns) if is_text else " " * (columns - width(text)) + text


def _text(column: InsightColumn, cell: Cell) -> str:
    if cell is None or cell == "":
        return UNKNOWN
    if isinstance(cell, str):
        return one_line(shown_state(cell) if column.name == "state" else cell)[:LONGEST]
    return _FORMS.get(column.unit, "{:,}".format)(cell)


_FORMS: Mapping[str, Callable[[int | float], str]] = {
    "usd": "${:,.2f}".format,
    "number": "{:,.1f}".format,
    "percent": "{:.0f}%".format,
    "ms": lambda ms: took(ms / 1000),
    "seq": str,
}
