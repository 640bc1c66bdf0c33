"""A project of version 0.1 under this version: whatever was under way goes on."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import Cli
from tests.upgrade.old_store import restore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEEDS_PERSON = 4
DEAD_EVENT = "88"


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    runner = Cli(tmp_path)
    restore(runner)
    yield runner
    runner.close()


def on_main(cli: Cli) -> list[str]:
    listed = ("git", "ls-tree", "--name-only", "main")
    return subprocess.run(
        listed, cwd=cli.root, check=True, capture_output=True, text=True
    ).stdout.split()


def test_everything_is_there_and_sound(cli: Cli) -> None:
    assert cli.rows("PRAGMA user_version") == [(3,)]
    states = {task["id"]: task["state"] for task in cli.json("task", "list")}
    assert states == {
        "T-1": "active",
        "T-2": "ready",
        "T-3": "active",
        "T-4": "submitted",
        "T-5": "ready",
        "T-6": "ready",
    }
    cli.add("migrates")
    assert cli.rows("PRAGMA user_version")[0][0] > 4
    checks = {each["name"]: each["status"] for each in cli.json("doctor", quiet=False)["checks"]}
    sound = ("store", "store owner", "log", "tables", "journal", "trust")
    assert {name: checks[name] for name in sound} == dict.fromkeys(sound, "ok")
    assert checks["configuration"] == "warning"  # nothing tests the merged result


def test_a_stopped_session_is_resumed(cli: Cli) -> None:
    cli.put("go-on", "")
    result = cli("run", "--resume", "--name", "night")
    assert result.code == 0, result.stdout + result.stderr
    assert cli.json("session", "show", "night")["status"] == "completed"
    assert cli.task("T-2")["state"] == "completed"


def test_a_parked_flow_goes_on_once_its_code_is_back(cli: Cli) -> None:
    assert cli("flow", "resume", "R-6").code == NEEDS_PERSON
    assert cli("answer", "R-6", "ask", "yes").code == 0
    assert cli("flow", "resume", "R-6").code == 0
    run = cli.json("flow", "show", "R-6")
    assert (run["status"], run["value"]) == ("completed", True)


def test_a_queued_merge_is_merged_once(cli: Cli) -> None:
    assert "T-4.txt" not in on_main(cli)
    result = cli("merge", "T-4")
    assert result.code == 0, result.stdout + result.stderr
    assert cli.task("T-4")["state"] == "completed"
    assert "T-4.txt" in on_main(cli)
    assert len(cli.events("task_completed")) == 1


def test_a_gate_that_waits_for_a_person_takes_the_word(cli: Cli) -> None:
    assert cli("submit", "T-3").code == NEEDS_PERSON
    assert "T-3.txt" not in on_main(cli)
    assert cli("gate", "approve", "T-3").code == 0
    result = cli("submit", "T-3")
    assert result.code == 0, result.stdout + result.stderr
    assert cli.task("T-3")["state"] == "completed"
    assert "T-3.txt" in on_main(cli)


def test_a_dead_letter_is_still_told_and_can_be_called_again(cli: Cli) -> None:
    waiting = cli("attention", "--json").json
    assert [each["id"] for each in waiting if each["kind"] == "dead call"] == ["crash"]
    cli.put("mended", "")
    said = cli("hook", "replay", "crash", "--event", DEAD_EVENT).stdout
    assert ("recorded  dead" in said, "now       ok" in said) == (True, True)


def test_a_claim_is_held_until_its_lease_ends(cli: Cli) -> None:
    code, error = cli.refused("task", "claim", "T-5", "--agent", "mallory")
    assert (code, "eve" in error["message"]) == (1, True)
    (token,) = cli.rows("SELECT claim_token FROM tasks WHERE number = 5")[0]
    renewal = ("--agent", "eve", "--renew", "--token", str(token))
    assert cli.json("task", "claim", "T-5", *renewal)["claim"]["agent"] == "eve"


def test_a_run_whose_process_was_killed_is_taken_over(cli: Cli) -> None:
    cli.put("awake", "")
    assert cli.json("flow", "show", "R-7")["status"] == "running"
    result = cli("flow", "resume", "R-7")
    assert result.code == 0, result.stdout + result.stderr
    run = cli.json("flow", "show", "R-7")
    assert (run["status"], run["value"]["last"]["stdout"]) == ("completed", "slept\n")


def test_what_a_killed_worker_had_under_way_is_merged_by_the_next(cli: Cli) -> None:
    for name in ("awake", ".hookline/worktrees/T-1/go-on"):
        cli.put(name, "")
    result = cli("work", "--once", "--types", "chore")
    assert result.code in (0, NEEDS_PERSON), result.stdout + result.stderr
    assert cli.task("T-1")["state"] == cli.task("T-4")["state"] == "completed"
    assert {"T-1.txt", "T-4.txt"} <= set(on_main(cli))


def test_insights_count_what_was_recorded_before(cli: Cli) -> None:
    cli.add("migrates")
    found = {table["name"]: table["rows"] for table in cli.json("insights")["tables"]}
    assert [row[3:8] for row in found["gates"]] == [["fine", "before_submit", 1, 0, 0]]
    assert [(row[2], row[6], row[7]) for row in found["agents"]] == [("bot", 2, 1)]
    assert {row[3]: row[4] for row in found["states"]} == {"ready": 8, "active": 4, "submitted": 1}
    assert found["tasks"] == found["first-time-right"] == found["flaky"] == []


def test_check_names_every_default_that_changed_until_it_is_trusted(cli: Cli) -> None:
    configuration = (cli.root / "hookline.yaml").read_text()
    names = ["hooks.stop", "gates.without_commits", "gates.max_file", "gates.max_wait"]
    names += ["gates.base", "submit"]
    names += ["trusted files", "task_types.TYPE.may_create", "verdicts"]
    found = cli.json("check")
    assert [each["name"] for each in found["changedDefaults"]] == names
    shown = cli("check").stdout
    assert "Defaults that changed in 0.2, after you trusted this configuration" in shown
    assert "gates: {without_commits: complete}" in shown
    # What the configuration itself says is no default.
    said = "gates: {without_commits: complete, max_file: 0, max_wait: 720h, base: main}\n"
    cli.put("hookline.yaml", configuration + said)
    assert [each["name"] for each in cli.json("check")["changedDefaults"]] == [names[0], *names[5:]]
    cli.put("hookline.yaml", configuration.replace('"true"}', '"grep {{task_title}} x"}'))
    assert "options" in [each["name"] for each in cli.json("check")["changedDefaults"]]
    cli.put("hookline.yaml", configuration.replace("[human]", '[{run_tests: "make"}]'))
    assert "gates.test" in [each["name"] for each in cli.json("check")["changedDefaults"]]
    # Who trusts it again has seen them.
    cli.put("hookline.yaml", configuration)
    result = cli("trust", "--yes")
    assert "gates.without_commits" in result.stdout
    assert cli.json("check")["changedDefaults"] == []
    assert "Defaults" not in cli("check").stdout
    assert cli("trust", "--yes").stdout.startswith("nothing to do")
