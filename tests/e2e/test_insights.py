"""`hookline insights`: how work went, told from real sessions, gates and merges."""

from __future__ import annotations

import csv
import io
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from hookline import App
from hookline.insights import TABLES, Selection, insight_facts, insights
from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.session_rig import PROMISE, Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

GATES = """\
hooks: {before_submit: [{name: noted, command: "grep -q {{task_id}} notes"}]}
gates: {test: "make test"}
"""
# The agent notes nothing until a gate asks for it.
FORGETS = 'if [ "$n" -gt 1 ]; then echo "$HOOKLINE_TASK_ID" >> notes; fi; work'
PRUNE = ("prune", "--older", "0s")


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def table(cli: Cli, name: str, *options: str) -> dict[str, Any]:
    (found,) = cli.json("insights", name, *options)["tables"]
    assert isinstance(found, dict)
    return found


def rows(cli: Cli, name: str, *options: str) -> list[dict[str, Any]]:
    found = table(cli, name, *options)
    names = [column["name"] for column in found["columns"]]
    return [dict(zip(names, row, strict=True)) for row in found["rows"]]


def merged(cli: Cli, line: Pipeline) -> None:
    """Two tasks that a gate rejected once each, and that were merged."""
    line.begin(GATES, remote=False)
    line.turn(FORGETS)
    for goal in (("first", "--type", "chore"), ("second",)):
        cli.add(*goal)
        line.worker()
    assert line.merges() == ["T-1", "T-2"]


@pytest.mark.torture
def test_what_gates_said_and_tasks_took(cli: Cli, line: Pipeline) -> None:
    merged(cli, line)
    gates = {row["gate"]: row for row in rows(cli, "gates")}
    figures = ("asked", "rejected", "broke", "first_asked", "first_rejected")
    assert {name: [row[each] for each in figures] for name, row in gates.items()} == {
        "noted": [4, 2, 0, 2, 2],
        "merge": [2, 0, 0, 2, 0],
    }
    (tasks,) = rows(cli, "tasks")
    assert (tasks["tasks"], tasks["sessions"], tasks["iterations"]) == (2, 2, 2)
    assert tasks["turns"] == len({each["data"]["turn"] for each in cli.events("agent_turn")})
    (right,) = rows(cli, "first-time-right")
    assert (right["tasks"], right["first_time_right"], right["percent"]) == (2, 0, 0.0)
    (agent,) = rows(cli, "agents")
    assert (agent["agent"], agent["tasks"], agent["sessions"]) == ("bot", 2, 2)
    by_type = {row["type"]: row["tasks"] for row in rows(cli, "tasks", "--by", "type")}
    assert by_type == {"": 1, "chore": 1}
    assert rows(cli, "tasks", "--type", "chore")[0]["tasks"] == 1
    assert rows(cli, "tasks", "--agent", "nobody") == []
    completed = cli.events("task_completed")
    assert tasks["latest"] == completed[-1]["seq"]
    assert {row["state"] for row in rows(cli, "states")} >= {"ready", "active", "submitted"}


@pytest.mark.torture
def test_a_figure_leads_to_its_rows(cli: Cli, line: Pipeline) -> None:
    merged(cli, line)
    found = cli.json("insights", "gates", "--rows", "gate=noted", "verdict=rejected")
    names = [column["name"] for column in found["columns"]]
    facts = [dict(zip(names, row, strict=True)) for row in found["rows"]]
    assert (found["total"], [each["task"] for each in facts]) == (2, ["T-2", "T-1"])
    for fact in facts:
        why = cli.json("why", str(fact["seq"]))
        assert why["verdict"].startswith(f"point_fired of {fact['task']}")
        assert cli.json("flow", "show", fact["run"])["flow"] == "submit"
    lines = cli("insights", "gates", "--rows", "gate=noted").stdout.splitlines()
    assert len(lines) == 5


@pytest.mark.embedded
def test_the_sql_finds_the_table_and_csv_has_the_same(cli: Cli, line: Pipeline) -> None:
    merged(cli, line)
    for name in TABLES:
        options = (name, "--by", "week,type")
        script = cli("insights", *options, "--sql").stdout
        cells = table(cli, *options)
        if name != "states":  # one that lasts grows
            with closing(sqlite3.connect(cli.database)) as raw:
                assert raw.execute(script).fetchall() == [tuple(row) for row in cells["rows"]]
            head, *others = csv.reader(io.StringIO(cli("insights", *options, "--csv").stdout))
            assert head == [column["name"] for column in cells["columns"]]
            expected = [["" if c is None else str(c) for c in row] for row in cells["rows"]]
            assert others == expected


@pytest.mark.torture
def test_everything_is_told_in_one_csv(cli: Cli, line: Pipeline) -> None:
    merged(cli, line)
    found = list(csv.DictReader(io.StringIO(cli("insights", "--csv").stdout)))
    rejected = [each for each in found if (each["table"], each["figure"]) == ("gates", "rejected")]
    assert {each["about"]: each["value"] for each in rejected} == {
        "noted before_submit": "2",
        "merge merge": "0",
    }


@pytest.mark.torture
def test_pruning_takes_nothing_away(cli: Cli, line: Pipeline) -> None:
    merged(cli, line)
    until = cli.events("task_completed")[-1]["timestamp"]
    before = {name: rows(cli, name, "--until", until) for name in TABLES}
    assert cli.json(*PRUNE)["calls"]["count"]
    assert {name: rows(cli, name, "--until", until) for name in TABLES} == before


@pytest.mark.torture
def test_the_module_gives_the_same_tables(cli: Cli, line: Pipeline) -> None:
    merged(cli, line)
    with closing(App.open(str(cli.root), environ=cli.env, read_only=True)) as app:
        found = insights(app, Selection(by=("agent",)), ("gates",)).tables[0]
        facts = insight_facts(app, "gates", match={"gate": "noted"})
    said = table(cli, "gates", "--by", "agent")
    assert (found.rows, found.sql) == (said["rows"], said["sql"])
    assert facts.total == 4
    (chart, _) = found.charts
    assert (chart.figure, len(chart.x)) == ("rejected", 1)
    assert [(each.label, each.values) for each in chart.lines] == [("noted", [2]), ("merge", [0])]


# Checks of sessions


def test_a_check_that_fails_after_it_passed_and_one_that_is_flaky(cli: Cli) -> None:
    rig = Rig(cli)
    count = f"{cli.root.parent}/asked"
    # It fails at every second time, whatever the files are.
    flaky = f"echo >> {count}; test $(( $(wc -l < {count}) % 2 )) = 1"
    rig.turns("true", "true", "touch broken", rest=PROMISE)
    rig.configure(
        {"post_iteration": [{"name": "look", "command": "test ! -e broken"}]},
        validation=[
            {"name": "tests", "type": "command", "command": flaky},
            {"name": "there", "type": "file_existence", "files": ["hookline.yaml"]},
        ],
    )
    rig.repository()
    rig.run(iterations=3)
    (first, second, third) = (event["data"] for event in cli.events("session_checked"))
    assert [each["iteration"] for each in (first, second, third)] == [1, 2, 3]
    assert first["files"] == second["files"] != third["files"]
    passed = [[each["passed"] for each in data["checks"]] for data in (first, second, third)]
    assert passed == [[True, True], [False, True], [True, True]]
    assert first["checks"][0] == {
        "name": "tests",
        "type": "command",
        "command": flaky,
        "passed": True,
        "exitCode": 0,
        "durationMs": first["checks"][0]["durationMs"],
    }
    found = {row["name"]: row for row in rows(cli, "checks")}
    figures = ("kind", "results", "failed", "regressions")
    assert {name: tuple(row[each] for each in figures) for name, row in found.items()} == {
        "tests": ("rule", 3, 1, 1),
        "look": ("hook", 3, 1, 1),
        "there": ("rule", 3, 0, 0),
    }
    (row,) = rows(cli, "flaky")
    assert (row["name"], row["trees"], row["results"], row["failed"]) == ("tests", 1, 2, 1)
    (advice,) = table(cli, "flaky")["advice"]
    assert advice["text"] == (
        "`tests` passed and failed on the same files: repair it, agents cannot rely on it"
    )


def test_without_git_nothing_is_called_flaky(cli: Cli) -> None:
    rig = Rig(cli)
    flip = f"test -e {cli.root.parent}/seen; code=$?; touch {cli.root.parent}/seen; exit $code"
    rig.configure(validation=[{"name": "tests", "type": "command", "command": flip}])
    rig.run(iterations=2)
    assert [event["data"]["files"] for event in cli.events("session_checked")] == [None, None]
    assert rows(cli, "flaky") == []
    assert [row["results"] for row in rows(cli, "checks")] == [2]


# What people see, and mistakes


def test_an_empty_project_says_so(cli: Cli) -> None:
    text = cli("insights").stdout
    assert text.count("nothing yet") == len(TABLES)
    assert cli.json("insights", "gates", "--rows")["total"] == 0
    assert cli("insights", "tasks", "--rows").stdout == "nothing yet\n"


def test_the_lines_for_people(cli: Cli, line: Pipeline) -> None:
    merged(cli, line)
    lines = cli("insights", "gates").stdout.splitlines()
    assert lines[0] == "Which gate rejects what"
    assert lines[1].split()[:5] == ["gate", "point", "asked", "rejected", "broke"]
    assert lines[2].split()[:5] == ["noted", "before_submit", "4", "2", "0"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nonsense",), "there is no table 'nonsense' of insights"),
        (("--by", "colour"), "cannot split by 'colour'"),
        (("--rows",), "--rows is for one table"),
        (("gates", "--rows", "gate"), "'gate' is not COLUMN=VALUE"),
        (("gates", "--rows", "x;y=1"), "no fact of 'gates' has a column 'x;y'"),
        (("--since", "2999-01-01"), "'2999-01-01' is in the future"),
    ],
)
def test_mistakes_are_told(cli: Cli, words: tuple[str, ...], said: str) -> None:
    cli.add("one")
    code, error = cli.refused("insights", *words)
    assert (code, error["message"]) == (2, said)


def test_names_from_a_repository_stay_text(cli: Cli) -> None:
    rig = Rig(cli)
    hostile = "=cmd|' /C calc'!A0"
    painted = f"{hostile}\x1b[31m"
    rig.configure(validation=[{"name": painted, "type": "command", "command": "true"}])
    rig.run(iterations=1)
    assert rows(cli, "checks")[0]["name"] == hostile
    assert "\x1b" not in cli("insights", "checks").stdout
    head, row = csv.reader(io.StringIO(cli("insights", "checks", "--csv").stdout))
    assert row[head.index("name")] == f"'{hostile}"


def test_a_secret_in_a_rule_is_not_in_its_record(cli: Cli) -> None:
    rig = Rig(cli)
    cli.env["MY_TOKEN"] = secret = "a-very-secret-word"
    rule = {"name": "tests", "type": "command", "command": f"true {secret}"}
    rig.configure(validation=[rule])
    rig.run(iterations=1)
    (found,) = (event["data"]["checks"] for event in cli.events("session_checked"))
    assert [each["command"] for each in found] == ["true [redacted MY_TOKEN]"]


# The log as JSON lines


def test_the_log_is_exported_a_line_for_each_event(cli: Cli) -> None:
    cli.json("task", "add", "-", stdin="".join(f"- [ ] task {n}\n" for n in range(600)))
    lines = cli("events", "--lines").stdout.splitlines()
    whole = cli("events", "--all", "--json").stdout
    assert f"[{','.join(lines)}]\n" == whole
    assert len(lines) == 1200
    some = cli("events", "--lines", "--type", "task_created", "--since", "1190").stdout
    assert some.splitlines() == [each for each in lines[1190:] if '"type":"task_created"' in each]
