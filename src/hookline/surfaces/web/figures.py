"""Figures: insights as tables and as facts, and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.queries.insights.csv import csv_text
from hookline.queries.insights.read import insight_facts, insights
from hookline.queries.insights.selecting import Wished, selected
from hookline.queries.insights.tables import TABLES
from hookline.queries.telemetry.prometheus import prometheus_text
from hookline.surfaces.web import given as g
from hookline.surfaces.web.asked import matched

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.domain.insights import Selection
    from hookline.queries.insights.types import InsightFacts, Insights
    from hookline.surfaces.web.asked import PageRequest


def _insights(asked: PageRequest) -> Insights:
    wanted = asked.given(g.InsightsWanted)
    tables = (wanted.table,) if wanted.table is not None else TABLES
    return insights(asked.app, _selection(asked, wanted), tables)


def _insight_facts(asked: PageRequest) -> InsightFacts:
    wanted = asked.given(g.InsightFactsWanted)
    match, table = matched(wanted.match), asked.parts["table"]
    return insight_facts(asked.app, table, _selection(asked, wanted), match, wanted.limit)


def _insight_csv(asked: PageRequest) -> str:
    chosen = _selection(asked, asked.given(g.InsightsWanted))
    return csv_text(insights(asked.app, chosen, (asked.parts["table"],)).tables[0])


def _selection(asked: PageRequest, wanted: g.InsightsWanted) -> Selection:
    moments = wanted.since, wanted.until
    wished = Wished(*moments, wanted.type, wanted.agent, wanted.by or "")
    return selected(wished, asked.app.store.now())


def _metrics(asked: PageRequest) -> str:
    return prometheus_text(asked.figures.read(asked.app))


FIGURES: Mapping[str, Callable[[PageRequest], Any]] = {
    "insights": _insights,
    "insight_facts": _insight_facts,
    "insight_csv": _insight_csv,
    "metrics": _metrics,
}
