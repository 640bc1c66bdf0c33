"""Work without a terminal: it goes on, is resumed once when it is killed, and people reach it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from hookline.domain.text.terminal import took
from tests.e2e.conftest import eventually
from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.session_rig import PROMISE, Rig
from tests.e2e.terminal_rig import Terminal, prepare

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def running(cli: Cli) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli.json("status")["running"]
    return found


def session_pid(cli: Cli) -> int | None:
    """The process that runs the session, once the agent is at work in it."""
    found = [each for each in running(cli) if each["kind"] == "session"]
    return int(found[0]["pid"]) if found and "pid" in found[0] else None


def ended(cli: Cli) -> bool:
    return bool(cli.events("session_ended"))


def has_notes(cli: Cli, count: int) -> bool:
    """Whether the supervisor has said so much."""
    return len(cli.events("run_log")) == count


def test_a_session_goes_on_when_its_terminal_is_closed(cli: Cli) -> None:
    prepare(cli)
    terminal = Terminal(cli, "run", "make it work", "--detach", columns=80, rows=24)
    terminal.shows("make-it-work (R-1, T-1) runs in the background")
    for command in ("hookline status", "hookline attach make-it-work", "hookline stop make-it-w"):
        terminal.shows(command)
    assert terminal.ends() == 0
    terminal.hang_up()
    eventually(lambda: (cli.root / "working.1").exists(), "the agent's turn")
    (found,) = running(cli)
    assert (found["name"], found["taskId"], found["agent"]) == ("make-it-work", "T-1", "bot")
    assert "running   make-it-work  iteration 1/20" in cli("status").stdout
    assert "hookline attach make-it-work" in cli("status").stdout
    cli.put("go", "")
    eventually(lambda: ended(cli), "the end")
    (end,) = cli.events("session_ended")
    assert end["data"]["outcome"] == "completed"
    eventually(lambda: running(cli) == [], "rest")
    assert "UNPROVEN  make-it-work  completed " in cli("status").stdout
    log = (cli.root / ".hookline/logs/R-1.log").read_text()
    assert "completed after 1 iteration" in log


def test_no_module_of_the_project_is_taken_for_one_of_hookline(cli: Cli) -> None:
    prepare(cli, go=True)
    for name in ("msgspec", "hookline"):
        cli.put(f"{name}/__init__.py", "open('ran', 'w').close()\nraise SystemExit('planted')\n")
    # As the installed command does, whose own folder is not the project's.
    typed = (sys.executable, "-P", "-m", "hookline", "run", "make it work", "--detach")
    subprocess.run(typed, cwd=cli.root, env=cli.env, check=True, capture_output=True)
    eventually(lambda: ended(cli), "the end")
    assert cli.events("session_ended")[0]["data"]["outcome"] == "completed"
    assert not (cli.root / "ran").exists()


def test_a_killed_session_is_resumed_once(cli: Cli) -> None:
    prepare(cli)
    made = cli.json("run", "make it work", "--detach", "--name", "one")
    assert (made["runId"], made["name"], made["taskId"]) == ("R-1", "one", "T-1")
    eventually(lambda: (cli.root / "working.1").exists(), "the agent's turn")
    first = session_pid(cli)
    assert first is not None
    os.kill(first, signal.SIGKILL)
    eventually(lambda: session_pid(cli) not in (None, first), "the change")
    second = session_pid(cli)
    assert second is not None
    told = [event["data"]["message"] for event in cli.events("run_log")]
    assert told == ["it was killed by signal 9; resuming it"]
    os.kill(second, signal.SIGKILL)
    eventually(lambda: len(cli.events("run_log")) == 2, "the change")
    eventually(lambda: running(cli) == [], "rest")
    (item,) = cli.json("status")["waiting"]
    assert (item["kind"], item["id"]) == ("session", "one")
    assert item["command"] == "hookline run --resume --name one"
    cli.put("go", "")
    assert cli("resume").code == 0
    assert ended(cli)


def test_people_hear_of_a_kill_although_nothing_is_left_to_tell_them(cli: Cli) -> None:
    told = cli.root.parent / "told"
    line = f'echo "$HOOKLINE_MESSAGE" >> {told}'
    hooks = {"attention_needed": [{"name": "tell", "command": line}]}
    prepare(cli, f"hooks: {json.dumps(hooks)}\n")
    cli.json("run", "make it work", "--detach", "--name", "one")
    for notes in (1, 2):
        eventually(lambda: session_pid(cli) is not None, "a process")
        os.kill(session_pid(cli) or 0, signal.SIGKILL)
        eventually(partial(has_notes, cli, notes), "a note of the supervisor")
    eventually(lambda: told.exists() and "process is gone" in told.read_text(), "the news")


def test_people_stop_what_runs_in_the_background(cli: Cli) -> None:
    prepare(cli, say="not yet\n")
    cli.json("run", "make it work", "--detach", "--name", "one")
    eventually(lambda: (cli.root / "working.1").exists(), "the agent's turn")
    assert cli("stop").stdout == "one stops after this turn\n"
    cli.put("go", "")
    eventually(lambda: ended(cli), "the end")
    (found,) = cli.json("status")["resting"]
    worked = took(found["minutes"] * 60)  # and not the time since it began
    assert f"stopped   one  1/20 iterations · {worked} · " in cli("status").stdout
    assert "hookline resume one" in cli("status").stdout
    code, error = cli.refused("stop")
    assert (code, error["code"]) == (1, "illegal-transition")


def test_a_resumed_session_can_be_detached_too(cli: Cli) -> None:
    prepare(cli, go=True, say="not yet\n")
    assert cli("run", "make it work", "--name", "one", "--iterations", "1").code == 5
    cli.put("say", "<promise>COMPLETE</promise>\n")
    assert cli.json("resume", "--iterations", "3", "--detach")["runId"] == "R-1"
    eventually(lambda: len(cli.events("session_ended")) == 2, "the change")
    assert cli.events("session_ended")[1]["data"]["outcome"] == "completed"


def test_a_session_that_a_shutdown_ends_says_so(cli: Cli) -> None:
    prepare(cli)
    made = cli.json("run", "make it work", "--detach", "--name", "one")
    eventually(lambda: (cli.root / "working.1").exists(), "the agent's turn")
    os.kill(made["supervisor"], signal.SIGTERM)  # as each process gets it
    eventually(lambda: ended(cli), "the end")
    eventually(lambda: running(cli) == [], "rest")
    status = cli("status").stdout
    assert status.startswith("stopped   one  ")
    assert " · terminated (SIGTERM)\n          hookline resume one\n" in status


@pytest.mark.torture
def test_after_a_restart_of_the_machine_status_says_what_was_cut(cli: Cli) -> None:
    prepare(cli)
    made = cli.json("run", "make it work", "--detach", "--name", "one")
    eventually(lambda: (cli.root / "working.1").exists(), "the agent's turn")
    pid = session_pid(cli)
    assert pid is not None
    for each in (made["supervisor"], pid):
        os.kill(each, signal.SIGKILL)
    with closing(sqlite3.connect(cli.root / ".hookline/hookline.db")) as store, store:
        store.execute(
            "UPDATE runs SET owner = 'an-earlier-boot' || substr(owner, instr(owner, ':'))"
        )
    eventually(lambda: running(cli) == [], "the end of its lease")
    (item,) = cli.json("status")["waiting"]
    assert item["message"] == "Its process is gone: the machine was restarted."
    status = cli("status").stdout
    assert "waiting   one  Its process is gone: the machine was restarted.\n" in status
    assert "          hookline run --resume --name one\n" in status
    cli.put("go", "")
    assert cli("resume").code == 0


def test_who_could_not_be_told_is_said_before_anything_is_detached(cli: Cli) -> None:
    rig = Rig(cli)
    slack = {"notify": "slack", "url_env": "SLACK_URL"}
    rig.configure({"attention_needed": [slack], "stop": ["promise"]})
    rig.repository()
    rig.turns(PROMISE)
    told = "no notification is sent by slack: SLACK_URL is not set"
    assert told in cli("run", "make it work", "--detach").stderr
    eventually(lambda: ended(cli), "the end")
    assert told in cli("work", "--detach").stderr
    cli("stop", "work")
    eventually(lambda: running(cli) == [], "rest")
    assert "SLACK_URL is not set" in "".join(cli("check")[1:])


def test_what_is_wrong_is_said_before_anything_is_detached(cli: Cli) -> None:
    prepare(cli)
    code, error = cli.refused("run", "make it work", "--detach", "--agent", "nobody")
    assert (code, error["code"]) == (2, "bad-input")
    cli.put("hookline.yaml", "version: 1\nagent: [\n")
    code, error = cli.refused("run", "make it work", "--detach")
    assert (code, error["code"]) == (2, "bad-configuration")
    assert running(cli) == []


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    found = Pipeline(cli)
    found.begin()
    return found


def test_a_worker_in_the_background_merges_and_is_stopped(line: Pipeline, cli: Cli) -> None:
    line.turn('until [ -e "$HOOKLINE_PROJECT/go" ]; do sleep 0.02; done; work\n')
    task = cli.add("part 1")
    made = cli.json("work", "--detach")
    assert made["log"].endswith("work.log")
    eventually(lambda: cli.task(task)["state"] == "active", "the change")
    kinds = {each["kind"] for each in running(cli)}
    assert kinds == {"worker", "session"}
    cli.put("go", "")
    eventually(lambda: cli.task(task)["state"] == "completed", "the change")
    assert f"merged    {task}" in cli("status").stdout
    eventually(lambda: f"{task}   merged" in cli("logs", "work").stdout, "a line in the log")
    assert "stops after the turns under way" in cli("stop").stdout
    eventually(lambda: running(cli) == [], "rest")
    code, error = cli.refused("stop", "work")
    assert (code, error["message"]) == (1, "no worker is running")


@pytest.mark.torture
def test_a_killed_worker_is_started_again(line: Pipeline, cli: Cli) -> None:
    line.turn('until [ -e "$HOOKLINE_PROJECT/go" ]; do sleep 0.02; done; work\n')
    task = cli.add("part 1")
    cli.json("work", "--detach", "--once")
    eventually(lambda: cli.task(task)["state"] == "active", "the change")
    (worker,) = (each for each in running(cli) if each["kind"] == "worker")
    os.kill(worker["pid"], signal.SIGKILL)
    cli.put("go", "")
    eventually(lambda: cli.task(task)["state"] == "completed", "the change")
    log = (cli.root / ".hookline/logs/work.log").read_text()
    assert "supervisor: it was killed by signal 9; resuming it" in log
    eventually(lambda: running(cli) == [], "rest")


@pytest.mark.torture
def test_a_worker_in_the_background_is_watched_by_its_name(line: Pipeline, cli: Cli) -> None:
    code, error = cli.refused("attach", "work")
    assert (code, error["message"]) == (1, "no worker is running")
    line.turn('until [ -e "$HOOKLINE_PROJECT/go" ]; do sleep 0.02; done; work\n')
    cli.add("part 1")
    assert "  watch   hookline attach work\n" in cli("work", "--detach", "--once").stdout
    terminal = Terminal(cli, "attach", "work", columns=80, rows=24)
    terminal.shows("starts: part 1")
    terminal.type(b"\x03")
    terminal.shows("the worker continues; `hookline stop work` ends it")
    assert terminal.ends() == 0
    watching = cli.start("attach", "work", "--json")
    assert watching.stdout is not None
    assert json.loads(watching.stdout.readline())["type"] == "worker_log"
    cli.put("go", "")
    lines = [json.loads(each) for each in watching.communicate(timeout=100)[0].splitlines()]
    assert lines[-1]["type"] == "worker_log"
    assert "1 merged" in lines[-1]["data"]["line"]


def test_several_terminals_do_not_disturb_each_other(cli: Cli) -> None:
    prepare(cli)
    for name in ("one", "two"):
        cli.json("run", f"do {name}", "--detach", "--name", name)
    eventually(lambda: len([e for e in running(cli) if "pid" in e]) == 2, "the change")
    code, error = cli.refused("stop")
    assert (code, error["message"]) == (2, "2 sessions are at work")
    assert error["help"] == "name one: `hookline stop one`, or `hookline stop two`"
    busy = "all 2 sessions are at work: there is none to resume"
    assert cli.refused("resume")[1]["message"] == busy
    assert "`hookline attach one`" in cli.refused("attach")[1]["help"]
    assert "`hookline session pause two`" in cli.refused("session", "pause")[1]["help"]
    assert cli("stop", "two").code == 0
    cli.put("go", "")
    eventually(lambda: len(cli.events("session_ended")) == 2, "the change")
    outcomes = {e["data"]["session"]: e["data"]["outcome"] for e in cli.events("session_ended")}
    assert outcomes["one"] == "completed"
