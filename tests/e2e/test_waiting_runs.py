"""Runs that wait: why is told, who has to act decides the exit code, and no news writes nothing."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from hookline.app import App
from hookline.errors import NEEDS_PERSON
from hookline.tasks import verbs
from tests.e2e.session_rig import HOOKLINE

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

START = ".hookline/hooks/on-iteration-start"
FLOWS = """
flows:
  asks: {steps: [{id: ok, breakpoint: "Ship it?"}, {id: out, run: "echo out"}]}
  one: {steps: [{id: a, run: "echo a >> trace"}]}
  both: {steps: [{id: p, parallel: [{id: a, run: "true"}, {id: ok, breakpoint: "Ship it?"}]}]}
  naps: {steps: [{id: nap, sleep: 1h}]}
  made: {steps: [{id: doc, task: {goal: write it}}]}
"""


def steer(cli: Cli, answer: dict[str, Any]) -> None:
    """A hook that always answers this."""
    text = f"#!/bin/sh\ncat > /dev/null\necho '{json.dumps(answer)}'\n"
    cli.put(f"{START}/mine", text, 0o755)
    cli.configure(FLOWS)


# Why


def test_the_reason_of_a_waiting_answer_is_what_is_shown(cli: Cli) -> None:
    steer(cli, {"action": "waiting", "reason": "the office is closed"})
    started = cli("flow", "start", "one")
    assert started.code == NEEDS_PERSON
    assert started.stdout.startswith("R-1   parked    one  the office is closed\n")
    assert cli.json("flow", "status", "R-1")["reason"] == "the office is closed"
    attention = cli("attention", "--json")
    assert attention.code == NEEDS_PERSON
    [item] = attention.json
    assert (item["kind"], item["id"]) == ("run", "R-1")
    assert (item["message"], item["command"]) == (
        "The flow one cannot continue: the office is closed.",
        "hookline flow resume R-1",
    )


def test_an_answered_question_waits_to_be_continued(cli: Cli) -> None:
    cli.configure(FLOWS)
    cli("flow", "start", "asks")
    assert cli("answer", "R-1", "ok", "yes").stderr == "next: hookline orchestrate R-1\n"
    told = "ok is answered; it waits to be continued"
    assert told in cli("flow", "status").stdout
    assert told in cli("flow", "status", "R-1").stdout
    assert told in cli("why", "R-1").stdout
    [item] = cli("attention", "--json").json
    assert (item["message"], item["command"]) == (
        f"The flow asks: {told}.",
        "hookline orchestrate R-1",
    )
    assert cli("orchestrate", "R-1").code == 0
    assert cli.json("attention") == []


def test_a_question_is_shown_with_the_reason(cli: Cli) -> None:
    steer(cli, {"action": "waiting", "reason": "the office is closed"})
    assert cli("flow", "start", "asks").code == NEEDS_PERSON
    [item] = cli("attention", "--json").json
    assert item["message"] == "The flow asks asks: Ship it? (the office is closed)"
    assert item["command"] == "hookline answer R-1 ok yes (or: no)"


def test_a_reason_that_a_clock_ends_needs_nobody(cli: Cli) -> None:
    steer(cli, {"action": "waiting", "reason": "rate-limit", "waitSeconds": 3600})
    cli.json("flow", "start", "one", "--detach")
    served = cli("work", "--flows", "--once", "--json")
    assert served.code == 0
    assert cli.json("flow", "status", "R-1")["reason"] == "rate-limit"
    assert cli.json("attention") == []


def test_a_reason_that_is_not_text_is_a_failure_of_the_hook(cli: Cli) -> None:
    steer(cli, {"action": "waiting", "reason": ["closed"]})
    assert cli("flow", "start", "one", "--json").json["status"] == "completed"
    [error] = cli.events("hook_error")
    assert error["data"]["error"] == "its answer cannot be read: `reason` must be text"


# Exit 4


@pytest.mark.parametrize(
    "flow", ["asks", "both"], ids=["a question", "a question beside what is done"]
)
def test_whatever_advances_a_run_that_asks_ends_with_4(cli: Cli, flow: str) -> None:
    cli.configure(FLOWS)
    assert cli("flow", "start", flow, "--json").code == NEEDS_PERSON
    assert cli("flow", "resume", "R-1", "--json").code == NEEDS_PERSON
    assert cli("orchestrate", "R-1", "--json").code == NEEDS_PERSON
    cli.json("flow", "start", flow, "--detach")
    served = cli("work", "--flows", "--once")
    assert (served.code, served.stdout) == (
        NEEDS_PERSON,
        "nothing is due; 1 advanced; 2 waiting for a person (R-1, R-2)\n",
    )
    assert cli("attention").code == NEEDS_PERSON


def test_a_run_that_no_hook_lets_go_on_ends_with_4(cli: Cli) -> None:
    steer(cli, {"action": "executed-tasks", "tasks": []})
    started = cli("flow", "start", "one", "--json")
    assert (started.code, started.json["reason"]) == (
        NEEDS_PERSON,
        "no progress in 3 iterations",
    )
    cli.json("flow", "start", "one", "--detach")
    assert cli("work", "--flows", "--once", "--json").code == NEEDS_PERSON
    assert [item["id"] for item in cli("attention", "--json").json] == ["R-1", "R-2"]


def test_an_effect_of_a_run_that_cannot_go_on_ends_with_4(cli: Cli) -> None:
    flow = (
        "from hookline import flow\n\n\n@flow\nasync def f(ctx):\n    await ctx.run('{}', id='a')\n"
    )
    cli.put(".hookline/flows/f.py", flow.format("true"))
    cli.configure("")
    cli.json("flow", "start", "f", "--detach")
    cli.put(".hookline/flows/f.py", flow.format("false"))
    cli.json("trust", "--yes")
    code, error = cli.refused("effect", "run", "R-1", "a")
    assert (code, error["code"]) == (NEEDS_PERSON, "needs-person")
    assert cli("attention").code == NEEDS_PERSON


def test_a_hook_that_talks_of_the_iteration_limit_is_not_it(cli: Cli) -> None:
    steer(cli, {"action": "waiting", "reason": "the iteration limit of the day was reached"})
    assert cli("flow", "start", "one", "--json").code == NEEDS_PERSON


@pytest.mark.parametrize("flow", ["naps", "made"])
def test_what_comes_by_itself_needs_nobody(cli: Cli, flow: str) -> None:
    cli.configure(FLOWS)
    cli.json("flow", "start", flow, "--detach")
    assert cli("work", "--flows", "--once", "--json").code == 0
    assert cli.json("attention") == []


# No news


@pytest.mark.parametrize("flow", ["asks", "made"])
@pytest.mark.parametrize("command", ["orchestrate", "resume", "serve"])
def test_no_news_writes_nothing(cli: Cli, flow: str, command: str) -> None:
    cli.configure(FLOWS)
    words = {
        "orchestrate": ("orchestrate", "R-1"),
        "resume": ("flow", "resume", "R-1"),
        "serve": ("work", "--flows", "--once"),
    }[command]
    first = cli("flow", "start", flow, "--json")
    with closing(sqlite3.connect(cli.database)) as connection:
        before = contents(connection)
        again = cli(*words, "--json")
        assert contents(connection) == before
    if command != "serve":
        assert (again.code, again.json) == (first.code, first.json)


def contents(connection: sqlite3.Connection) -> tuple[int, list[str]]:
    """Whether anybody committed something, and all that is stored."""
    version = connection.execute("PRAGMA data_version").fetchone()[0]
    return version, list(connection.iterdump())


def test_an_answer_a_new_flow_and_a_damaged_journal_are_news(cli: Cli) -> None:
    cli.configure(FLOWS)
    for _ in range(3):
        cli("flow", "start", "asks", "--json")
    cli.json("answer", "R-1", "ok", "yes")
    assert cli.json("orchestrate", "R-1")["status"] == "completed"
    with closing(sqlite3.connect(cli.database)) as connection, connection:
        connection.execute("UPDATE effects SET args = '{\"question\": 1}' WHERE run = 3")
    assert "is damaged" in cli("orchestrate", "R-3", "--json").json["reason"]
    cli.configure(FLOWS.replace('{id: ok, breakpoint: "Ship it?"}, ', ""))
    changed = cli("orchestrate", "R-2", "--json")
    assert changed.json["reason"] == "waits for breakpoint 'ok'"  # its steps are pinned


# Serving without an agent


def test_runs_are_served_and_calls_delivered_without_an_agent(cli: Cli) -> None:
    cli.configure(
        FLOWS + "hooks:\n  task_created:\n    - {name: look, command: 'echo x >> seen'}\n"
    )
    cli.json("flow", "start", "one", "--detach")
    with closing(App.open(str(cli.root), environ=cli.env)) as app:
        for number in range(60):  # as a process does that is killed before it calls its hooks
            app.change(verbs.add, f"task {number}")
    assert set(cli.calls("look")) == {"pending"}
    served = cli("work", "--flows", "--once")
    assert (served.code, served.stderr.count("error")) == (0, 0)
    assert cli.calls("look") == ["ok"] * 60
    assert (cli.root / "trace").read_text() == "a\n"


# How long it took


def test_a_result_that_was_posted_shows_no_duration(cli: Cli) -> None:
    """A hook does one effect by itself and posts its result, and lets Hookline run the other."""
    cli.put(
        "hook.sh",
        "#!/bin/sh\nsleep 1\ndate +%s.%N > posted\n"
        f"{HOOKLINE} effect post R-1 p/a --status ok\n"
        f"{HOOKLINE} effect run R-1 p/b\n"
        'echo \'{"action": "executed-tasks", "count": 2, "tasks": ["p/a", "p/b"]}\'\n',
        0o755,
    )
    parts = '[{id: a, run: "exit 9"}, {id: b, run: "true"}]'
    cli.configure(
        "hooks: {on-iteration-start: [{script: hook.sh}]}\n"
        f"flows: {{f: {{steps: [{{id: p, parallel: {parts}}}]}}}}"
    )
    started = cli("flow", "start", "f")
    assert started.code == 0, started.stderr
    lines = [line.split() for line in started.stderr.splitlines() if " node " in line]
    assert [words[2:] for words in lines if words[2] == "p/a"] == [["p/a"]]
    (took,) = (words[3] for words in lines if words[2] == "p/b")
    ended = datetime.fromisoformat(cli.events("effect_resolved")[-1]["timestamp"])
    posted = float((cli.root / "posted").read_text())
    assert float(took.removesuffix("s")) <= ended.timestamp() - posted + 0.1


def test_shown_durations_count_from_the_start_of_work(cli: Cli) -> None:
    parts = '[{id: a, run: "sleep 2; date +%s.%N > over"}, {id: b, run: "true"}]'
    limits = "limits: {concurrency: {node: 1}}"
    cli.configure(f"{limits}\nflows: {{f: {{steps: [{{id: p, parallel: {parts}}}]}}}}")
    started = cli("flow", "start", "f")
    shown = dict(re.findall(r"node +(p/\w)  ([0-9.]+)s", started.stderr))
    ended = datetime.fromisoformat(cli.events("effect_resolved")[-1]["timestamp"])
    # b was asked for with a, and could begin only when a was over.
    assert float(shown["p/b"]) <= ended.timestamp() - float((cli.root / "over").read_text()) + 0.1
    assert float(shown["p/a"]) >= 1.9
