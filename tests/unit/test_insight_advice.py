"""Advice: only where a rule of thumb applies, and only with figures of the table."""

from __future__ import annotations

from typing import Any

import pytest

from hookline.domain.insights import InsightRows
from hookline.queries.insights.advice import advice
from hookline.queries.insights.charts import MOST_LINES, charts
from hookline.queries.insights.csv import csv_of_all, csv_text
from hookline.queries.insights.tables import SPECS, TABLES, column
from hookline.queries.insights.types import InsightTable

GATE = {"gate": "changelog", "point": "before_submit", "asked": 31, "rejected": 17, "broke": 0}
GATE |= {"first_asked": 20, "first_rejected": 14}
TASKS: dict[str, Any] = {"tasks": 10, "iterations_per_task": 6.25, "turns": 40, "unpriced_turns": 0}
CHECK: dict[str, Any] = {"name": "lint", "kind": "rule", "results": 50, "failed": 0}
ADA: dict[str, Any] = {"agent": "ada", "tasks": 10, "checked": 10, "first_time_right": 8}
ADA |= {"usd": 4.0, "unpriced_turns": 0}
BO = {**ADA, "agent": "bo", "tasks": 5, "first_time_right": 5, "usd": 6.0}


def found(*rows: dict[str, Any]) -> InsightRows:
    return InsightRows(list(rows[0]), [list(row.values()) for row in rows])


def said(table: str, *rows: dict[str, Any]) -> list[str]:
    return [each.text for each in advice(table, found(*rows))]


def test_a_gate_that_rejects_most_first_submissions() -> None:
    (told,) = advice("gates", found(GATE))
    assert told.text == (
        "`changelog` rejected 14 of 20 first submissions: tell the agent before what it asks for"
    )
    about = {"gate": "changelog", "point": "before_submit", "verdict": "rejected", "is_first": "1"}
    assert (told.table, told.match) == ("gates", about)


@pytest.mark.parametrize(
    "row", [{**GATE, "first_rejected": 9}, {**GATE, "first_asked": 4, "first_rejected": 4}]
)
def test_a_gate_that_rejects_few_or_was_asked_rarely(row: dict[str, Any]) -> None:
    assert said("gates", row) == []


def test_a_gate_that_often_breaks() -> None:
    broken = {**GATE, "first_rejected": 0, "asked": 10, "broke": 2}
    (text,) = said("gates", broken)
    assert text.startswith("`changelog` could not check the work 2 of 10 times")
    assert said("gates", {**broken, "broke": 1}) == []


def test_many_iterations_and_turns_without_a_price() -> None:
    (text,) = said("tasks", TASKS)
    assert text.startswith("a completed task took 6.2 iterations")
    assert said("tasks", {**TASKS, "iterations_per_task": 4.9}) == []
    (text,) = said("tasks", {**TASKS, "tasks": 1, "unpriced_turns": 3})
    assert text.startswith("3 of 40 turns have no price, so the cost is higher")


def test_first_time_right() -> None:
    row = {"tasks": 9, "first_time_right": 4, "percent": 400 / 9}
    (text,) = said("first-time-right", row)
    assert text.startswith("4 of 9 tasks passed every gate with their first submission")
    assert said("first-time-right", {**row, "percent": 50.0}) == []
    assert said("first-time-right", {**row, "tasks": 4}) == []


def test_states_in_which_tasks_wait() -> None:
    rows = ({"state": "blocked", "percent": 60.4}, {"state": "active", "percent": 39.6})
    (text,) = said("states", *rows)
    assert text.startswith("tasks were blocked for 60% of their time: `hookline attention`")
    assert said("states", {"state": "active", "percent": 90.0}) == []


def test_checks_that_never_fail_and_flaky_ones() -> None:
    (text,) = said("checks", CHECK)
    assert text.startswith("`lint` passed all 50 times")
    for other in ({"failed": 1}, {"results": 49}, {"kind": "gate"}):
        assert said("checks", {**CHECK, **other}) == []
    (text,) = said("flaky", {"name": "tests", "kind": "rule", "trees": 2})
    assert text.startswith("`tests` passed and failed on the same files 2 times")


def test_the_cheaper_agent_is_named_unless_it_is_rejected_more_often() -> None:
    better = {**ADA, "first_time_right": 10}
    (text,) = said("agents", BO, better)
    assert text == (
        "`ada` cost $0.40 per completed task, 10 of 10 first time right; `bo` cost $1.20 per"
        " completed task, 5 of 10 first time right: give `ada` more of the work"
    )
    assert said("agents", {**BO, "first_time_right": 10}, ADA) == []
    assert said("agents", {**BO, "usd": 2.9}, better) == []
    assert said("agents", {**BO, "unpriced_turns": 1}, better) == []
    assert said("agents", better) == []


# Charts


def test_a_chart_has_every_week_and_says_where_nothing_is_known() -> None:
    names = ["week", "type", "agent", "tasks", "iterations_per_task", "usd_per_task", "latest"]
    weeks = InsightRows(
        names,
        [["2026-03-02", "", "", 2, 1.5, None, 7], ["2026-03-16", "", "", 1, 4.0, 0.5, 9]],
    )
    tasks, iterations, usd = charts("tasks", weeks)
    assert tasks.x == [1772409600, 1773014400, 1773619200]
    assert [line.values for line in tasks.lines] == [[2, 0, 1]]
    assert [line.values for line in iterations.lines] == [[1.5, None, 4.0]]
    assert [line.values for line in usd.lines] == [[None, None, 0.5]]


def test_a_chart_draws_the_lines_with_the_largest_figures() -> None:
    names = ["week", "gate", "point", "rejected", "asked"]
    rows: list[list[Any]] = [
        ["2026-03-02", f"g{number}", point, number, 20]
        for number in range(10)
        for point in ("before_submit", "before_merge")
    ]
    rejected, asked = charts("gates", InsightRows(names, rows))
    assert [(line.label, line.values) for line in rejected.lines][:2] == [
        ("g9", [18]),
        ("g8", [16]),
    ]
    assert (len(rejected.lines), rejected.left_out) == (MOST_LINES, 2)
    assert {line.values[0] for line in asked.lines} == {40}
    assert charts("gates", InsightRows(names, []))[0].x == []


# CSV and names


def test_csv_is_no_formula() -> None:
    names = ["week", "type", "agent", "gate", "asked"]
    table = InsightTable(
        name="gates",
        title="",
        about="",
        columns=[column(each) for each in names],
        rows=[["", "", '=cmd("x")', "@a, b", -3]],
        charts=[],
        advice=[],
        sql="",
    )
    assert csv_text(table) == ('week,type,agent,gate,asked\n,,"\'=cmd(""x"")","\'@a, b",-3\n')
    assert csv_of_all([table]).splitlines()[1] == ('gates,,,"\'=cmd(""x"")","\'@a, b",asked,-3')


def test_every_table_has_a_title_and_says_what_it_counts() -> None:
    for name in TABLES:
        spec = SPECS[name]
        assert spec.title
        assert spec.about.endswith(".")
        assert all(column(figure).unit != "text" for figure in spec.charts)
        assert all(column(each).unit == "text" for each in spec.key)


def test_states_are_told_and_drawn_in_the_words_that_people_know() -> None:
    names = ["week", "state", "ms", "percent"]
    rows: list[list[Any]] = [
        ["2026-03-02", "created", 40, 40.0],
        ["2026-03-02", "needs_continuation", 60, 60.0],
    ]
    (drawn,) = charts("states", InsightRows(names, rows))
    assert [line.label for line in drawn.lines] == ["sent back", "not ready"]
    (told,) = advice("states", InsightRows(names, rows))
    assert told.text.startswith("tasks were sent back for 60% of their time: ")
    assert told.match == {"state": "needs_continuation"}
