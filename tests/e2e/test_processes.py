"""Every command once as the process that a user starts; other tests run most of them in theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.surfaces.cli.main import COMMANDS
from tests.e2e.gate_rig import Repo

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

CONFIGURATION = """\
agents:
  bot: {driver: command, command: "date > done; echo '<promise>COMPLETE</promise>'"}
hooks:
  task_created: [{name: greet, command: "echo welcome"}]
validation:
  - {name: has_readme, type: file_existence, files: [readme]}
flows:
  ask:
    steps:
      - {id: sure, breakpoint: "Sure?"}
      - {id: say, run: "echo said"}
"""
# In this order: the command, its exit code, and what it says.
DAY: tuple[tuple[tuple[str, ...], int, str], ...] = (
    (("init", "--yes"), 0, "hookline.yaml"),
    (("demo", "--help"), 0, "usage: hookline demo"),
    (("points",), 0, "before_merge"),
    (("schema",), 0, "$schema"),
    (("check",), 0, "no problems"),
    (("trust", "--yes"), 0, "trusted"),
    (("config", "show"), 0, "has_readme"),
    (("telemetry", "status"), 0, "goes nowhere"),
    (("metrics",), 0, "# TYPE hookline_tasks gauge"),
    (("task", "add", "Write it"), 0, "T-1"),
    (("task", "add", "Read it"), 0, "T-2"),
    (("dep", "add", "T-2", "T-1"), 0, "T-2"),
    (("note", "add", "mind the gap", "--task", "T-1"), 0, "mind the gap"),
    (("checkpoint", "create", "T-1", "--phase", "begun"), 0, "T-1"),
    (("emit", "deploy_done", "--data", '{"ok": true}'), 0, "deploy_done"),
    (("events", "--type", "deploy_done"), 0, "deploy_done"),
    (("hook", "list"), 0, "greet"),
    (("why", "greet"), 0, "greet"),
    (("validate",), 0, "has_readme"),
    (("flow", "start", "ask"), 4, "R-1"),
    (("attention",), 4, "Sure?"),
    (("effect", "list", "R-1"), 0, "sure"),
    (("answer", "R-1", "sure", "yes"), 0, "R-1"),
    (("orchestrate", "R-1"), 0, "completed"),
    (("run", "do it", "--name", "one", "--iterations", "1"), 0, "completed"),
    (("status",), 0, "one"),
    (("logs",), 0, "iteration 1"),
    (("attach", "one", "--from-start"), 0, "completed"),
    (("stop", "one"), 1, "is completed"),
    (("resume", "one"), 1, "is completed"),
    (("stats",), 0, "greet"),
    (("version",), 0, "hookline"),
    (("help", "trust"), 0, "hookline trust"),
    (("completion", "bash"), 0, "complete"),
    (("session", "list"), 0, "one"),
    (("gate", "explain", "T-1"), 0, "T-1"),
    (("submit", "T-1", "--no-merge"), 0, "T-1"),
    (("merge", "T-1"), 0, "T-1"),
    (("work", "--once"), 0, "T-2"),
    (("report", "--since", "1h"), 0, "T-1"),
    (("prune", "--dry-run"), 0, "nothing to prune"),
    (("worktree", "list"), 0, ""),
    (("mcp",), 0, ""),
    (("serve", "--host", "192.0.2.1"), 2, "nothing is encrypted"),
    (("insights",), 0, "tasks"),
    (("metrics",), 0, "hookline_"),
    (("telemetry", "status"), 0, "nowhere"),
    (("doctor",), 0, "store"),
    (("hosts",), 0, "no other host shares it"),
    (("store", "copy", "embedded", "elsewhere"), 2, "postgresql://"),
)


def test_every_command_is_a_program(cli: Cli) -> None:
    repo = Repo(cli)
    repo.begin(CONFIGURATION)
    for words, code, said in DAY:
        if words[0] == "submit":
            repo.work("one")
        result = cli.process(*words)
        assert (result.code, said in result.stdout + result.stderr) == (code, True), (words, result)
    assert {words[0] for words, _, _ in DAY} == set(COMMANDS)


def test_a_program_and_a_call_in_this_process_say_the_same(cli: Cli) -> None:
    cli.configure(CONFIGURATION)
    cli.add("Write it")
    for words in (("task", "show", "T-1", "--json"), ("task", "show", "T-9", "--json"), ("tusk",)):
        assert cli(*words) == cli.process(*words)
    added = cli.process("task", "add", "-", "--json", stdin='{"goal": "Read it"}')
    assert (added.json[0]["goal"], added.stderr) == ("Read it", "")
