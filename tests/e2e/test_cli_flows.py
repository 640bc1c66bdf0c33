"""`hookline flow`, `orchestrate`, `work`, `answer` and `attention`, as a user runs them."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from hookline.errors import NEEDS_PERSON
from tests.e2e.conftest import Cli, eventually, is_running, kill, reapers

if TYPE_CHECKING:
    from pathlib import Path

SHIP = """
flows:
  ship:
    steps:
      - {id: build, run: "echo build >> trace"}
      - {id: both, parallel: [{id: a, run: "echo a >> trace"}, {id: b, run: "echo b >> trace"}]}
      - {id: ok, breakpoint: "Ship it?"}
      - {id: out, run: "echo out >> trace"}
"""
LONG = """
flows:
  long:
    steps:
      - {id: nap, run: "echo $$ > pid; sleep 300"}
      - {id: out, run: "echo out >> trace"}
"""
WAITS = """
flows:
  waits:
    steps: [{id: nap, sleep: 1h}]
  asks:
    steps: [{id: ok, breakpoint: "Really?"}]
  quick:
    steps: [{id: one, run: "echo one >> trace"}, {id: two, run: "exit {{input.code}}"}]
"""
SIGNALLED = """
from hookline import flow


@flow
async def release(ctx):
    given = await ctx.signal("go")
    return await ctx.run(f"echo {given['word']}")
"""


def trace(cli: Cli) -> list[str]:
    """What the commands of a run wrote."""
    path = cli.root / "trace"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def run_of(cli: Cli, run_id: str = "R-1") -> dict[str, Any]:
    """A run as it stands."""
    found: dict[str, Any] = cli.json("flow", "status", run_id)
    return found


def child_pid(cli: Cli) -> int:
    """The pid that the command of the long flow wrote."""
    path: Path = cli.root / "pid"
    eventually(lambda: path.exists() and path.read_text().strip() != "", "the command started")
    return int(path.read_text())


def test_from_start_to_end_through_a_breakpoint(cli: Cli) -> None:
    cli.configure(SHIP)
    started = cli("flow", "start", "ship", "--json")
    assert started.code == 4
    assert started.stderr == ""
    assert started.json["runId"] == "R-1"
    assert started.json["status"] == "parked"
    assert sorted(trace(cli)) == ["a", "b", "build"]

    waiting = cli("attention", "--json")
    assert waiting.code == 4
    (item,) = waiting.json
    assert item["kind"] == "breakpoint"
    assert "Ship it?" in item["message"]
    assert item["since"] is not None
    assert item["command"] == "hookline answer R-1 ok yes (or: no)"

    answered = cli.json("answer", "R-1", "ok", "yes", "--note", "go on")
    assert (answered["effectId"], answered["answer"], answered["note"]) == ("ok", True, "go on")
    ended = cli.json("orchestrate", "R-1")
    assert ended["status"] == "completed"
    assert ended["value"]["ok"] == {"answer": True, "note": "go on"}
    assert trace(cli)[-1] == "out"
    assert cli.json("attention") == []


def test_detached_run_waits_for_work(cli: Cli) -> None:
    cli.configure(WAITS)
    started = cli.json("flow", "start", "quick", "--input", '{"code": 0}', "--detach")
    assert (started["runId"], started["status"]) == ("R-1", "running")
    assert trace(cli) == []
    (first,) = cli.json("effect", "list", "R-1", "--pending")
    assert (first["effectId"], first["kind"]) == ("one", "node")
    assert cli.json("work", "--flows", "--once")["served"] >= 1
    assert run_of(cli)["status"] == "completed"
    assert trace(cli) == ["one"]


def test_progress_is_plain_lines_when_piped(cli: Cli) -> None:
    cli.configure(WAITS)
    done = cli("flow", "start", "quick", "--input", '{"code": 3}')
    assert done.code == 1
    assert "✓ node       one" in done.stderr
    assert "✗ node       two" in done.stderr
    assert "\x1b" not in done.stderr + done.stdout
    assert done.stdout.startswith("R-1   failed")


def test_interrupt_parks_the_run_and_ends_its_children(cli: Cli) -> None:
    cli.configure(LONG)
    process = cli.start("flow", "start", "long")
    child = child_pid(cli)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "R-1 is parked; resume it with `hookline orchestrate R-1`" in said
    eventually(lambda: not is_running(child), "the child's end")
    assert (run_of(cli)["status"], run_of(cli)["reason"]) == ("parked", "interrupted")
    assert cli("attention", "--json").json[0]["command"] == "hookline flow resume R-1"
    cli.json("effect", "post", "R-1", "nap", "--status", "ok")
    assert cli.json("flow", "resume", "R-1")["status"] == "completed"
    assert trace(cli) == ["out"]


def test_terminate_is_like_interrupt(cli: Cli) -> None:
    cli.configure(LONG)
    process = cli.start("flow", "start", "long")
    child = child_pid(cli)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=100)
    eventually(lambda: not is_running(child), "the child's end")
    assert run_of(cli)["status"] == "parked"


def test_cancel_reaches_the_process_that_advances(cli: Cli) -> None:
    cli.configure(LONG)
    process = cli.start("flow", "start", "long", "--json")
    child = child_pid(cli)
    assert cli.json("flow", "cancel", "R-1", "--reason", "changed my mind")["status"] == "cancelled"
    out, _ = process.communicate(timeout=100)
    assert process.returncode == 1
    assert json.loads(out)["status"] == "cancelled"
    eventually(lambda: not is_running(child), "the child's end")
    code, error = cli.refused("flow", "cancel", "R-1")
    assert (code, error["message"]) == (1, "R-1 is cancelled")


def test_cancel_ends_what_a_dead_process_left(cli: Cli) -> None:
    cli.configure(LONG)
    process = cli.start("flow", "start", "long")
    child = child_pid(cli)
    for reaper in reapers(process):  # it would end the child first
        os.kill(reaper, signal.SIGKILL)
    kill(process)
    assert is_running(child)
    assert cli.json("flow", "cancel", "R-1")["status"] == "cancelled"
    eventually(lambda: not is_running(child), "the orphan's end")


def test_paused_run_rests_until_it_is_resumed(cli: Cli) -> None:
    cli.configure(SHIP)
    cli.json("flow", "start", "ship", "--detach")
    assert cli.json("flow", "pause", "R-1", "--reason", "lunch")["status"] == "paused"
    cli.json("work", "--flows", "--once")
    assert trace(cli) == []
    assert cli.refused("orchestrate", "R-1")[1]["help"].startswith("`hookline flow resume R-1`")
    assert cli("flow", "resume", "R-1").code == 4
    assert "build" in trace(cli)


def test_stopped_run_is_parked(cli: Cli) -> None:
    cli.configure(SHIP)
    cli.json("flow", "start", "ship", "--detach")
    assert cli.json("flow", "stop", "R-1")["status"] == "parked"
    assert cli("attention", "--json").json[0]["id"] == "R-1"
    assert cli("flow", "resume", "R-1").code == 4


def test_signal_reaches_the_flow(cli: Cli) -> None:
    cli.put(".hookline/flows/release.py", SIGNALLED)
    cli.configure("")
    assert cli.json("flow", "start", "release")["status"] == "parked"
    sent = cli.json("flow", "signal", "R-1", "go", "--value", '{"word": "now"}')
    assert sent == {"runId": "R-1", "signal": "go", "status": "parked"}
    ended = cli.json("orchestrate", "R-1")
    assert ended["value"]["stdout"] == "now\n"
    code, error = cli.refused("flow", "signal", "R-1", "go")
    assert (code, error["message"]) == (1, "R-1 is completed")


def test_rerun_keeps_what_came_before_the_step(cli: Cli) -> None:
    cli.configure(SHIP)
    cli("flow", "start", "ship", "--json")
    cli.json("answer", "R-1", "ok", "yes")
    cli.json("orchestrate", "R-1")
    before = trace(cli)
    again = cli.json("flow", "rerun", "R-1", "--from", "out")
    assert (again["runId"], again["status"]) == ("R-2", "completed")
    assert trace(cli) == [*before, "out"]
    old, new = run_of(cli, "R-1"), run_of(cli, "R-2")
    assert new["metadata"]["rerunOf"] == "R-1"
    assert new["input"] == old["input"]
    ids = [effect["effectId"] for effect in new["effects"]]
    assert ids == [effect["effectId"] for effect in old["effects"]]
    assert cli.refused("flow", "rerun", "R-1", "--from", "nothing")[1]["code"] == "unknown-effect"


def test_graphs_show_branches_and_states(cli: Cli) -> None:
    cli.configure(SHIP)
    cli("flow", "start", "ship", "--json")
    assert "│  ○ a run" in cli("flow", "graph", "ship").stdout
    assert "│  ✓ a node" in cli("flow", "graph", "R-1").stdout
    assert "● ok breakpoint" in cli("flow", "graph", "R-1").stdout
    mermaid = cli("flow", "graph", "ship", "--format", "mermaid").stdout
    assert mermaid.startswith("flowchart TD\n")
    assert "n0 --> n1\n  n0 --> n2\n  n1 --> n3\n  n2 --> n3" in mermaid
    assert cli("flow", "graph", "R-1", "--format", "dot").stdout.startswith("digraph flow {")
    assert cli.json("flow", "graph", "ship")["format"] == "terminal"


@pytest.mark.embedded
def test_journal_is_replayable_and_names_what_is_damaged(cli: Cli) -> None:
    cli.configure(SHIP)
    cli("flow", "start", "ship", "--json")
    lines = [json.loads(line) for line in cli("flow", "journal", "R-1").stdout.splitlines()]
    assert [line["seq"] for line in lines] == sorted(line["seq"] for line in lines)
    assert lines[0]["type"] == "run_started"
    assert {"effect_requested", "effect_resolved"} <= {line["type"] for line in lines}
    assert cli.json("flow", "journal", "R-1") == lines

    hurt = next(line["seq"] for line in lines if line["type"] == "effect_resolved")
    with closing(sqlite3.connect(cli.database)) as connection, connection:
        sql = "UPDATE events SET data = replace(data, '\"ok\"', '\"no\"') WHERE seq = ?"
        connection.execute(sql, (hurt,))
    damaged = cli("flow", "journal", "R-1")
    assert damaged.code == 1
    assert f"event {hurt} (effect_resolved of R-1) is damaged" in damaged.stderr
    assert len(damaged.stdout.splitlines()) == len(lines) - 1
    assert cli.refused("flow", "journal", "R-1")[1]["code"] == "journal-damaged"


def test_iteration_limit_ends_with_five(cli: Cli) -> None:
    cli.configure(SHIP)
    cli.json("flow", "start", "ship", "--detach")
    limited = cli("orchestrate", "R-1", "--max-iterations", "1", "--json")
    assert limited.code == 5
    assert "iteration limit" in limited.json["reason"]
    assert cli("orchestrate", "R-1").code == 4


def test_work_serves_until_it_is_interrupted(cli: Cli) -> None:
    cli.configure(WAITS)
    worker = cli.start("work", "--flows")
    assert worker.stderr is not None
    assert "advancing runs" in worker.stderr.readline()
    cli.json("flow", "start", "quick", "--input", '{"code": 0}', "--detach")
    eventually(lambda: trace(cli) == ["one"], "the run was picked up")
    worker.send_signal(signal.SIGINT)
    worker.communicate(timeout=100)
    assert worker.returncode == 130


def test_doctor_says_when_nothing_serves(cli: Cli) -> None:
    cli.configure(WAITS)

    def flows() -> dict[str, Any]:
        checks = cli("doctor", "--json").json["checks"]
        found: dict[str, Any] = next(check for check in checks if check["name"] == "flows")
        return found

    cli("flow", "start", "asks", "--json")
    assert flows()["status"] == "ok"
    cli.json("flow", "start", "quick", "--input", '{"code": 0}', "--detach")
    eventually(lambda: flows()["status"] == "warning", "the warning", pause=0.5)
    assert flows()["fix"] == "hookline work --flows"
    assert cli("work", "--flows", "--once").code == NEEDS_PERSON  # the other one still asks
    assert flows()["status"] == "ok"


def test_attention_names_blocked_tasks_and_held_back_hooks(cli: Cli) -> None:
    task = cli.add("write the page")
    cli.json("task", "start", task)
    cli.json("task", "block", task, "--reason", "no key", "--required-knowledge", "the key")
    cli.configure("hooks: {task_completed: [{command: 'true'}]}", trust=False)
    found = cli("attention", "--json")
    assert found.code == 4
    assert [item["command"] for item in found.json] == [
        "hookline trust",
        f"hookline task unblock {task}",
    ]
    assert "no key" in found.json[1]["message"]


def test_run_cannot_wait_for_itself(cli: Cli) -> None:
    line = f"{sys.executable} -m hookline orchestrate R-1"
    cli.configure(f"flows: {{own: {{steps: [{{id: me, run: {line!r}}}]}}}}")
    done = cli("flow", "start", "own", "--json")
    assert done.code == 1
    (effect,) = run_of(cli)["effects"]
    assert "this process runs inside R-1" in effect["value"]["stderr"]


def test_untrusted_flows_are_refused(cli: Cli) -> None:
    cli.configure(SHIP, trust=False)
    code, error = cli.refused("flow", "start", "ship")
    assert (code, error["code"]) == (2, "untrusted")
    assert trace(cli) == []


BAD: list[tuple[tuple[str, ...], int, str]] = [
    (("flow", "start", "nothing"), 1, "unknown-flow"),
    (("flow", "start", "ship", "--input", "{"), 2, "bad-input"),
    (("flow", "start", "ship", "--input", "[]"), 2, "bad-input"),
    (("flow", "start", "ship", "--metadata", "1"), 2, "bad-input"),
    (("flow", "status", "R-9"), 1, "unknown-run"),
    (("flow", "status", "what"), 1, "unknown-run"),
    (("flow", "cancel", "R-9"), 1, "unknown-run"),
    (("flow", "signal", "R-1", "x", "--value", "{"), 2, "bad-input"),
    (("flow", "signal", "R-1", "cancel"), 2, "bad-input"),
    (("flow", "graph", "nothing"), 1, "unknown-flow"),
    (("flow", "journal", "R-9"), 1, "unknown-run"),
    (("orchestrate", "R-9"), 1, "unknown-run"),
    (("orchestrate", "R-1", "--max-iterations", "0"), 2, "bad-input"),
    (("answer", "R-1", "nothing", "yes"), 1, "unknown-effect"),
    (("answer", "R-1", "build", "maybe"), 2, "usage"),
]


def test_bad_input_is_named(cli: Cli) -> None:
    cli.configure(SHIP)
    cli.json("flow", "start", "ship", "--detach")
    for args, code, name in BAD:
        refused, error = cli.refused(*args)
        assert (refused, error["code"]) == (code, name), args


def test_people_only(cli: Cli) -> None:
    cli.configure(SHIP)
    cli("flow", "start", "ship", "--json")
    code, error = cli.refused("answer", "R-1", "ok", "yes", env={"HOOKLINE_AGENT": "bot"})
    assert (code, error["code"]) == (4, "people-only")
    cli.json("answer", "R-1", "ok", "no")
    assert cli.refused("answer", "R-1", "ok", "no")[1]["code"] == "effect-resolved"


@pytest.mark.parametrize("name", ["flow", "effect", "orchestrate", "work", "answer", "attention"])
def test_help(cli: Cli, name: str) -> None:
    shown = cli(name, "--help")
    assert shown.code == 0
    assert f"hookline {name}" in shown.stdout
