"""Secrets of many shapes through every way in: found in no file, no report, on no terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.leak_rig import SECRETS, TOKENS, Leaks, telling
from tests.e2e.mcp_rig import Agent
from tests.inbox import Inbox, listening

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli


@pytest.fixture
def address() -> Iterator[str]:
    with telling() as address:
        yield address


def test_hooks_and_actions(cli: Cli, address: str) -> None:
    leaks = Leaks(cli)
    cli.configure(
        f"""
agents:
  judge: {{driver: command, command: "cat > /dev/null; ./leak.py json"}}
hooks:
  task_created:
    - {{name: plain, command: "./leak.py"}}
    - {{name: long, command: "./leak.py long"}}
    - {{name: fails, command: "LEAK_EXIT=3 ./leak.py"}}
    - {{name: script, script: leak.py}}
    - {{name: answers, command: "./leak.py json", when: "task.id == 'T-1'"}}
    - {{name: answers-by-go, command: "./leak.py go", when: "task.id == 'T-1'"}}
    - {{name: python, python: "policy:react", when: "task.id == 'T-1'"}}
    - {{name: raises, python: "policy:fails"}}
    - {{name: server, http: "{address}/"}}
    - {{name: refusing, http: "{address}/fails"}}
    - {{name: asked, agent: judge, prompt: "What do you say?", when: "task.id == 'T-1'"}}
"""
    )
    leaks("task", "add", "one", "--label", "x")
    ended = {name: cli.calls(name)[0] for name in ("long", "fails", "raises", "server", "refusing")}
    failed = dict.fromkeys(("fails", "raises", "refusing"), "failed")
    assert ended == {"long": "ok", "server": "ok", **failed}, cli("check").stdout
    for command in (("task", "list"), ("task", "show", "T-1"), ("events", "--all")):
        leaks(*command)
        leaks(*command, "--json")
    leaks("why", "T-1")
    leaks("hook", "log")
    leaks("doctor", code=None)
    leaks("attention", code=None)
    leaks.check()


def test_flows(cli: Cli) -> None:
    leaks = Leaks(cli)
    cli.configure(
        """
agents:
  helper: {driver: command, command: "cat > /dev/null; ./leak.py"}
  script: {driver: scripted, script: turns.json}
hooks:
  task_blocked: [{name: look, command: "./leak.py json"}]
flows:
  steps:
    steps:
      - {id: out, run: "./leak.py long"}
      - {id: fails, run: "LEAK_EXIT=3 ./leak.py", check: false}
      - {id: ask, agent: {agent: helper, prompt: "What do you say?"}}
      - {id: read, agent: {agent: script, prompt: "And you?"}}
      - {id: fire, hook: {point: task_blocked, payload: {reason: x}}}
      - {id: make, task: {goal: "Look at {{input.text}}"}}
      - {id: ok, breakpoint: "Really {{input.text}}?"}
      - {id: again, run: "echo {{steps.out.stdout}} {{steps.ask.text}} {{steps.ok.note}}"}
"""
    )
    words = "\n".join(SECRETS.values())
    cli.put("turns.json", json.dumps([{"text": words, "error": None, "repeat": True}]))
    steers = """#!/bin/sh\n./leak.py go '{"action": "none"}'\n"""
    cli.put(".hookline/hooks/on-iteration-start/leaks.sh", steers, 0o755)
    cli.put(".hookline/hooks/on-iteration-end/leaks.sh", steers, 0o755)
    cli.json("trust", "--yes", quiet=False)
    given = leaks("flow", "start", "steps", "--input", json.dumps({"text": words}), code=None)
    assert "redacted: " in given.stderr
    (task,) = cli.json("task", "list")
    leaks("task", "complete", task["id"], "--result", words)
    leaks("flow", "resume", "R-1", code=None)
    leaks("answer", "R-1", "ok", "yes", "--note", words, code=None)
    leaks("orchestrate", "R-1", code=None)
    assert cli.json("flow", "status", "R-1")["status"] == "completed"
    leaks("flow", "start", "leaky", code=None)
    leaks("flow", "signal", "R-2", "go", "--value", json.dumps({"said": words}))
    leaks("orchestrate", "R-2", code=None)
    assert cli.json("flow", "status", "R-2")["status"] == "completed"
    leaks("flow", "start", "raises", code=None)
    leaks("flow", "status", "R-1", code=None)
    leaks("flow", "journal", "R-2")
    leaks("effect", "list", "R-1")
    leaks.check()


def test_sessions_and_what_people_and_agents_write(cli: Cli) -> None:
    leaks = Leaks(cli)
    cli.configure(
        """
agents:
  bot: {driver: command, command: "cat > /dev/null; ./leak.py; echo $BOT_TOKEN",
        env: {BOT_TOKEN: "sesame-of-bot"}}
validation: [{name: tests, type: command, command: "./leak.py; exit 1"}]
hooks:
  session_start: [{name: first, command: "./leak.py", pipe_output: true}]
  post_iteration: [{name: after, command: "./leak.py json", pipe_output: true}]
  on_error: [{name: wrong, command: "./leak.py"}]
  stop:
    - {name: never, command: "./leak.py; exit 1"}
    - name: nor-this
      command: ./leak.py go '{"action":"continue","nextPrompt":"go on"}'
"""
    )
    words = "\n".join([*SECRETS.values(), *TOKENS])
    leaks("run", f"Do {words}", "--agent", "bot", "--name", "s", "--iterations", "2", code=None)
    leaks("session", "message", "s", words, code=None)
    done = leaks("note", "add", words)
    assert "redacted: " in done.stderr
    assert "OPENAI_API_KEY" in done.stderr
    leaks("note", "add", "-", stdin=words)
    leaks("task", "add", words, "--note", words, "--deliverable", words)
    leaks("task", "add", "--from", "-", stdin=f"- [ ] {SECRETS['OPENAI_API_KEY']}\n")
    leaks("emit", "told", "--data", json.dumps({"said": words}))
    leaks("emit", "told", "--data", "-", stdin=json.dumps({"said": words}))
    leaks("task", "show", SECRETS["GITHUB_TOKEN"], code=None)
    leaks("validate", code=1)
    with Agent.in_process(cli) as agent:
        agent("note_add", kind="learning", text=words)
        agent("task_create", goal=words[:900], notes=[words])
    leaks("note", "list")
    leaks("session", "show", "s")
    leaks("why", "s", code=None)
    report = cli.root.parent / "report.html"
    leaks("session", "report", "s", "-o", str(report))
    leaks.check(report)


def test_results_that_others_post(cli: Cli) -> None:
    leaks = Leaks(cli)
    words = "\n".join(SECRETS.values())
    steps = "[{id: a, task: {goal: x}}, {id: b, run: './leak.py long'}, {id: c, task: {goal: y}}]"
    cli.configure(f"flows: {{wait: {{steps: {steps}}}}}\n")
    leaks("flow", "start", "wait", code=None)
    leaks("effect", "post", "R-1", "a", "--status", "ok", "--value", json.dumps({"v": words}))
    leaks("orchestrate", "R-1", code=None)
    leaks("effect", "post", "R-1", "c", "--status", "error", "--error", words)
    leaks("orchestrate", "R-1", code=None)
    leaks("flow", "status", "R-1", code=None)
    leaks.check()


def test_notifications(cli: Cli, address: str) -> None:
    """Also what a server answers that does not take one, and what a program says."""
    leaks = Leaks(cli)
    words = "\n".join(SECRETS.values())
    with listening(inbox := Inbox()):
        cli.configure(
            f"""
hooks:
  task_created: [{{name: long, command: "./leak.py long"}}]
  attention_needed:
    - {{name: web, notify: webhook, url: "{inbox.url}/in"}}
    - {{name: refusing, notify: webhook, url: "{address}/fails"}}
    - {{name: plain, command: "cat > heard; ./leak.py go"}}
notifications: {{digest: 0}}
"""
        )
        leaks("task", "add", words)
        leaks("task", "block", "T-1", "--reason", words)
        leaks("attention", code=None)
        leaks("doctor", code=None)
        leaks("hook", "log")
        sent = json.dumps([each.said for each in inbox.received])
    assert "[redacted OPENAI_API_KEY]" in sent
    leaks.check(cli.root / "heard", sent=sent)
