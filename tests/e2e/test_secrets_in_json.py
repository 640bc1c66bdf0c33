"""A secret that JSON spells by the numbers of its characters, as it comes in by every way."""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.mcp_rig import Agent
from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli, Result

SECRET = "p&ssw<rd-100>x"
GONE = "[redacted MY_TOKEN]"
# As Go writes it, as others do, and as nobody does who has nothing to hide.
BY_GO = SECRET.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
BY_NUMBERS = "".join(f"\\u{ord(mark):04X}" for mark in SECRET)
ways = pytest.mark.parametrize("way", [BY_GO, BY_GO.replace("3c", "3C").replace("3e", "3E")])
every = pytest.mark.parametrize("way", [BY_GO, BY_NUMBERS])


@pytest.fixture
def cli(cli: Cli) -> Cli:
    cli.env["MY_TOKEN"] = SECRET
    return cli


def spelled(way: str, value: Any) -> str:
    """JSON in which the secret is spelled that way."""
    return json.dumps(value).replace(SECRET, way)


def check(cli: Cli, *said: str) -> None:
    """The secret is in no file and in nothing that was said, in the clear or as Go writes it."""
    with closing(sqlite3.connect(cli.database)) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    files = [path for path in (cli.root / ".hookline").rglob("*") if path.is_file()]
    texts = {str(path): path.read_bytes() for path in files}
    texts |= {text[:60]: text.encode() for text in said}
    needles = (SECRET.encode(), BY_GO.encode())
    found = [name for name, text in texts.items() for needle in needles if needle in text]
    assert found == []
    assert any(GONE.encode() in text for text in texts.values())


def block(cli: Cli) -> Result:
    """Add a task and block it, at which hooks are called."""
    return cli("task", "block", cli.add("one"), "--reason", "so")


def asks(way: str) -> str:
    return spelled(way, {"actions": [{"type": "create_task", "payload": {"goal": SECRET}}]})


@every
def test_what_programs_answer(cli: Cli, way: str) -> None:
    cli.put("answer.json", asks(way))
    cli.put("b.sh", "#!/bin/sh\ncat answer.json\n", 0o755)
    cli.configure(
        "hooks: {task_blocked: [{name: a, command: cat answer.json}, {name: b, script: b.sh}]}\n"
    )
    done = block(cli)
    assert [task["goal"] for task in cli.json("task", "list")[1:]] == [GONE, GONE]
    check(cli, done.stderr, cli("why", "T-2").stdout, cli("hook", "log").stdout)


@every
def test_what_servers_answer(cli: Cli, way: str) -> None:
    with serving(asks(way)) as address:
        cli.configure(f"hooks: {{task_blocked: [{{name: a, http: '{address}'}}]}}\n")
        done = block(cli)
    assert [task["goal"] for task in cli.json("task", "list")[1:]] == [GONE]
    check(cli, done.stderr, cli("why", "T-2").stdout)


@every
def test_what_agents_answer(cli: Cli, way: str) -> None:
    cli.put("turns.json", json.dumps([{"text": f"Here:\n{asks(way)}", "repeat": True}]))
    cli.configure(
        "agents: {bot: {driver: scripted, script: turns.json}}\n"
        "hooks: {task_blocked: [{name: a, agent: bot, prompt: What now?}]}\n"
    )
    done = block(cli)
    assert [task["goal"] for task in cli.json("task", "list")[1:]] == [GONE]
    check(cli, done.stderr)


@every
def test_why_an_answer_cannot_be_used(cli: Cli, way: str) -> None:
    twice = f'{{"{way}": 1, "{way}": 2}}'
    cli.put("twice.json", twice)
    cli.put("wrong.json", spelled(way, {"actions": [{"type": SECRET, "payload": {}}]}))
    cli.configure(
        "hooks: {task_blocked: [{name: a, command: cat twice.json},"
        " {name: b, command: cat wrong.json}]}\n"
    )
    done = block(cli)
    assert f"unknown action '{GONE}'" in done.stderr
    check(cli, done.stderr, cli("attention").stdout, cli("hook", "log").stdout)


@every
def test_what_gates_say(cli: Cli, way: str) -> None:
    line = Pipeline(cli)
    said = {"status": "failure", "message": f"no: {SECRET}", "remediationPrompt": f"not {SECRET}"}
    (answer := line.box / "answer.json").write_text(spelled(way, said))
    gates = f"hooks: {{before_submit: [{{name: a, command: 'cat {answer}'}}]}}\n"
    line.begin(gates + "gates: {tries: 1}\n")
    line.turn("work")
    task = cli.add("a part")
    line.worker(code=4)
    assert f"not {GONE}" in line.prompts(task)[1]
    check(cli, cli("gate", "list", task).stdout, cli("task", "show", task).stdout)


@every
def test_what_stop_hooks_say(cli: Cli, way: str) -> None:
    cli.put("stop.json", spelled(way, {"action": "escalate", "reason": f"look: {SECRET}"}))
    cli.put("turns.json", json.dumps([{"text": "hello", "repeat": True}]))
    cli.configure(
        "agents: {bot: {driver: scripted, script: turns.json}}\n"
        "hooks: {stop: [{name: a, command: cat stop.json}]}\n"
    )
    done = cli("run", "Do it", "--agent", "bot", "--name", "s")
    assert f"look: {GONE}" in done.stdout
    check(cli, done.stdout, done.stderr, cli("session", "show", "s").stdout)


@every
def test_what_people_and_hooks_type(cli: Cli, way: str) -> None:
    cli.configure("flows: {wait: {steps: [{id: a, task: {goal: x}}, {id: b, breakpoint: ok}]}}\n")
    cli("flow", "start", "wait", "--input", spelled(way, {"said": SECRET}))
    given = spelled(way, {"v": [SECRET]})
    posted = cli("effect", "post", "R-1", "a", "--status", "ok", "--value", given)
    assert "redacted: MY_TOKEN; secrets are not stored" in posted.stderr
    cli.put("task.jsonl", spelled(way, {"goal": SECRET, "notes": [SECRET]}) + "\n")
    added = cli("task", "add", "--from", "task.jsonl")
    assert "redacted: MY_TOKEN" in added.stderr
    cli("emit", "told", "--data", spelled(way, {"said": SECRET}))
    with Agent.in_process(cli) as agent:
        agent("note_add", kind="learning", text=SECRET)
    check(cli, added.stdout, cli("effect", "list", "R-1").stdout, cli("events", "--all").stdout)
    assert GONE in str(cli.json("effect", "list", "R-1"))


@pytest.mark.parametrize("driver", ["claude-code", "codex"])
@every
def test_what_agents_say(cli: Cli, driver: str, way: str) -> None:
    lines = {
        "claude-code": [
            {"type": "assistant", "message": {"content": [{"type": "text", "text": SECRET}]}},
            {"type": "result", "subtype": "success", "result": f"said {SECRET}"},
        ],
        "codex": [
            {"type": "thread.started", "thread_id": "01a1dff1-0514-7402-8f40-6ad227316c9b"},
            {"type": "item.completed", "item": {"type": "agent_message", "text": SECRET}},
            {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 2}},
        ],
    }[driver]
    cli.put("lines", "".join(spelled(way, line) + "\n" for line in lines))
    cli.put("bot", f"#!/bin/sh\ncat > /dev/null\ncat {cli.root}/lines\n", 0o755)
    cli.configure(f"agents: {{bot: {{driver: {driver}, command: ./bot}}}}\n")
    done = cli("run", "Do it", "--agent", "bot", "--name", "s", "--iterations", "1")
    assert GONE in done.stderr
    check(cli, done.stdout, done.stderr, cli("session", "show", "s").stdout)


@ways
def test_what_is_printed_as_it_is(cli: Cli, way: str) -> None:
    """Nothing reads it, so only a spelling that is known is found in it."""
    line = spelled(way, {"log": [SECRET, f'{{"in": "{SECRET}"}}']})
    cli.put("says", f"{line}\nand more\n")
    cli.configure(
        "hooks: {task_blocked: [{name: a, command: 'cat says; cat says >&2; exit 1'}]}\n"
        "validation: [{name: tests, type: command, command: 'cat says; exit 1'}]\n"
    )
    done = block(cli)
    ran = cli("validate")
    check(cli, done.stderr, ran.stdout, ran.stderr)
    assert way not in done.stderr + ran.stdout + ran.stderr


class serving:  # read as a word
    """A server that answers every POST with one text."""

    def __init__(self, text: str) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *details: object) -> None:
                """Nothing."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_port}/"

    def __exit__(self, *problem: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
