"""Values that begin with '-': no program takes them for options unless the user permits it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.test_flow_code import start

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

SAYS = '#!/bin/sh\nfor each; do printf "%s\\n" "$each"; done >> said\n'


@pytest.fixture(autouse=True)
def say(cli: Cli) -> None:
    cli.put("say", SAYS, 0o755)


def said(cli: Cli) -> list[str]:
    path = cli.root / "said"
    return path.read_text().splitlines() if path.exists() else []


def test_text_that_would_be_an_option_fails_the_hook_and_names_the_variable(cli: Cli) -> None:
    cli.configure(
        """
hooks:
  task_created:
    - {name: bare, command: "./say bare {{task_title}}"}
    - {name: quoted, command: './say quoted "{{task_title}}"'}
    - {name: ended, command: "./say ended -- {{task_title}}"}
    - {name: valued, command: "./say --title {{task_title}}"}
    - {name: within, command: "./say 'within {{task_title}}'"}
    - {name: permitted, command: "./say permitted {{task_title}}", options: allow}
"""
    )
    cli.add("plain")
    assert said(cli).count("plain") == 5
    (cli.root / "said").unlink()
    result = cli("task", "add", "--", "-rf /")
    assert result.code == 0
    assert [cli.calls(name)[1] for name in ("bare", "quoted")] == ["failed", "failed"]
    for error in cli.calls("bare", "error")[1:] + cli.calls("quoted", "error")[1:]:
        assert "{{task_title}} begins with '-' here and would be read as an option" in error
        assert "`options: allow`" in error
    assert said(cli) == [
        *("ended", "--", "-rf /", "--title", "-rf /", "within -rf /", "permitted", "-rf /")
    ]


def test_check_warns_of_each_place_and_is_content_with_the_ways_out(cli: Cli) -> None:
    cli.put("a.py", "def b(event): ...\n")
    cli.configure(
        """
hooks:
  task_created:
    - {name: bare, command: "grep {{task_title}} x"}
    - {name: ended, command: "grep -- {{task_title}} x"}
    - {name: permitted, command: "grep {{task_title}} x", options: allow}
    - {name: useless, python: "a:b", options: allow}
  before_submit:
    - run_tests: {command: "./test {{task_title}}"}
    - run_tests: {command: "./test {{task_title}}", options: allow}
flows:
  ship:
    steps:
      - {id: bare, run: "ls {{input.x}}"}
      - {id: permitted, run: "ls {{input.x}}", options: allow}
""",
        trust=False,
    )
    found = cli.json("check")
    assert (found["errors"], found["warnings"]) == (0, 4)
    assert [(each["code"], each["line"], each["column"]) for each in found["problems"]] == [
        ("option-place", 5, 35),
        ("no-effect", 8, 38),
        ("option-place", 10, 36),
        ("option-place", 15, 29),
    ]
    first = found["problems"][0]
    assert first["message"] == "{{task_title}} can be read as an option"
    assert first["consequence"] == "it fails when the value begins with '-'"
    assert "`options: allow`" in first["help"]


def test_a_gate_and_a_decision_stay_shut(cli: Cli) -> None:
    """The rule of the point says what the failure means; nothing passes by it."""
    cli.configure(
        """
hooks:
  before_submit:
    - {name: line, command: "./say {{task_title}}"}
    - run_tests: {command: "./say {{task_title}}"}
  stop:
    - {name: judge, command: "./say {{task_content}}"}
"""
    )
    gate: dict[str, Any] = {
        "task_id": "T-1",
        "task_title": "--help",
        "task_path": "/x",
        "task_type": None,
        "branch_name": "b",
        "base_branch": "main",
        "worktree": str(cli.root),
        "agent_name": "ada",
        "commits_count": 1,
    }
    assert dispatched(cli, "before_submit", gate)["status"] == "failure"
    decision = {"taskId": "T-1", "iteration": 1, "taskContent": "-x"}
    assert dispatched(cli, "stop", decision)["action"] == "escalate"
    assert said(cli) == []
    assert dispatched(cli, "before_submit", {**gate, "task_title": "a"})["status"] == "success"
    assert said(cli) == ["a", "a"]


def dispatched(cli: Cli, point: str, payload: dict[str, Any]) -> dict[str, Any]:
    result = cli("hook", "dispatch", point, "--json", stdin=json.dumps(payload))
    answer: dict[str, Any] = result.json
    return answer


def test_an_id_is_no_option_either(cli: Cli) -> None:
    cli.configure('hooks: {before_submit: [{name: line, command: "./say {{task_id}}"}]}\n')
    payload = {"task_id": "-rf", "task_title": "x", "commits_count": 1}
    cli("hook", "dispatch", "before_submit", stdin=json.dumps(payload))
    assert said(cli) == []


def test_a_step_of_a_flow_fails_and_names_the_value(cli: Cli) -> None:
    cli.configure(
        """
flows:
  bare: {steps: [{id: one, run: "./say {{input.text}}"}]}
  permitted: {steps: [{id: one, run: "./say {{input.text}}", options: allow}]}
"""
    )
    given = ("--input", json.dumps({"text": "-x"}))
    run = start(cli, "bare", *given, code=1)
    assert "{{input.text}} begins with '-' here" in json.dumps(run)
    assert said(cli) == []
    start(cli, "permitted", *given)
    assert said(cli) == ["-x"]


def test_a_prompt_that_is_an_argument_is_no_option(cli: Cli) -> None:
    cli.configure(
        """
agents:
  bare: {driver: command, command: ./say, input: argument}
  ended: {driver: command, command: './say -- "$HOOKLINE_PROMPT"', input: argument}
flows:
  bare: {steps: [{id: one, agent: {agent: bare, prompt: "{{input.text}}"}}]}
  ended: {steps: [{id: one, agent: {agent: ended, prompt: "{{input.text}}"}}]}
"""
    )
    given = ("--input", json.dumps({"text": "--help"}))
    run = start(cli, "bare", *given, code=1)
    assert "the prompt begins with '-'" in json.dumps(run)
    assert said(cli) == []
    start(cli, "ended", *given)
    assert said(cli) == ["--", "--help"]


def test_what_a_line_evaluates_later_is_refused_however_it_is_kept(cli: Cli) -> None:
    lines = [
        "env A={{task_title}} sh -c 'eval $A'",
        "A={{task_title}} sh -c 'eval $A'",
        "A={{task_title}} sh -c '$A'",
        "sudo A={{task_title}} sh -c 'sh -c $A'",
        "export A={{task_title}}; sh -c 'eval $A'",
        "A={{task_title}}; eval 'eval $A'",
        "env A={{task_title}} python3 -c 'import os; os.system(os.environ[0])'",
        "echo {{task_title}} | awk '{system($0)}'",
        "echo {{task_title}} | sh -c 'cat | sh'",
    ]
    entries = [{"name": str(number), "command": line} for number, line in enumerate(lines)]
    fine = [
        "env A={{task_title}} sh -c 'ls -- \"$A\"'",
        "A={{task_title}} python3 -c 'import os; print(os.environ[0])'",
        "echo x {{task_title}} | sh -c 'cat; date'",
    ]
    entries += [{"name": line, "command": line} for line in fine]
    cli.configure(f"hooks: {json.dumps({'task_created': entries})}\n", trust=False)
    found = json.loads(cli("check", "--json").stdout)
    codes = [each["code"] for each in found["problems"] if each["severity"] == "error"]
    assert codes == ["unsafe-place"] * len(lines)
