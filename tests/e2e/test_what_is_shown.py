"""What people are shown of sessions and flows: the end of what failed, reports, durations."""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from tests.e2e.report_file import ReportFile
from tests.e2e.session_rig import PROMISE, Rig, hook

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

# Forty lines, of which only the last says what is wrong.
NOISY = "seq -f 'line %g' 40; echo 'assert 3 == 4'; exit 1"
SILENT = "test -e no-such-file"


def report_of(cli: Cli, name: str = "s") -> str:
    """The text of a session's report; nothing else is left beside it."""
    result = cli("session", "report", name)
    assert result.code == 0, result.stderr
    path = cli.root / result.stdout.strip()
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    return path.read_text(encoding="utf-8")


# Reports


def test_a_report_of_a_session_with_long_prompts(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    rig.configure({"pre_iteration": [hook("head -c 30000 /dev/zero | tr '\\0' x; echo END")] * 3})
    assert rig.run(goal="g" * 20_000).code == 0
    assert len(rig.prompts()[0].text) > 65_536
    assert report_of(cli).count("xEND") >= 3


def test_a_report_of_an_iteration_that_changed_many_files(cli: Cli) -> None:
    rig = Rig(cli)
    name = "n" * 200
    rig.turns(
        f"d={name}/{name}; mkdir -p $d; for i in $(seq 300); do echo > $d/$i; done", rest=PROMISE
    )
    rig.configure({})
    rig.repository()
    assert rig.run().code == 0
    page = ReportFile(report_of(cli)).session["page"]
    assert [each["decision"] for each in page["iterations"]] == ["continue", "complete"]


def test_a_report_of_a_session_whose_values_are_gone(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(f"head -c 100000 /dev/zero | tr '\\0' x; {PROMISE}")
    rig.configure({"pre_iteration": [hook("head -c 30000 /dev/zero | tr '\\0' x")] * 3})
    rig.run(goal="g" * 20_000)
    shutil.rmtree(cli.root / ".hookline" / "blobs")
    assert "is missing" in report_of(cli)


def test_a_report_that_cannot_be_written_leaves_nothing(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(PROMISE)
    rig.configure({})
    rig.run()
    (cli.root / "there").mkdir()
    code, error = cli.refused("session", "report", "s", "-o", "there")
    assert (code, error["code"]) == (2, "bad-input")
    assert not list(cli.root.glob("there.*"))


# What failed


def told_in(cli: Cli, *why: str) -> list[str]:
    """The lines of an explanation that say what a check said."""
    told = cli(*why).stdout.splitlines()
    found = [line for line in told if "line 40" in line and "│" not in line]
    assert found
    return found


def test_a_failing_check_shows_its_end_everywhere(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({"stop": ["validation"]}, validation=[rule("noisy", NOISY)])
    seen = cli("run", "do it", "--name", "s", "--iterations", "1", "--agent", "bot").stderr
    shown = [line.partition("│ ")[2] for line in seen.splitlines() if "      │ " in line]
    assert shown.pop(0) == "working 1"  # what the agent said last
    assert shown[0] == "…"
    assert shown[-2:] == ["line 40", "assert 3 == 4"]
    assert "line 1" not in shown
    (fired,) = (e["seq"] for e in cli.events("point_fired") if e["data"]["point"] == "stop")
    commands = [("validate",), ("session", "show", "s")]
    commands += [("why", "stop[0]:validation"), ("why", str(fired))]
    for command in commands:
        told = cli(*command).stdout
        assert [line.partition("│ ")[2] for line in told.splitlines() if "│ " in line] == shown
    explained = (("session", "show", "s"), *commands[2:])
    for answer in (cli.json(*command) for command in explained):
        assert answer["failedChecks"][0]["message"].endswith("assert 3 == 4")
    for command in commands[2:]:  # the reason and the next prompt are cut in their middle
        assert all(line.rstrip(")").endswith("3 == 4") for line in told_in(cli, *command))


def test_what_a_hook_printed_is_explained_by_its_end(cli: Cli) -> None:
    cli.configure(f'hooks: {{task_created: [{{name: loud, command: "{NOISY}"}}]}}\n')
    cli("task", "add", "one")
    told = cli("why", "loud").stdout.splitlines()
    shown = [line.partition("│ ")[2] for line in told if "│ " in line]
    assert shown[0] == "…"
    assert shown[-1] == "assert 3 == 4"
    assert any("-v shows the whole output" in line for line in told)
    whole = cli("why", "loud", "-v").stdout
    assert "line 1\n" in whole


def test_a_rule_that_fails_silently_tells_its_command(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({"stop": ["validation"]}, validation=[rule("quiet", SILENT)])
    seen = cli("run", "do it", "--name", "s", "--iterations", "1", "--agent", "bot").stderr
    (line,) = (each for each in seen.splitlines() if "✗ validation     quiet" in each)
    assert SILENT in line
    assert SILENT in cli("validate").stdout


def test_a_hook_that_exits_with_an_error_shows_the_last_line_of_its_stderr(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    fails = "echo out; echo first >&2; echo 'no such table: users' >&2; exit 3"
    rig.configure({"pre_iteration": [{"command": fails, "name": "look"}]})
    seen = cli("run", "do it", "--name", "s", "--agent", "bot").stderr.splitlines()
    (place,) = (i for i, line in enumerate(seen) if "pre_iteration  look" in line)
    assert seen[place].startswith("  ! ")
    assert seen[place].endswith("exit 3")
    assert seen[place + 1] == "      │ no such table: users"


def rule(name: str, command: str) -> dict[str, str]:
    """A validation rule."""
    return {"name": name, "type": "command", "command": command}


# How long things take


def test_the_steps_of_an_iteration_begin_in_it(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest="echo working")
    rig.configure({})
    rig.run(iterations=3)
    asked = {
        (e["data"]["chapter"], e["data"]["effectId"]): e["timestamp"]
        for e in cli.events("effect_requested")
    }
    ended = (e["data"] for e in cli.events("effect_resolved") if "startedAt" in e["data"])
    begun = {(each["chapter"], each["effectId"]): each["startedAt"] for each in ended}
    assert {(1, "turn"), (2, "turn"), (3, "turn")} <= begun.keys()
    assert all(begun[step] >= asked[step] for step in begun)


def test_durations_count_from_the_start_of_the_work(cli: Cli) -> None:
    cli.configure(
        "limits: {concurrency: {node: 1}}\n"
        "flows:\n  two:\n    steps:\n"
        "      - id: both\n        parallel:\n"
        "          - {id: slow, run: 'sleep 3'}\n"
        "          - {id: quick, run: 'true'}\n"
    )
    seen = cli("flow", "start", "two").stderr
    found = {name: float(took) for name, took in re.findall(r"node\s+both/(\w+)\s+([\d.]+)s", seen)}
    assert set(found) == {"slow", "quick"}
    assert found["quick"] < found["slow"] - 1


def test_the_time_that_a_session_rested_is_no_work(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("echo one", rest=PROMISE)
    rig.configure({})
    rig.run(iterations=1)
    back_date(cli, hours=5)
    rig.resume("--iterations", "3")
    found = ReportFile(report_of(cli)).session["page"]
    assert [each["iteration"] for each in found["iterations"]] == [1, 2]
    assert all(each["seconds"] < 3600 for each in found["iterations"])


def back_date(cli: Cli, hours: int) -> None:
    """Everything until now happened so many hours ago."""
    with closing(sqlite3.connect(cli.database)) as connection, connection:
        for table, column in (("events", "timestamp"), ("runs", "created_at")):
            earlier = f"strftime('%Y-%m-%dT%H:%M:%fZ', {column}, '-{hours} hours')"
            connection.execute(f"UPDATE {table} SET {column} = {earlier}")
