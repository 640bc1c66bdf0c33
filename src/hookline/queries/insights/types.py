"""Insights as every surface shows them."""

from __future__ import annotations

from typing import Literal

import msgspec

from hookline.domain.insights import Cell, Part

Unit = Literal["text", "count", "number", "percent", "usd", "ms", "seq"]


class InsightColumn(msgspec.Struct, rename="camel", frozen=True):
    """A column of a table, and what its cells are; money is in USD, a time in milliseconds."""

    name: str
    label: str
    unit: Unit


class Line(msgspec.Struct, rename="camel", frozen=True):
    """One line of a chart; a value is None where nothing is known."""

    label: str
    values: list[int | float | None]


class Chart(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A figure by week: `x` are the Mondays, in seconds since 1970, UTC.

    `left_out` is how many lines with smaller figures are not drawn.
    """

    figure: str
    label: str
    unit: Unit
    x: list[int]
    lines: list[Line]
    left_out: int = 0


class Advice(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A sentence of advice, and which facts of a table it is about."""

    text: str
    table: str
    match: dict[str, str] = {}


class InsightTable(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A table: each row has its newest event in the last column, and `sql` finds the rows.

    A cell is None where nothing is known.
    """

    name: str
    title: str
    about: str
    columns: list[InsightColumn]
    rows: list[list[Cell]]
    charts: list[Chart]
    advice: list[Advice]
    sql: str


class Insights(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """What the log says about how work goes, from one moment to another."""

    since: str | None
    until: str
    type: str | None
    agent: str | None
    by: tuple[Part, ...]
    tables: list[InsightTable]


class InsightFacts(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """The newest facts behind a figure, and how many there are in all.

    Each has its event in `seq`, and the `task` and, where one is known, the `run` that it is about.
    """

    table: str
    columns: list[InsightColumn]
    rows: list[list[Cell]]
    total: int
