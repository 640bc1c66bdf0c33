"""Insights: statements that add up what the log says, put together from the parts they need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.adapters.store.statements import Table, load
from hookline.domain.insights import InsightRows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.domain.insights import Cell, Selection

    Values = tuple[str | int | None, ...]

SQL = load("insights.sql")
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
_GIVEN = 8


class InsightTables(Table):
    """The tables of insights in one connection."""

    def rows(self, table: str, asked: Selection, now: str) -> InsightRows:
        return self._found(*statement(table, asked, now))

    def facts(
        self, table: str, asked: Selection, now: str, match: Mapping[str, str], limit: int
    ) -> InsightRows:
        values = (*_values(asked, now), *match.values(), limit)
        sql = f"{_facts(table)}\nSELECT * FROM facts{_where(match)}"
        return self._found(f"{sql} ORDER BY seq DESC LIMIT ?{len(values)}", values)

    def count(self, table: str, asked: Selection, now: str, match: Mapping[str, str]) -> int:
        sql = f"{_facts(table)}\nSELECT count(*) FROM facts{_where(match)}"
        return int(self._run(sql, (*_values(asked, now), *match.values())).fetchone()[0])

    def _found(self, sql: str, values: Values) -> InsightRows:
        found = self._run(sql, values)
        rows: list[list[Cell]] = [list(row) for row in found.fetchall()]
        return InsightRows([column[0] for column in found.description], rows)


def statement(table: str, asked: Selection, now: str) -> tuple[str, Values]:
    """What finds the rows of a table, and its values."""
    return f"{_facts(table)}\n{SQL[table].strip()}", _values(asked, now)


def _facts(table: str) -> str:
    """The facts of a table, as what a statement begins with."""
    last = f"{table}_facts"
    parts = {part: SQL[part] for part in (*_PARTS[table], last, "told", "facts")}
    parts["told"] = parts["told"].replace("{facts}", last)
    return "WITH " + ",\n".join(f"{part} AS (\n{sql.strip()}\n)" for part, sql in parts.items())


def _where(match: Mapping[str, str]) -> str:
    """A condition on columns, of which the names are ours."""
    assert all(map(str.isidentifier, match))
    each = (f"CAST({name} AS TEXT) = ?{_GIVEN + n}" for n, name in enumerate(match, 1))
    return f" WHERE {' AND '.join(each)}" if match else ""


def _values(asked: Selection, now: str) -> Values:
    split = (int(part in asked.by) for part in ("week", "type", "agent"))
    return (asked.since, asked.until, asked.type, asked.agent, now, *split)
