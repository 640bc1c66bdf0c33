"""`why`, `hook test` and `hook replay` for a hook that ran, skipped, failed and timed out."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

CONFIG = """hooks:
  task_created:
    - {name: fired, command: "echo hello {{task_id}}"}
    - {name: acted, script: act.sh}
    - {name: skipped, command: "touch never", when: "'urgent' in task.labels"}
    - {name: broken, command: "echo oops >&2; exit 3"}
    - {name: slow, command: "echo begun; sleep 60", timeout: 1}
"""
ACT = """#!/bin/sh
echo '{"actions": [{"type": "log", "payload": {"type": "seen", "data": {"n": 1}}}]}'
"""


@pytest.fixture
def project(cli: Cli) -> Cli:
    cli.put("act.sh", ACT, 0o755)
    cli.configure(CONFIG)
    result = cli("task", "add", "first", "--label", "calm")
    assert result.code == 0
    assert "hook broken at event 1" in result.stderr
    return cli


def test_why_a_hook_ran(project: Cli) -> None:
    found = project.json("why", "fired")
    assert found["verdict"] == "fired ran at event 1 (task_created, T-1)"
    assert found["steps"][0] == {
        "where": "hookline.yaml:4",
        "what": "task_created",
        "result": "matched",
        "detail": "",
    }
    assert found["output"] == "hello T-1\n"
    assert found["next"] == "hookline hook replay fired --event 1"


def test_why_a_hook_was_skipped(project: Cli) -> None:
    found = project.json("why", "skipped")
    assert found["verdict"] == "skipped did not run at event 1 (task_created, T-1)"
    condition = found["steps"][1]
    assert condition["what"] == "when 'urgent' in task.labels"
    assert condition["result"] == "false"
    assert condition["detail"] == "task.labels: calm"
    assert found["hint"] == "it runs when `'urgent' in task.labels` is true"


def test_why_a_hook_failed(project: Cli) -> None:
    found = project.json("why", "broken")
    assert found["verdict"] == "broken failed at event 1 (task_created, T-1)"
    assert "exit 3" in found["steps"][-1]["detail"]
    assert "oops" in found["output"]


def test_why_a_hook_timed_out(project: Cli) -> None:
    found = project.json("why", "slow")
    assert found["verdict"] == "slow timed out at event 1 (task_created, T-1)"
    assert "begun" in found["output"]
    assert "timeout:" in found["hint"]


def test_why_an_event_tells_of_every_hook_and_action(project: Cli) -> None:
    found = project.json("why", "1")
    told = {step["what"]: step["result"] for step in found["steps"]}
    assert told["hook fired"] == "ran"
    assert told["hook skipped"] == "did not run"
    assert told["hook broken"] == "failed"
    assert told["hook slow"] == "timed out"
    assert told["  log"] == "done"
    (seen,) = project.events("seen")
    caused = project.json("why", str(seen["seq"]))
    assert caused["steps"][0]["result"] == "hook acted"
    assert caused["steps"][0]["where"] == "event 1"


def test_why_a_task_waits(project: Cli) -> None:
    project("task", "add", "second", "--depends-on", "T-1", "--label", "calm")
    found = project.json("why", "T-2")
    assert found["verdict"] == "T-2 is not ready: it waits for T-1"
    assert found["next"] == "hookline why T-1"


def test_why_something_unknown(project: Cli) -> None:
    code, error = project.refused("why", "fird")
    assert (code, error["code"]) == (1, "unknown-hook")
    assert error["help"] == "did you mean 'fired'?"
    code, error = project.refused("why", "4000")
    assert (code, error["code"]) == (1, "unknown-event")


@pytest.mark.parametrize(
    ("hook", "status"),
    [("fired", "ok"), ("acted", "ok"), ("skipped", "skipped"), ("broken", "failed")],
)
def test_replay_agrees_with_the_record_and_applies_nothing(
    project: Cli, hook: str, status: str
) -> None:
    before = len(project.events())
    found = project.json("hook", "replay", hook, "--event", "1")
    assert (found["recordedStatus"], found["status"], found["same"]) == (status, status, True)
    assert len(project.events()) == before
    assert not (project.root / "never").exists()


def test_replay_of_a_timeout(project: Cli) -> None:
    result = project("hook", "replay", "slow", "--event", "1", "--json")
    assert result.code == 0
    assert result.json["status"] == "timeout"
    assert result.json["stdout"] == "begun\n"


def test_replay_shows_a_difference(project: Cli) -> None:
    project.put("act.sh", ACT.replace('"n": 1', '"n": 2'), 0o755)
    project("trust", "--yes")
    result = project("hook", "replay", "acted", "--event", "1", "--json")
    assert result.code == 1
    assert result.json["same"] is False
    assert result.json["recordedAnswer"][0]["payload"]["data"] == {"n": 1}
    assert result.json["answer"][0]["payload"]["data"] == {"n": 2}


def test_replay_sees_the_task_as_it_was(project: Cli) -> None:
    project.json("task", "update", "T-1", "--label", "urgent")
    found = project.json("hook", "replay", "skipped", "--event", "1")
    assert (found["status"], found["same"]) == ("skipped", True)


def test_a_built_in_can_be_replayed(cli: Cli) -> None:
    cli.add("build", "--label", "agent")
    cli.json("task", "complete", "T-1")
    (completed,) = cli.events("task_completed")
    found = cli.json("hook", "replay", "auto-create-review-task", "--event", str(completed["seq"]))
    assert found["same"] is True
    assert found["answer"][0]["payload"]["goal"] == "Review: build"


def test_hook_test_on_a_payload_of_ones_own(project: Cli) -> None:
    payload = '{"task": {"id": "T-9", "goal": "x", "labels": ["urgent"]}}'
    found = project.json("hook", "test", "fired", "--payload", payload)
    assert found["stdout"] == "hello T-9\n"
    assert len(project.json("task", "list")) == 1


def test_changed_files_are_frozen_with_the_call(cli: Cli) -> None:
    subprocess.run(("git", "init", "-q"), cwd=cli.root, check=True)
    cli.put("docs/a.md", "x")
    cli.put(".gitignore", ".hookline/\nhookline.yaml\n.gitignore\n")
    cli.configure(
        "hooks:\n  task_created:\n"
        "    - {name: lint, command: 'touch never', when: \"changed('src/**')\"}\n"
    )
    cli.add("x")
    found = cli.json("why", "lint")
    assert found["steps"][1]["result"] == "false"
    assert "docs/a.md" in found["steps"][1]["detail"]
    cli.put("src/new.py", "x = 1\n")
    assert cli.json("hook", "replay", "lint", "--event", "1")["same"] is True


def test_switches_beat_the_configuration(project: Cli) -> None:
    assert project.json("hook", "disable", "slow") == {"name": "slow", "enabled": False}
    assert project.json("hook", "disable", "broken") == {"name": "broken", "enabled": False}
    rows = {row["name"]: row for row in project.json("hook", "list")}
    assert rows["slow"]["enabled"] is False
    assert rows["fired"] == {
        "name": "fired",
        "points": ["task_created"],
        "rule": "react",
        "kind": "command",
        "priority": 100,
        "enabled": True,
        "layer": "project",
        "origin": "hookline.yaml:4",
        "for": None,
        "metadata": {},
    }
    project.add("quiet now")
    assert project.calls("slow") == ["timeout"]
    project.json("hook", "enable", "broken")
    assert project("task", "add", "loud again").stderr.count("hook broken") == 1


def test_statistics_flag_slow_hooks(project: Cli) -> None:
    found = {row["name"]: row for row in project.json("hook", "stats")["hooks"]}
    assert found["slow"]["slow"] is True
    assert found["slow"]["failed"] == 1
    assert found["skipped"]["skipped"] == 1
    assert found["track-agent-task-lifecycle"]["slow"] is False


def test_the_log_of_calls_can_be_read(project: Cli) -> None:
    lines = project.json("hook", "log")["lines"]
    named = [line.split()[3].removeprefix("hook=") for line in lines]
    assert "track-agent-task-lifecycle" in named
    own = [name for name in named if name in ("fired", "acted", "skipped", "broken", "slow")]
    assert sorted(own) == ["acted", "broken", "fired", "skipped", "slow"]
    assert "status=timeout" in lines[named.index("slow")]


def test_hooks_without_a_name_are_called_by_what_they_run(cli: Cli) -> None:
    cli.configure(
        "hooks: {task_created: [{command: 'false'}], task_blocked: [{command: 'true'}]}\n"
    )
    assert "hook false at event 1: exited 1" in cli("task", "add", "first").stderr
    assert "[0]" not in cli("hook", "list").stdout + cli("hook", "stats").stdout
    assert "hook       false  since" in cli("attention").stdout
    assert cli("why", "false").stdout.startswith("false failed at event 1")
    assert cli("why", "false").stdout == cli("why", "task_created[0]:false").stdout
    assert cli("hook", "test", "false").code == 1
    assert cli("hook", "disable", "false").stdout == "false is off\n"
    assert cli.json("hook", "show", "false")["name"] == "task_created[0]:false"
    assert cli.json("hook", "show", "false")["enabled"] is False


def test_a_name_that_two_hooks_have_is_not_enough(cli: Cli) -> None:
    cli.configure("hooks: {task_created: [{command: 'true'}], task_blocked: [{command: 'true'}]}\n")
    code, error = cli.refused("hook", "disable", "true")
    assert (code, error["message"]) == (2, "2 hooks are called 'true'")
    assert error["help"] == "name one: 'task_created[0]:true', 'task_blocked[0]:true'"
    listed = cli("hook", "list").stdout
    assert "task_created[0]:true" in listed
    assert "task_blocked[0]:true" in listed


def test_a_replay_says_that_what_a_hook_does_happens_again(cli: Cli) -> None:
    cli.configure("hooks: {task_created: [{name: mark, command: 'echo x >> marks'}]}\n")
    cli.add("first")
    told = cli("hook", "replay", "mark", "--event", "1").stdout
    assert "the hook ran for real; its answer was not used" in told
    assert (cli.root / "marks").read_text() == "x\nx\n"
    assert "run a hook for real again" in cli("hook", "replay", "--help").stdout
