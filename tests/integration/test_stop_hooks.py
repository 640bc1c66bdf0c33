"""Stop hooks as a project configures them: real programs, real files, real records."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from hookline.app import App
from hookline.hooks.calls.firing import Firing, fire
from hookline.hooks.calls.record import Recorder
from hookline.tasks import verbs
from hookline.wiring.calling.calls import caller
from tests.e2e.conftest import is_running
from tests.in_process import run_in_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from subprocess import CompletedProcess

    from hookline.hooks.registry import Hook

PASSES = {"ruleName": "tests_pass", "passed": True}
FAILS = {"ruleName": "tests_pass", "passed": False, "message": "1 failed"}
PROMISED = {"type": "COMPLETE", "detected": True, "content": "<promise>COMPLETE</promise>"}


class Project:
    """A project with its user, and Hookline as that user runs it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        (self.root / ".hookline").mkdir(parents=True)
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.startswith("HOOKLINE_")},
            "HOOKLINE_HOME": str(folder / "home"),
            "USER": "ada",
        }

    def put(self, name: str, text: str, mode: int = 0o644) -> None:
        path = self.root / name
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)

    def configure(self, stop: str, more: str = "") -> None:
        self.put("hookline.yaml", f"version: 1\n{more}\nhooks:\n  stop:\n{stop}\n")
        self.run("trust", "--yes")

    def run(self, *args: str, stdin: str = "") -> CompletedProcess[str]:
        return run_in_process(args, cwd=self.root, env=self.env, stdin=stdin.encode())

    def json(self, *args: str, stdin: str = "") -> Any:
        done = self.run(*args, "--json", stdin=stdin)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def decides(self, *results: dict[str, Any], **more: Any) -> dict[str, Any]:
        """What the stop hooks of the project say about an iteration."""
        context = {
            "taskId": "T-1",
            "iteration": 3,
            "filesModified": [],
            "validationResults": results,
            "completionPromises": [],
            **more,
        }
        found: dict[str, Any] = self.json("hook", "dispatch", "stop", stdin=json.dumps(context))
        return found


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_preset_and_its_arguments_come_from_the_file(project: Project) -> None:
    project.configure("    - security-remediation: {iterations: 4, checks: [tests_pass]}")
    assert project.decides(PASSES)["action"] == "complete"
    assert project.decides(FAILS)["action"] == "continue"
    assert project.decides(FAILS, iteration=4) == {
        "action": "escalate",
        "reason": "Max iterations reached - complex vulnerabilities may require manual review",
        "hookId": "stop[0]:security-remediation",
    }


def test_a_context_that_is_none_escalates(project: Project) -> None:
    project.configure("    - default")
    decision = project.decides(iteration="many")
    assert decision["action"] == "escalate"
    assert "not the context of an iteration" in decision["metadata"]["error"]


def test_all_of_completes_when_every_kind_agrees(project: Project, server: str) -> None:
    project.put("check", '#!/bin/sh\necho \'{"action": "complete"}\'\n', 0o755)
    project.put("mine.py", "def judge(payload, context):\n    return {'action': 'complete'}\n")
    project.configure(
        f"""
    - name: all
      all_of:
        - validation
        - {{command: "test -e done"}}
        - {{script: check}}
        - {{python: "mine:judge"}}
        - {{http: "{server}"}}
        - {{agent: judge, prompt: "Is it done?"}}
        - not: {{max-iterations: 9}}
""",
        """agents: {judge: {driver: command, command: "echo '{\\"action\\": \\"complete\\"}'"}}""",
    )
    waiting = project.decides(PASSES)
    assert (waiting["action"], waiting["hookId"]) == ("continue", "all")
    assert "`test -e done` exited 1" in waiting["reason"]
    project.put("done", "")
    assert [each["action"] for each in waiting["metadata"]["hooks"]] == [
        *("complete", "continue", "complete", "complete", "complete", "complete", "complete"),
    ]
    assert project.decides(PASSES)["action"] == "complete"
    failing = project.decides(FAILS)
    assert failing["action"] == "continue"
    assert "1 failed" in failing["nextPrompt"]


class Yes(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = b'{"action": "complete", "reason": "the server agrees"}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Yes) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/"
        running.shutdown()
        thread.join()


def test_any_of_joins_what_its_hooks_ask_for(project: Project) -> None:
    project.configure(
        '    - any_of: [promise, {command: "echo one; exit 1"}, {command: "echo two; exit 1"}]'
    )
    waiting = project.decides()
    assert (waiting["action"], waiting["nextPrompt"]) == ("continue", "one\n\n\ntwo\n")
    assert project.decides(completionPromises=[PROMISED])["action"] == "complete"


def test_an_escalation_wins_and_ends_the_asking(project: Project) -> None:
    project.configure(
        """
    - any_of:
        - {command: "true"}
        - {command: "echo '{\\"action\\": \\"escalate\\", \\"reason\\": \\"look\\"}'"}
        - {command: "touch asked"}
"""
    )
    decision = project.decides()
    assert (decision["action"], decision["reason"]) == ("escalate", "look")
    assert not (project.root / "asked").exists()


def test_a_program_that_cannot_run_escalates_the_chain(project: Project) -> None:
    project.configure("    - not: {command: 'no-such-program-here'}")
    decision = project.decides()
    assert decision["action"] == "escalate"
    assert "127" in decision["metadata"]["error"]


def test_conditions_and_switches_hold_for_each_hook(project: Project) -> None:
    project.configure(
        """
    - all_of:
        - {command: "touch first", when: "iteration > 3"}
        - {command: "touch second", enabled: false}
"""
    )
    decision = project.decides()
    assert decision["action"] == "continue"
    assert [each["action"] for each in decision["metadata"]["hooks"]] == ["skipped", "skipped"]
    assert not (project.root / "second").exists()
    assert project.decides(iteration=4)["action"] == "complete"
    assert (project.root / "first").exists()


def test_each_hook_and_the_chain_have_their_own_time(project: Project) -> None:
    project.configure("    - all_of: [{command: 'sleep 60', timeout: 0.2}]")
    assert "timed out after 0.2 s" in project.decides()["metadata"]["error"]
    project.configure("    - {all_of: [{command: 'echo $$ > pid; exec sleep 300'}], timeout: 2}")
    assert "timed out after 2 s" in project.decides()["metadata"]["error"]
    assert not is_running(int((project.root / "pid").read_text()))


def test_evidence_keeps_its_receipt_in_a_chain(project: Project) -> None:
    project.configure(
        "    - all_of: [{evidence: [tests_pass]}, {command: 'true'}]",
        'validation: [{name: tests_pass, type: command, command: "pytest -q"}]',
    )
    work = {"inRepository": True, "diffHash": "ab12", "changedFiles": 1, "stable": True}
    checked = {**PASSES, "command": "pytest -q", "exitCode": 0}
    decision = project.decides(checked, completionPromises=[PROMISED], work=work)
    assert decision["action"] == "complete"
    assert decision["metadata"]["receipt"] == {
        "diffHash": "ab12",
        "changedFiles": 1,
        "checks": [{"name": "tests_pass", "command": "pytest -q", "exitCode": 0}],
    }
    unproven = project.decides(
        checked, completionPromises=[PROMISED], work={**work, "stable": False}
    )
    assert unproven["action"] == "continue"


def test_files_of_chained_hooks_are_under_trust(project: Project) -> None:
    project.put("check.sh", "exit 0\n")
    project.configure("    - all_of: [{not: {command: 'sh check.sh'}}]")
    assert project.decides()["action"] == "continue"
    project.put("check.sh", "touch pwned\n")
    refused = project.run("hook", "dispatch", "stop", "--json", stdin="{}")
    assert refused.returncode != 0
    assert "trust" in refused.stderr
    assert not (project.root / "pwned").exists()


# What the record tells.


class Sessions:
    """Fires stop hooks and keeps the record, as a loop does."""

    def __init__(self, project: Project) -> None:
        self.app = App.open(start=str(project.root), environ=project.env)
        self._fired = 0

    def fire(self, task: str, *results: dict[str, Any], iteration: int = 1) -> None:
        app = self.app
        recorder = Recorder(app.store, caller(app), change=app.change, suspended=app.suspended.get)
        self._fired += 1
        payload = {"taskId": task, "iteration": iteration, "validationResults": list(results)}
        shot = Firing("stop", payload, task, f"stop-{self._fired}", _key)
        asyncio.run(fire(recorder, shot, app.registry.subscribers("stop")))


def _key(hook: Hook) -> str:
    return "key-1"


@pytest.fixture
def sessions(project: Project) -> Iterator[Sessions]:
    project.configure(
        """
    - {name: checked, validation: }
    - name: chained
      all_of: [{name: quiet, command: "echo noise; exit 1"}, {not: {name: loop, command: "false"}}]
"""
    )
    found = Sessions(project)
    for goal in ("one", "two"):
        found.app.change(verbs.add, goal)
    yield found
    found.app.store.close()


def test_statistics_tell_how_hooks_decide_and_what_was_undone(
    project: Project, sessions: Sessions
) -> None:
    sessions.fire("T-1", FAILS)
    sessions.fire("T-1", PASSES, iteration=2)
    sessions.fire("T-2", PASSES)
    sessions.app.change(verbs.submit, "T-1")
    sessions.app.change(verbs.complete, "T-1")
    sessions.app.change(verbs.submit, "T-2")
    sessions.app.change(verbs.send_back, "T-2", reason="its gate failed")
    found = {each["name"]: each for each in project.json("hook", "stats")["stopHooks"]}
    checked = found["checked"]
    assert [checked[name] for name in ("decisions", "complete", "continue", "escalate")] == [
        *(3, 2, 1, 0),
    ]
    assert (checked["undone"], checked["undonePercent"]) == (1, 50.0)
    assert (found["chained"]["decisions"], found["chained"]["continuePercent"]) == (1, 100.0)
    lines = project.run("hook", "stats").stdout.splitlines()
    shown = next(line for line in lines if line.startswith("checked") and "%" in line)
    assert shown.split() == ["checked", "3", "2", "67%", "1", "33%", "0", "0%", "1", "of", "2"]


def test_why_tells_the_decision_and_its_reason(project: Project, sessions: Sessions) -> None:
    sessions.fire("T-1", FAILS)
    told = project.run("why", "checked").stdout
    assert "continue" in told
    assert "1 of 1 validation rule fails: tests_pass (1 failed)" in told
    told = project.run("why", "chained").stdout
    for part in ("quiet", "`echo noise; exit 1` exited 1", "loop", "noise"):
        assert part in told
