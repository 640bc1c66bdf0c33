"""What people get wrong on the command line and in hookline.yaml, and what they are told."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
from typing import TYPE_CHECKING, Any

from tests.e2e.conftest import PROGRAM
from tests.e2e.report_file import ReportFile
from tests.e2e.terminal_rig import Terminal, prepare

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

WRONG = """\
agents:
  a: {driver: scripted, script: gone.yaml}
  b: {driver: command, command: ./gone.sh --fast}
hooks:
  task_created:
    - {name: py, python: "no_such_module.sub:fn"}
    - {name: there, python: "os.path:join"}
    - {name: meta, http: "http://169.254.169.254/latest"}
    - {name: hex, http: "http://0xA9FEA9FE/latest"}
    - {name: ours, http: "https://example.org/hook"}
    - {name: path, command: "./gone.sh {{task_id}}"}
"""


def problems(cli: Cli) -> dict[int, dict[str, Any]]:
    """What check says of each line."""
    return {each["line"]: each for each in cli("check", "--json").json["problems"]}


def test_check_finds_what_would_never_be_called(cli: Cli) -> None:
    cli.put("hookline.yaml", WRONG)
    found = problems(cli)
    assert {each["code"] for each in found.values()} == {"missing"}
    assert {line: each["message"].split(" for ")[0] for line, each in found.items()} == {
        2: "the script gone.yaml cannot be read: No such file or directory",
        3: "./gone.sh does not exist, or is not executable",
        6: "there is no module 'no_such_module.sub'",
        8: "hooks may not call 169.254.169.254, an address of the machine's own cloud",
        9: "hooks may not call 0xa9fea9fe, an address of the machine's own cloud",
        11: "./gone.sh does not exist",
    }
    assert all(each["help"] and each["consequence"] for each in found.values())


def test_a_wrong_value_is_told_with_what_its_key_means(cli: Cli) -> None:
    hook = "{command: 'true', priority: high, enabled: maybe}"
    cli.put("hookline.yaml", f"hooks:\n  stop:\n    - {hook}\n    - {{command: 5}}\n")
    found = {each["message"]: each["help"] for each in cli("check", "--json").json["problems"]}
    assert found == {
        "'hooks.stop[0].priority' must be a whole number, not 'high'": (
            "Lower runs first; the default is 100."
        ),
        "'hooks.stop[0].enabled' must be true or false, not 'maybe'": (
            "false switches the hook off."
        ),
        "'hooks.stop[1].command' must be a shell line, not '5'": "A shell line.",
    }


def test_a_payload_without_work_is_not_taken_for_a_missing_repository(cli: Cli) -> None:
    cli.put("hookline.yaml", "hooks: {stop: [evidence]}\n")
    cli("trust", "--yes")
    answer = cli("hook", "dispatch", "stop", "--json", stdin="{}").json
    assert "a diff: the context has no `work`" in answer["reason"]
    assert "repository" not in answer["reason"]


def test_the_nearest_event_type_is_named(cli: Cli) -> None:
    cli.put("hookline.yaml", "events: [deploy_done]\n")
    cli.add("one")
    for words, near in (
        (("emit", "task_complted"), "task_completed"),
        (("emit", "deploy_don"), "deploy_done"),
        (("events", "--type", "task_redy"), "task_ready"),
        (("events", "--type", "task_redy", "--json"), "task_ready"),
    ):
        told = cli(*words)
        assert told.code == 0
        assert "warning: unknown event type '" in told.stderr
        assert f"'; did you mean '{near}'?" in told.stderr
    known = ("emit", "deploy_done"), ("events", "--type", "task_ready")
    for fine in (("emit", "coffee"), ("emit", "unwanted"), *known):
        assert cli(*fine).stderr == ""
    assert cli("events", "--type", "task_complted").stderr == "", "it is there, whoever meant it"


def test_every_line_of_a_file_that_names_no_task_is_shown(cli: Cli) -> None:
    first, last = '{"goal": "a", "dependsOn": ["T-8"]}', '{"goal": "c", "parent": "T-9"}'
    cli.put("t.jsonl", f'{first}\n{{"goal": "b"}}\n{last}\n')
    code, error = cli.refused("task", "add", "--from", "t.jsonl")
    assert code == 2
    assert error["message"] == "t.jsonl:1: there is no task T-8\nt.jsonl:3: there is no task T-9"
    assert cli.json("task", "list") == []


def test_a_wrong_folder_is_told(cli: Cli) -> None:
    cli.add("one")
    own = cli.root / ".hookline"
    for wrong in (cli.root.parent / "gone" / ".hookline", cli.root, cli.root / "x"):
        code, error = cli.refused("task", "list", env={"HOOKLINE_DIR": str(wrong)})
        assert (code, error["code"]) == (2, "no-project")
        assert error["message"] == f"HOOKLINE_DIR is not a project's .hookline folder: {wrong}"
        assert (f"did you mean {own}?" in error["help"]) == (wrong == cli.root)
    assert len(cli.json("task", "list", env={"HOOKLINE_DIR": str(own)})) == 1


def test_whoever_has_no_name_in_the_environment_has_one_in_the_system(cli: Cli) -> None:
    cli("emit", "done", env={"USER": ""})
    (event,) = cli.json("events", "--type", "done")
    assert event["metadata"]["triggeredBy"] == pwd.getpwuid(os.getuid()).pw_name


def test_a_run_is_explained_with_the_values_of_its_steps(cli: Cli) -> None:
    step = """{id: greet, run: 'echo "{{input.who}}"; exit 3'}"""
    cli.put("hookline.yaml", f"flows: {{f: {{steps: [{step}]}}}}\n")
    cli("trust", "--yes")
    assert cli("flow", "start", "f", "--input", json.dumps({"who": "ada"})).code == 1
    told = cli.json("why", "R-1")
    assert told["verdict"].startswith("R-1 (f) is failed: ")
    assert told["next"] == "hookline flow show R-1"
    assert [step["what"] for step in told["steps"]] == ["node", "run_started", "run_failed"]
    for command in ("show", "graph"):
        shown = cli("flow", command, "R-1").stdout
        assert "HOOKLINE_VALUE" not in shown
    assert 'echo "ada"; exit 3' in shown
    code, error = cli.refused("why", "R-9")
    assert (code, error["code"]) == (1, "unknown-run")


def test_a_full_disk_under_stdout_is_an_error(cli: Cli) -> None:
    cli.put("hookline.yaml", "")
    with open("/dev/full", "w") as full:
        told = subprocess.run(
            (*PROGRAM, "task", "add", "one"),
            cwd=cli.root,
            env=cli.env,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert told.returncode == 1
    assert told.stderr == "error[failed]: cannot write to stdout: No space left on device\n"
    assert [task["goal"] for task in cli.json("task", "list")] == ["one"]


def test_what_changed_since_it_was_trusted_ends_with_its_last_line(cli: Cli) -> None:
    cli.configure("hooks: {task_created: [{name: a, command: 'true'}]}\n")
    cli.configure("hooks: {task_created: [{name: b, command: 'true'}]}\n", trust=False)
    shown = cli("trust", "--yes").stdout.splitlines()
    assert shown[-2:-1] == ["+hooks: {task_created: [{name: b, command: 'true'}]}"]


def test_a_report_tells_all_that_was_used(cli: Cli) -> None:
    prepare(cli, go=True, say="no\n")
    assert cli("run", "do it", "--name", "one", "--iterations", "2").code == 5
    page = ReportFile(cli("session", "report", "one", "--output", "-").stdout).session["page"]
    (used,) = (each for each in page["limits"] if each["name"] == "iterations")
    assert (used["used"], used["allowed"]) == (2, 2)


def test_lists_break_at_words(cli: Cli) -> None:
    for number in range(3):
        cli.add(f"{number} " + "a goal that says at length what is to be done " * 2)
    for words in (("task", "list"), ("points",), ("hook", "list")):
        terminal = Terminal(cli, *words, columns=80, rows=200)
        assert terminal.ends() == 0
        told = [row for row in terminal.everything if not row.startswith("next: ")]
        terminal.close()
        assert " ".join(told).split() == cli(*words).stdout.split()


def test_what_is_empty_says_how_it_is_filled(cli: Cli) -> None:
    cli.json("task", "list")
    for command, said in (
        (("task", "graph"), "no tasks; `hookline task add GOAL` adds one"),
        (("dep", "list"), "no dependencies; `hookline dep add FROM TO` adds one"),
        (("hook", "log"), "no hook has been called yet"),
    ):
        assert cli(*command).stdout == f"{said}\n"


def test_an_unknown_id_names_the_command_that_lists_them(cli: Cli) -> None:
    cli.json("task", "list")
    for command, said in (
        (("task", "show", "nope"), "`hookline task list --all` shows every task"),
        (("flow", "cancel", "nope"), "`hookline flow status` lists them"),
        (("checkpoint", "get", "nope"), "`hookline checkpoint list TASK` shows them"),
        (("hook", "dispatch", "post_iteration"), "echo '{}' | hookline hook dispatch"),
    ):
        assert said in cli.refused(*command)[1]["help"]
