"""Figures by week, ready to be drawn."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from hookline.domain.tasks import shown_state
from hookline.queries.insights.tables import SPECS, column
from hookline.queries.insights.types import Chart, Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.insights import Cell, InsightRows

# So many lines can be told apart, and so many weeks.
MOST_LINES, MOST_WEEKS = 8, 520
ALL = "all"


def charts(table: str, found: InsightRows) -> list[Chart]:
    """The charts of a table whose rows are split by week."""
    spec = SPECS[table]
    weeks = _weeks([str(week) for week in found.column("week")])
    cells: Sequence[Cell] = [ALL] * len(found.rows)
    named = shown_state if spec.line == "state" else str
    labels = [named(str(cell)) for cell in (found.column(spec.line) if spec.line else cells)]
    return [_chart(figure, found, weeks, labels) for figure in spec.charts]


def _chart(figure: str, found: InsightRows, weeks: list[str], labels: list[str]) -> Chart:
    about, known = column(figure), found.column(figure)
    sums: dict[str, dict[str, int | float | None]] = {}
    for label, week, cell in zip(labels, found.column("week"), known, strict=True):
        assert not isinstance(cell, str)  # a figure
        line = sums.setdefault(label, {})
        line[str(week)] = _added(line.get(str(week)), cell)
    # Nothing happened, or there is nothing to divide by.
    empty = 0 if about.unit in ("count", "ms") else None
    lines = [Line(label, [line.get(week, empty) for week in weeks]) for label, line in sums.items()]
    lines.sort(key=lambda each: (-sum(value or 0 for value in each.values), each.label))
    return Chart(
        figure=figure,
        label=about.label,
        unit=about.unit,
        x=[_seconds(week) for week in weeks],
        lines=lines[:MOST_LINES],
        left_out=max(len(lines) - MOST_LINES, 0),
    )


def _added(before: int | float | None, more: int | float | None) -> int | float | None:
    return more if before is None else before + (more or 0)


def _weeks(found: list[str]) -> list[str]:
    """Every week from the first to the last one, or the newest of them."""
    if not found:
        return []
    last = date.fromisoformat(max(found))
    first = max(date.fromisoformat(min(found)), last - timedelta(weeks=MOST_WEEKS - 1))
    return [(first + timedelta(weeks=n)).isoformat() for n in range((last - first).days // 7 + 1)]


def _seconds(week: str) -> int:
    return int(datetime.fromisoformat(week).replace(tzinfo=UTC).timestamp())
