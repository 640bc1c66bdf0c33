"""Insights: statements that add up what the log says, put together from the parts they need."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookline.adapters.store.statements import Table, load
from hookline.domain.insights import PARTS, InsightRows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.domain.insights import Cell, Selection, Split

    Values = tuple[str | int | None, ...]

SQL = load("insights.sql")
_MARK = re.compile(r"\?(\d+)")
_OF_GATES = ("firings", "answers", "asked", "merges", "verdicts")
_OF_TASKS = (*_OF_GATES, "sessions", "turns", "iterations", "completions")
# What each table is made of: a part uses those before it.
_PARTS: Mapping[str, tuple[str, ...]] = {
    "tasks": _OF_TASKS,
    "first_time_right": _OF_TASKS,
    "states": ("moves", "stays"),
    "gates": _OF_GATES,
    "checks": (*_OF_GATES, "rules", "after_work", "decided"),
    "flaky": (*_OF_GATES, "rules", "decided"),
    "agents": _OF_TASKS,
}
# The values that every statement has.
_GIVEN = 5
# Facts are found once, however often they are split.
_FOUND_ONCE = "told"


class InsightTables(Table):
    """The tables of insights in one connection."""

    def rows(
        self, table: str, asked: Selection, now: str, splits: Sequence[Split]
    ) -> list[InsightRows]:
        select = SQL[table].strip().removeprefix("SELECT ")
        sql = f"{_facts(table, splits)}\nSELECT split, {select}"
        found = self._run(sql, _used(sql, _values(asked, now)))
        names = [column[0] for column in found.description][1:]
        rows: list[list[list[Cell]]] = [[] for _ in splits]
        for split, *cells in found.fetchall():
            rows[split].append(cells)
        return [InsightRows(names, each) for each in rows]

    def facts(
        self, table: str, asked: Selection, now: str, match: Mapping[str, str], limit: int
    ) -> InsightRows:
        values = (*_values(asked, now), *match.values(), limit)
        sql = f"{_facts(table, [()])}\nSELECT * FROM facts{_where(match)}"
        found = self._run(f"{sql} ORDER BY seq DESC LIMIT ?{len(values)}", values)
        rows: list[list[Cell]] = [list(row) for row in found.fetchall()]
        return InsightRows([column[0] for column in found.description], rows)

    def count(self, table: str, asked: Selection, now: str, match: Mapping[str, str]) -> int:
        sql = f"{_facts(table, [()])}\nSELECT count(*) FROM facts{_where(match)}"
        values = _used(sql, (*_values(asked, now), *match.values()))
        return int(self._run(sql, values).fetchone()[0])


def statement(table: str, asked: Selection, now: str) -> tuple[str, Values]:
    """What finds the rows of a table, split in one way, and its values."""
    sql = f"{_facts(table, [asked.by])}\n{SQL[table].strip()}"
    return sql, _used(sql, _values(asked, now))


def _facts(table: str, splits: Sequence[Split]) -> str:
    """The facts of a table, as what a statement begins with."""
    last = f"{table}_facts"
    parts = {part: SQL[part] for part in (*_PARTS[table], last, _FOUND_ONCE)}
    parts[_FOUND_ONCE] = parts[_FOUND_ONCE].replace("{facts}", last)
    parts["splits"] = " UNION ALL ".join(_split(*each) for each in enumerate(splits))
    parts["facts"] = SQL["facts"]
    return "WITH " + ",\n".join(
        f"{part} AS {'MATERIALIZED ' * (part == _FOUND_ONCE)}(\n{sql.strip()}\n)"
        for part, sql in parts.items()
    )


def _split(number: int, by: Split) -> str:
    flags = {part: int(part in by) for part in PARTS}
    return SQL["split"].strip().format(number=number, **flags)


def _where(match: Mapping[str, str]) -> str:
    """A condition on columns, of which the names are ours."""
    assert all(map(str.isidentifier, match))
    each = (f"CAST({name} AS TEXT) = ?{_GIVEN + n}" for n, name in enumerate(match, 1))
    return f" WHERE {' AND '.join(each)}" if match else ""


def _used(sql: str, values: Values) -> Values:
    """The values up to the last one that a statement uses."""
    return values[: max(int(number) for number in _MARK.findall(sql))]


def _values(asked: Selection, now: str) -> Values:
    return (asked.since, asked.until, asked.type, asked.agent, now)
