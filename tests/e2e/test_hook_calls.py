"""Every call of every hook takes one path: it is isolated, recorded, logged and told."""

from __future__ import annotations

import ast
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

MANY = 300
# A command as a program of its own that then tells what it read and loaded.
PARSED = """
import sys
from collections import Counter
from hookline.hooks.language import grammar
from hookline.surfaces.cli.main import run
counted, parse = Counter(), grammar.parse
def counting(expression):
    counted[expression] += 1
    return parse(expression)
grammar.parse = counting
code = run(sys.argv[1:])
print(code, dict(counted), file=sys.stderr)
"""
LOADED = """
import sys
import hookline.__main__
from hookline.surfaces.cli.main import run
code = run(sys.argv[1:])
tuples = (f"tuple:{each.__module__}.{each.__name__}" for each in tuple.__subclasses__())
print(code, *sorted(sys.modules), *tuples, file=sys.stderr)
"""


def git(cli: Cli, *words: str) -> None:
    subprocess.run(("git", *words), cwd=cli.root, check=True, capture_output=True)


def logged(cli: Cli, hook: str) -> list[str]:
    """The lines of a hook in the log that a person tails."""
    lines = (cli.root / ".hookline/logs/hooks.log").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if f" hook={hook} " in line]


# Conditions


def test_a_condition_that_git_cannot_answer_fails_its_hook_alone(cli: Cli) -> None:
    git(cli, "init", "-q")
    cli.configure(
        "hooks:\n  task_completed:\n"
        "    - {name: docs, command: 'true', when: \"changed('*.md')\"}\n"
        "    - {name: other, command: 'touch ran'}\n"
    )
    cli.add("one")
    cli.put(".git/config", "[broken\n")
    done = cli("task", "complete", "T-1")
    assert done.code == 0
    assert "hook docs at event" in done.stderr
    assert (cli.root / "ran").exists()
    assert cli.calls("docs", "status, attempts") == [("failed", 0)]
    (error,) = cli.events("hook_error")
    assert error["data"]["hookName"] == "docs"
    again = cli("task", "add", "two")
    assert (again.code, again.stderr) == (0, "")
    assert len(cli.calls("docs")) == 1


def test_a_condition_that_breaks_is_a_failure_and_the_others_run(cli: Cli) -> None:
    cli.configure(
        "events: [deploy]\nhooks:\n  deploy:\n"
        "    - {name: broken, command: 'true', when: \"event.data.size > 'a'\"}\n"
        "    - {name: other, command: 'touch ran'}\n"
    )
    done = cli("emit", "deploy", "--data", '{"size": 3}')
    assert done.code == 0
    assert "hook broken at event" in done.stderr
    assert cli.calls("broken") == ["failed"]
    assert (cli.root / "ran").exists()
    assert len(cli.events("hook_error")) == 1


def test_git_is_asked_once_for_all_conditions_of_an_event(cli: Cli) -> None:
    git(cli, "init", "-q")
    cli.put(
        "bin/git",
        '#!/bin/sh\n[ "$HOOKLINE_TEST" ] && echo "$*" >> "$ASKED"\nexec $REAL "$@"\n',
        0o755,
    )
    real = subprocess.run(("which", "git"), capture_output=True, text=True, check=True)
    hooks = "".join(
        f"    - {{name: h{n}, command: 'true', when: \"changed('*.none')\"}}\n" for n in range(5)
    )
    cli.configure(f"hooks:\n  task_created:\n{hooks}")
    asked = cli.root / "asked"
    env = {
        "PATH": f"{cli.root / 'bin'}:{cli.env['PATH']}",
        "REAL": real.stdout.strip(),
        "ASKED": str(asked),
        "HOOKLINE_TEST": "1",
    }
    cli.json("task", "add", "one", env=env)
    once = len(asked.read_text().splitlines())
    assert [cli.calls(f"h{n}") for n in range(5)] == [["skipped"]] * 5
    asked.unlink()
    cli.configure("hooks:\n  task_created:\n" + hooks.splitlines()[0] + "\n")
    cli.json("task", "add", "two", env=env)
    assert len(asked.read_text().splitlines()) == once


def test_a_false_condition_is_recorded_with_the_event_and_waits_for_nobody(cli: Cli) -> None:
    cli.configure(
        "hooks:\n  task_created:\n"
        "    - {name: urgent, command: 'true', when: \"'urgent' in task.labels\"}\n"
    )
    under_hook = {"HOOKLINE_HOOK": "outer", "HOOKLINE_DIR": str(cli.root / ".hookline")}
    cli.json("task", "add", "one", env=under_hook)  # such a process calls no hooks
    assert cli.calls("urgent", "status, condition_values") == [("skipped", '{"task.labels":[]}')]
    assert cli.rows("SELECT * FROM dispatches") == []
    assert "task.labels" in cli("why", "urgent").stdout
    assert [line.split()[4] for line in logged(cli, "urgent")] == ["status=skipped"]
    cli.json("task", "add", "two", "--label", "urgent")
    assert cli.calls("urgent") == ["skipped", "ok"]


# Trouble outside of hooks


def test_an_error_outside_of_hooks_is_tried_three_times_and_stops_nothing_else(cli: Cli) -> None:
    cli.configure("events: [odd]\nhooks:\n  odd: [{name: h, command: 'true'}]\n")
    under_hook = {"HOOKLINE_HOOK": "outer", "HOOKLINE_DIR": str(cli.root / ".hookline")}
    cli.json("emit", "odd", env=under_hook)
    cli.json("emit", "odd", "--data", '{"n": 2}', env=under_hook)
    ((first,), _) = cli.rows("SELECT event_seq FROM dispatches ORDER BY event_seq")
    with closing(sqlite3.connect(cli.database)) as store, store:
        store.execute("UPDATE payloads SET payload = '{broken' WHERE event_seq = ?", (first,))
    told = [cli("task", "add", f"task {n}") for n in range(4)]
    assert [each.code for each in told] == [0] * 4
    for each in told[:2]:
        assert f"the hooks of event {first} could not be called" in each.stderr
        assert "the next command tries again" in each.stderr
    assert "given up" in told[2].stderr
    assert told[3].stderr == ""
    assert cli.calls("h") == ["dead", "pending"] or cli.calls("h") == ["dead", "ok"]
    found = cli("attention", "--json").json
    assert [each["id"] for each in found if each["kind"] == "dead call"] == ["h"]


def told_by(cli: Cli, program: str, *words: str) -> str:
    """The last line that a program says which runs a command in a process of its own."""
    argv = (sys.executable, "-c", program, *words)
    done = subprocess.run(argv, cwd=cli.root, env=cli.env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()[-1]


def test_a_condition_is_parsed_once_however_many_events_and_hooks_ask(cli: Cli) -> None:
    low, high = "task.priority > 7", "task.priority < 7"
    cli.configure(
        "hooks:\n  task_created:\n"
        f"    - {{name: one, command: 'true', when: {low}}}\n"
        f"    - {{name: two, command: 'true', when: {low}}}\n"
        f"    - {{name: three, command: 'true', when: {high}}}\n"
    )
    cli.put("some.md", "".join(f"- [ ] task {n}\n" for n in range(20)))
    told = told_by(cli, PARSED, "task", "add", "--from", "some.md")
    code, _, counted = told.partition(" ")
    assert (code, ast.literal_eval(counted)) == ("0", {low: 1, high: 1})
    assert [len(cli.calls(name)) for name in ("one", "two", "three")] == [20] * 3


def test_a_command_hook_loads_what_it_uses(cli: Cli) -> None:
    cli.configure("hooks:\n  task_created: [{name: h, command: 'touch ran'}]\n")
    code, *loaded = told_by(cli, LOADED, "task", "add", "one").split()
    assert (code, (cli.root / "ran").exists()) == ("0", True)
    rooms = ("flows", "sessions", "pipeline", "worker", "queries", "operations", "config.load")
    unused = (
        *("httpx", "httpcore", "_ssl", "yaml", "mcp", "pathlib", "tokenize", "_locale"),
        "tuple:hookline.",  # see hookline.immutable
        *(f"hookline.{room}" for room in rooms),
        *("hookline.adapters.forges", "hookline.adapters.github", "hookline.adapters.git"),
        *(
            "hookline.adapters.network",
            "hookline.adapters.agents",
            "hookline.wiring.running.engine",
        ),
    )
    assert not [each for each in loaded if each.startswith(unused)]
    assert "hookline.hooks.kinds.command" in loaded


# What waits


def test_a_command_sees_to_its_own_calls_first_and_leaves_a_backlog_to_a_worker(cli: Cli) -> None:
    cli.configure("hooks:\n  task_created: [{name: h, command: 'true'}]\n")
    under_hook = {"HOOKLINE_HOOK": "outer", "HOOKLINE_DIR": str(cli.root / ".hookline")}
    cli.put("many.md", "".join(f"- [ ] task {n}\n" for n in range(MANY)))
    cli.json("task", "add", "--from", "many.md", env=under_hook, quiet=False)
    assert cli.rows("SELECT count(*) FROM deliveries WHERE status = 'pending'") == [(MANY,)]
    done = cli("task", "add", "mine")
    assert done.code == 0
    own = f"T-{MANY + 1}"
    seqs = [event["seq"] for event in cli.events("task_created") if event["nodeId"] == own]
    ((status,),) = cli.rows(
        "SELECT status FROM deliveries WHERE event_seq = ? AND hook = 'h'", *seqs
    )
    assert status == "ok"
    ((left,),) = cli.rows("SELECT count(*) FROM deliveries WHERE status = 'pending'")
    assert MANY - 50 <= left < MANY
    assert f"{left} calls wait; `hookline work --flows --once` delivers them" in done.stderr
    served = cli("work", "--flows", "--once")
    assert served.code == 0, served.stderr
    assert cli.rows("SELECT count(*) FROM deliveries WHERE status = 'pending'") == [(0,)]
    assert cli("task", "add", "after").stderr == ""


def a_backlog(cli: Cli, *words: str) -> None:
    """Calls that nobody makes yet: what runs under a hook leaves them to others."""
    under_hook = {"HOOKLINE_HOOK": "outer", "HOOKLINE_DIR": str(cli.root / ".hookline")}
    assert cli(*words, env=under_hook).code == 0


def statuses(cli: Cli, task: str) -> list[str]:
    """How the calls about a task went, in order."""
    sql = (
        "SELECT status FROM deliveries JOIN events ON seq = event_seq"
        " WHERE node_id = ? AND hook = 'h' ORDER BY seq"
    )
    return [status for (status,) in cli.rows(sql, task)]


def test_a_command_whose_own_event_calls_no_hook_sees_to_earlier_ones_of_its_task(cli: Cli) -> None:
    cli.configure("hooks:\n  task_created: [{name: h, command: 'true'}]\n")
    cli.put("many.md", "".join(f"- [ ] task {n}\n" for n in range(200)))
    a_backlog(cli, "task", "add", "--from", "many.md")
    assert statuses(cli, "T-150") == ["pending"]
    done = cli("task", "complete", "T-150")
    assert done.code == 0
    assert statuses(cli, "T-150") == ["ok"]
    ((left,),) = cli.rows("SELECT count(*) FROM deliveries WHERE status = 'pending'")
    assert f"{left} calls wait" in done.stderr
    assert 149 <= left < 200


def test_a_command_stops_after_200_earlier_calls_of_its_own_task(cli: Cli) -> None:
    cli.configure("events: [step]\nhooks:\n  step: [{name: h, command: 'true'}]\n")
    cli.add("one")
    for _ in range(250):
        a_backlog(cli, "emit", "step", "--task", "T-1")
    done = cli("emit", "step", "--task", "T-1")
    assert done.code == 0
    assert statuses(cli, "T-1") == ["ok"] * 200 + ["pending"] * 51
    assert "51 calls wait; `hookline work --flows --once` delivers them" in done.stderr


# Steering


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("exit 7", "exit"),
        ("echo hello", "JSON"),
        ('echo \'{"action": "waiting", "waitSeconds": "soon"}\'', "waitSeconds"),
    ],
)
def test_a_failing_steering_hook_is_told_like_any_other(cli: Cli, line: str, told: str) -> None:
    cli.put("limit.sh", f"#!/bin/sh\n{line}\n", 0o755)
    cli.configure(
        "flows: {ship: {steps: [{id: one, run: 'true'}]}}\n"
        "hooks:\n  on-iteration-start: [{name: limiter, script: limit.sh}]\n"
    )
    done = cli("flow", "start", "ship")
    assert done.code == 0
    assert "hook limiter at event" in done.stderr
    assert told in done.stderr
    assert told in cli("why", "limiter").stdout
    assert all("status=failed" in line for line in logged(cli, "limiter"))
    (item,) = cli("attention", "--json").json
    assert (item["kind"], item["id"]) == ("hook", "limiter")
    assert told in item["message"]
    checks = {each["name"]: each for each in cli("doctor", "--json").json["checks"]}
    assert checks["failing hooks"]["status"] == "warning"
    assert "limiter" in checks["failing hooks"]["message"]
    assert {e["data"]["hookName"] for e in cli.events("hook_error")} == {"limiter"}


def test_an_http_steering_hook_that_cannot_be_reached_is_told(cli: Cli) -> None:
    cli.configure(
        "flows: {ship: {steps: [{id: one, run: 'true'}]}}\n"
        "hooks:\n  on-iteration-start: [{name: remote, http: 'http://127.0.0.1:9/'}]\n"
    )
    done = cli("flow", "start", "ship")
    assert done.code == 0
    assert "hook remote at event" in done.stderr
    assert cli.calls("remote")[0] == "failed"
    assert [item["id"] for item in cli("attention", "--json").json] == ["remote"]


def test_a_hook_that_works_again_needs_no_attention(cli: Cli) -> None:
    cli.configure("hooks:\n  task_created: [{name: h, command: 'test -e ready || exit 7'}]\n")
    cli.configure("hooks:\n  task_created: [{name: h, python: 'mine:h'}]\n", trust=False)
    cli.put(
        "mine.py", "import os\ndef h(event, context):\n    open('ready').close()\n    return []\n"
    )
    cli.json("trust", "--yes")
    assert cli("task", "add", "one").code == 0
    assert [item["id"] for item in cli("attention", "--json").json] == ["h"]
    cli.put("ready", "")
    cli.json("task", "add", "two")
    assert cli("attention").stdout == "nothing waits for you\n"


# The log


def test_the_log_has_a_line_for_every_call_of_every_rule(cli: Cli) -> None:
    cli.put("turns.json", json.dumps([{"text": "Done. <promise>COMPLETE</promise>"}]))
    cli.configure(
        "agents: {actor: {driver: scripted, script: turns.json}}\n"
        "agent: actor\n"
        "hooks:\n"
        "  task_created: [{name: reacts, command: 'true'}]\n"
        "  session_start: [{name: feeds, command: 'true'}]\n"
        "  stop: [{name: decides, command: 'true'}]\n"
        "  on-iteration-start: [{name: steers, command: 'true', when: 'iteration > 99'}]\n"
        "  before_submit: [{name: gates, command: 'true'}]\n"
        "flows: {ship: {steps: [{id: one, run: 'true'}]}}\n"
    )
    assert cli("run", "do it", "--name", "s").code == 0
    assert cli("flow", "start", "ship").code == 0
    for hook in ("reacts", "feeds", "decides", "steers"):
        assert logged(cli, hook), hook
    lines = cli.json("hook", "log")["lines"]
    assert any(" hook=decides " in line for line in lines)


# What a hook leaves behind


def test_data_that_is_nested_too_deeply_is_refused_where_it_comes_in(cli: Cli) -> None:
    cli.configure("events: [odd]\nhooks:\n  odd: [{name: h, command: 'true'}]\n")
    for depth in (250, 975, 5000):
        data = '{"a": ' + "[" * depth + "]" * depth + "}"
        code, error = cli.refused("emit", "odd", "--data", "-", stdin=data)
        assert (code, error["code"]) == (2, "bad-input"), depth
    fits = '{"a": ' + "[" * 150 + "]" * 150 + "}"
    cli.json("emit", "odd", "--data", "-", stdin=fits)
    assert cli.calls("h") == ["ok"]


def test_an_event_that_cannot_be_read_becomes_dead_letters_and_stops_nothing(cli: Cli) -> None:
    cli.configure("events: [odd]\nhooks:\n  odd: [{name: h, command: 'true'}]\n")
    under_hook = {"HOOKLINE_HOOK": "outer", "HOOKLINE_DIR": str(cli.root / ".hookline")}
    cli.json("emit", "odd", env=under_hook)
    with closing(sqlite3.connect(cli.database)) as store, store:
        store.execute("UPDATE events SET data = 'garbled' WHERE type = 'odd'")
    told = [cli("task", "add", f"task {n}") for n in range(4)]
    assert [each.code for each in told] == [0] * 4
    assert "given up" in told[2].stderr
    assert told[3].stderr == ""
    assert cli.calls("h") == ["dead"]


def test_a_very_long_error_is_cut_and_the_other_hooks_run(cli: Cli) -> None:
    cli.put("pol.py", 'def bad(event, context):\n    raise ValueError("x" * 1_040_000)\n')
    cli.configure(
        "events: [boom]\nhooks:\n  boom:\n"
        "    - {name: bad, python: 'pol:bad'}\n    - {name: good, command: 'touch good'}\n"
    )
    done = cli("emit", "boom", "--data", "-", stdin=json.dumps({"text": "y" * 60_000}))
    assert done.code == 0
    assert (cli.root / "good").exists()
    assert cli.calls("bad", "status, length(error) < 5000") == [("failed", 1)]
    assert len(cli.events("hook_error")) == 1


def test_a_hook_that_is_switched_off_is_not_called_for_what_waits(cli: Cli) -> None:
    cli.configure("hooks:\n  task_created: [{name: h, command: 'touch ran'}]\n")
    under_hook = {"HOOKLINE_HOOK": "outer", "HOOKLINE_DIR": str(cli.root / ".hookline")}
    cli.json("task", "add", "one", env=under_hook)
    cli.json("hook", "disable", "h")
    assert not (cli.root / "ran").exists()
    assert cli.calls("h", "status, error") == [("skipped", "the hook was switched off")]


def test_a_steering_hook_that_names_an_unknown_effect_is_told(cli: Cli) -> None:
    answer = '{"action": "executed-tasks", "tasks": ["nonexistent", "one"]}'
    cli.put("choose.sh", f"#!/bin/sh\necho '{answer}'\n", 0o755)
    cli.configure(
        "flows: {ship: {steps: [{id: one, run: 'true'}]}}\n"
        "hooks:\n  on-iteration-start: [{name: chooser, script: choose.sh}]\n"
    )
    done = cli("flow", "start", "ship")
    assert done.code == 0
    assert "it named 'nonexistent', which R-1 does not have" in done.stderr


def test_attention_names_a_configuration_that_cannot_be_read(cli: Cli) -> None:
    cli.add("one")
    cli.configure("hooks: [\n", trust=False)
    asked = cli("attention")
    assert asked.code == 4
    assert "hookline check" in asked.stdout


def test_a_session_whose_task_is_over_needs_nobody(cli: Cli) -> None:
    cli.put("turns.json", json.dumps([{"text": "Not yet."}]))
    cli.configure(
        "agents: {actor: {driver: scripted, script: turns.json}}\nagent: actor\n"
        "session: {iterations: 1}\n"
    )
    assert cli("run", "do it", "--name", "s").code == 5
    assert [item["kind"] for item in cli("attention", "--json").json] == ["session"]
    cli.json("task", "cancel", "T-1")
    assert cli("attention").stdout == "nothing waits for you\n"


@pytest.mark.parametrize("name", ["draftContent is None", "session == 's'", "agent == 'actor'"])
def test_what_check_allows_at_stop_can_be_asked(cli: Cli, name: str) -> None:
    cli.put("turns.json", json.dumps([{"text": "Done. <promise>COMPLETE</promise>"}]))
    cli.configure(
        "agents: {actor: {driver: scripted, script: turns.json}}\nagent: actor\n"
        f"hooks: {{stop: [{{name: d, command: 'true', when: \"{name}\"}}]}}\n"
    )
    assert cli("check").code == 0
    assert cli("run", "do it", "--name", "s").code == 0


def test_a_hook_that_posts_to_a_server_has_tls(cli: Cli) -> None:
    cli.configure("hooks:\n  task_created: [{name: h, http: 'https://127.0.0.1:9/'}]\n")
    done = cli.process("task", "add", "one")
    assert done.code == 0
    assert "cannot reach 127.0.0.1" in done.stderr
