"""The tables of insights: what each counts, what its columns are called, what is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.errors import BadInput
from hookline.immutable import Immutable
from hookline.queries.insights.types import InsightColumn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.queries.insights.types import Unit


class TableSpec(Immutable):
    """What a table is called and counts; `key` is what its rows are about besides the split.

    `charts` are the figures that are drawn by week, with a line for each value of `line`.
    """

    title: str
    about: str
    charts: tuple[str, ...]
    key: tuple[str, ...] = ()
    line: str | None = None


SPECS: Mapping[str, TableSpec] = {
    "tasks": TableSpec(
        "Iterations and cost per completed task",
        "Tasks that were completed after a session worked on them, with everything that was done"
        " for each: failed sessions, reviews and fixes included. A turn without a price adds no"
        " cost; such turns are counted.",
        ("tasks", "iterations_per_task", "usd_per_task"),
    ),
    "first-time-right": TableSpec(
        "First time right",
        "Completed tasks whose work gates checked, and those whose first submission passed every"
        " gate. What tests the merged result is the gate `merge`.",
        ("percent", "tasks"),
    ),
    "states": TableSpec(
        "Time in each state",
        "How long tasks were in each state; a state that lasts is counted until now.",
        ("ms",),
        ("state",),
        "state",
    ),
    "gates": TableSpec(
        "Which gate rejects what",
        "Verdicts of gates on work that was submitted. A gate that broke has not checked the work;"
        " one that was skipped does not count. The first verdict of a gate on a task's first"
        " submission is counted as well.",
        ("rejected", "asked"),
        ("gate", "point"),
        "gate",
    ),
    "checks": TableSpec(
        "Checks that catch regressions",
        "Results of validation rules, of the programs at post_iteration and stop, and of gates. A"
        " regression is a failure after a pass in the same session or submission.",
        ("regressions", "failed"),
        ("name", "kind"),
        "name",
    ),
    "flaky": TableSpec(
        "Flaky checks",
        "Commands of validation rules and gates that passed and failed on the same files.",
        ("failed",),
        ("name", "kind", "command"),
        "name",
    ),
    "agents": TableSpec(
        "Agents side by side",
        "What each agent did. A completed task counts to the agent that took it last, a turn to"
        " the agent that took it, in any role.",
        ("tasks", "usd"),
        (),
        "agent",
    ),
}
TABLES = tuple(SPECS)

_TEXTS = "week type agent state gate point name kind command task run verdict files at"
_LABELS = {
    "iterations_per_task": "iterations each",
    "usd": "cost",
    "usd_per_task": "cost each",
    "unpriced_turns": "turns without a price",
    "first_time_right": "first time right",
    "percent": "share",
    "ms": "time",
    "first_asked": "first submissions",
    "first_rejected": "of them rejected",
    "name": "check",
    "trees": "states of files",
    "failed_iterations": "failed iterations",
    "latest": "latest event",
    "seq": "event",
}
_UNITS: Mapping[str, Unit] = {
    **dict.fromkeys(_TEXTS.split(), "text"),
    **dict.fromkeys(("usd", "usd_per_task"), "usd"),
    **dict.fromkeys(("latest", "seq"), "seq"),
    "iterations_per_task": "number",
    "percent": "percent",
    "ms": "ms",
}


def column(name: str) -> InsightColumn:
    """What a column of the store's is."""
    return InsightColumn(name, _LABELS.get(name, name.replace("_", " ")), _UNITS.get(name, "count"))


def check_tables(names: Sequence[str]) -> None:
    """Refuse a table that does not exist."""
    for name in names:
        if name not in SPECS:
            help = f"there are {', '.join(TABLES)}"
            raise BadInput(f"there is no table '{name[:80]}' of insights", help=help)
