"""Hooks that start flows: deferred, known by name only, and never without end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

START = """#!/bin/sh
echo '{"actions": [{"type": "execute_workflow",
  "payload": {"workflowId": "NAME", "context": {"who": "hook"}}}]}'
"""
FLOW = "flows: {greet: {steps: [{id: say, run: 'echo hello {{input.who}} >> said.txt'}]}}\n"


def test_a_hook_starts_a_flow_and_the_command_does_not_wait(cli: Cli) -> None:
    cli.put("start.sh", START.replace("NAME", "greet"), 0o755)
    cli.configure(FLOW + "hooks: {task_completed: [{script: start.sh}]}\n")
    cli.add("one")
    cli.json("task", "complete", "T-1")
    (run,) = cli.json("flow", "status")
    assert (run["flow"], run["status"], run["input"]) == ("greet", "running", {"who": "hook"})
    assert run["metadata"]["startedBy"]["hook"] == "task_completed[0]:start.sh"
    assert not (cli.root / "said.txt").exists()
    assert cli("work", "--flows", "--once").code == 0
    assert (cli.root / "said.txt").read_text() == "hello hook\n"
    assert cli.json("flow", "status", "R-1")["status"] == "completed"


def test_an_unknown_flow_is_an_action_error(cli: Cli) -> None:
    cli.put("start.sh", START.replace("NAME", "gret"), 0o755)
    cli.configure(FLOW + "hooks: {task_completed: [{script: start.sh}]}\n")
    cli.add("one")
    told = cli("task", "complete", "T-1", "--json").stderr
    assert "action execute_workflow failed: there is no workflow 'gret'" in told
    (error,) = cli.events("action_error")
    assert error["data"]["actionType"] == "execute_workflow"
    assert error["data"]["error"] == "there is no workflow 'gret'"
    assert cli.json("flow", "status") == []


def test_a_python_hook_starts_a_flow_through_its_context(cli: Cli) -> None:
    cli.put(
        "myhooks.py",
        "def begin(event, context):\n"
        "    run = context.flows('greet', {'who': event.node_id})\n"
        "    return [{'type': 'log', 'payload': {'type': 'begun', 'data': {'run': run}}}]\n",
    )
    cli.configure(FLOW + "hooks: {task_completed: [{python: 'myhooks:begin'}]}\n")
    cli.add("one")
    cli.json("task", "complete", "T-1")
    assert cli.events("begun")[0]["data"] == {"run": "R-1"}
    assert cli("work", "--flows", "--once").code == 0
    assert (cli.root / "said.txt").read_text() == "hello T-1\n"


def test_a_run_whose_end_starts_the_next_comes_to_its_limit(cli: Cli) -> None:
    cli.put("start.sh", START.replace("NAME", "greet"), 0o755)
    cli.configure(FLOW + "hooks: {on-run-complete: [{script: start.sh}]}\n")
    assert cli("flow", "start", "greet", "--input", '{"who": "me"}').code == 0
    for _ in range(12):
        assert cli("work", "--flows", "--once").code == 0
    runs = cli.json("flow", "status")
    assert all(run["status"] == "completed" for run in runs)
    assert len(runs) == 10  # the first one, and one for each depth up to the limit and beyond
    assert len(cli.events("cascade_limit")) == 1


def test_a_value_that_looks_like_one_of_ours_stays_a_value(cli: Cli) -> None:
    cli.configure("flows: {ask: {steps: [{id: who, breakpoint: 'Who?'}]}}\n")
    cli("flow", "start", "ask")
    hostile = '{"$blob": "../../etc/passwd", "bytes": 1}'
    cli.json("effect", "post", "R-1", "who", "--status", "ok", "--value", hostile)
    assert cli("orchestrate", "R-1").code == 0
    run = cli.json("flow", "status", "R-1")
    assert run["status"] == "completed"
    assert run["value"] == {"who": {"$blob": "../../etc/passwd", "bytes": 1}}


def test_a_replay_starts_no_flow(cli: Cli) -> None:
    cli.put(
        "myhooks.py",
        "def begin(event, context):\n"
        "    try:\n"
        "        said = context.flows('greet', {})\n"
        "    except Exception as problem:\n"
        "        said = str(problem)\n"
        "    return [{'type': 'log', 'payload': {'type': 'said', 'data': {'said': said}}}]\n",
    )
    cli.configure(FLOW + "hooks: {task_completed: [{name: b, python: 'myhooks:begin'}]}\n")
    cli.add("one")
    cli.json("task", "complete", "T-1")
    assert cli.events("said")[0]["data"] == {"said": "R-1"}
    (completed,) = cli.events("task_completed")
    replayed = cli("hook", "replay", "b", "--event", str(completed["seq"]), "--json").json
    assert replayed["answer"][0]["payload"]["data"] == {"said": "a dry run does not start 'greet'"}
    assert len(cli.json("flow", "status")) == 1
