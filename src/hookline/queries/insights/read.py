"""Reading insights: each table with its charts, its advice and its statement; and its facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.insights import PARTS, Selection
from hookline.errors import BadInput
from hookline.queries.insights.advice import advice
from hookline.queries.insights.charts import charts
from hookline.queries.insights.tables import SPECS, TABLES, check_tables, column
from hookline.queries.insights.types import InsightFacts, Insights, InsightTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.app import App
    from hookline.domain.insights import Part, Split
    from hookline.ports.store import View

EVERYTHING = Selection()
# How facts are split, which their own columns say as well.
SPLIT = ("split", "in_week", "of_type", "of_agent", "by_agent")


def insights(
    app: App, selection: Selection = EVERYTHING, tables: Sequence[str] = TABLES
) -> Insights:
    """What the log says about how work goes."""
    check_tables(tables)
    now = app.store.now()
    with app.read() as view:
        found = [_table(app, view, name, selection, now) for name in tables]
    return Insights(
        since=selection.since,
        until=selection.until or now,
        type=selection.type,
        agent=selection.agent,
        by=selection.by,
        tables=found,
    )


def insight_facts(
    app: App,
    table: str,
    selection: Selection = EVERYTHING,
    match: Mapping[str, str] | None = None,
    limit: int = 200,
) -> InsightFacts:
    """The newest facts behind a table, those whose columns have the values of `match`."""
    check_tables([table])
    name, now, wanted = _stored(table), app.store.now(), match or {}
    with app.read() as view:
        known = view.insights.facts(name, selection, now, {}, 0).columns
        for each in wanted:
            if each not in known:
                help = f"there are {', '.join(known)}"
                raise BadInput(f"no fact of '{table}' has a column '{each[:80]}'", help=help)
        found = view.insights.facts(name, selection, now, wanted, limit)
        total = view.insights.count(name, selection, now, wanted)
    kept = [place for place, each in enumerate(found.columns) if each not in SPLIT]
    return InsightFacts(
        table=table,
        columns=[column(found.columns[place]) for place in kept],
        rows=[[row[place] for place in kept] for row in found.rows],
        total=total,
    )


def _table(app: App, view: View, name: str, selection: Selection, now: str) -> InsightTable:
    spec = SPECS[name]
    # To compare agents is what their table is for.
    least: Split = ("agent",) if spec.line == "agent" else ()
    asked = msgspec.structs.replace(selection, by=_in_order(*selection.by, *least))
    splits = [asked.by, _in_order("week", *least), least]
    found, by_week, whole = view.insights.rows(_stored(name), asked, now, splits)
    return InsightTable(
        name=name,
        title=spec.title,
        about=spec.about,
        columns=[column(each) for each in found.columns],
        rows=found.rows,
        charts=charts(name, by_week),
        advice=advice(name, whole),
        sql=app.store.insight_statement(_stored(name), asked, now),
    )


def _in_order(*parts: Part) -> Split:
    return tuple(part for part in PARTS if part in parts)


def _stored(table: str) -> str:
    return table.replace("-", "_")
