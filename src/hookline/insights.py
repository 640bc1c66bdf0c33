"""How work goes, for programs: the tables that `hookline insights` and the page show.

    from hookline import App
    from hookline.insights import Selection, insights

    with closing(App.open(".", read_only=True)) as app:
        found = insights(app, Selection(since="2026-01-01T00:00:00.000Z", by=("week",)))

Moments are UTC, as in the log. `insight_facts` has the rows behind a figure, each with its event.
"""

from __future__ import annotations

from hookline.domain.insights import Selection
from hookline.queries.insights.csv import csv_of_all, csv_text
from hookline.queries.insights.read import insight_facts, insights
from hookline.queries.insights.tables import TABLES
from hookline.queries.insights.types import (
    Advice,
    Chart,
    InsightColumn,
    InsightFacts,
    Insights,
    InsightTable,
    Line,
)

__all__ = [
    "TABLES",
    "Advice",
    "Chart",
    "InsightColumn",
    "InsightFacts",
    "InsightTable",
    "Insights",
    "Line",
    "Selection",
    "csv_of_all",
    "csv_text",
    "insight_facts",
    "insights",
]
