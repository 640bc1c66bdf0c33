"""Every kind of hook under every rule, with real processes and a real server."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest

from hookline.adapters.agents.drivers import LocalAgents
from hookline.adapters.http import HttpClient
from hookline.adapters.process import LocalProcesses
from hookline.config.types import Agent
from hookline.domain.cleaning import Cleaner
from hookline.domain.records import Outcome
from hookline.hooks.calls.call import Caller, Surroundings
from hookline.hooks.dispatch import dispatch
from hookline.hooks.frames import Frame, event_payload
from hookline.hooks.registry import Hook
from hookline.hooks.rules import RULES
from hookline.points import POINTS
from hookline.testing import context, event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

EVENT = event("task_completed", "T-1", {"result": "fine"}, seq=7)


class Case(NamedTuple):
    """A point of a rule: what its hooks are shown, what one says, and the answer that gives."""

    point: str
    payload: dict[str, Any]
    says: dict[str, Any]
    answer: Any
    failed: Callable[[str], Any]


def escalated(error: str) -> dict[str, Any]:
    return {
        "action": "escalate",
        "reason": f"Hook evaluation failed: {error}",
        "metadata": {"error": error},
        "hookId": "h",
    }


CASES = {
    "react": Case(
        "task_completed",
        event_payload(EVENT, None),
        {"actions": [{"type": "log", "payload": {"type": "seen"}}]},
        [{"type": "log", "payload": {"type": "seen"}}],
        lambda error: [],
    ),
    "feed": Case(
        "post_iteration",
        {"session": "s", "iteration": 3, "agent": "a"},
        {"text": "2 tests fail"},
        {"text": "2 tests fail"},
        lambda error: {"text": f"[hook h failed: {error}]"},
    ),
    "gate": Case(
        "before_submit",
        {"task_id": "T-1", "task_title": "Ship it", "commits_count": 2, "extra": {}},
        {"status": "failure", "message": "no", "remediationPrompt": "Fix it.", "retryAfter": 5},
        {"status": "failure", "message": "no", "remediationPrompt": "Fix it.", "retryAfter": 5},
        lambda error: {"status": "failure", "message": f"h failed: {error}"},
    ),
    "decide": Case(
        "stop",
        {"taskId": "T-1", "iteration": 3, "agentOutput": "done"},
        {"action": "complete", "reason": "all pass"},
        {"action": "complete", "reason": "all pass", "hookId": "h"},
        escalated,
    ),
    "steer": Case(
        "on-iteration-start",
        {"runId": "r-1", "iteration": 3, "timestamp": "2026-01-17T12:00:00Z"},
        {"action": "executed-tasks", "count": 1, "tasks": ["e-1"]},
        {"action": "executed-tasks", "count": 1, "tasks": ["e-1"]},
        lambda error: {"action": "none", "reason": "no hook answered"},
    ),
    "guard": Case(
        "pre_tool_use",
        {"tool": "sh", "input": {"cmd": "rm -r x"}, "agent": "a"},
        {"verdict": "ask", "reason": "it deletes"},
        {"verdict": "ask", "reason": "it deletes"},
        lambda error: {"verdict": "deny", "reason": f"h failed: {error}"},
    ),
}

MODULE = """
import json, pathlib

def answer(payload, context):
    seen = payload if isinstance(payload, dict) else {"event": payload.type, "data": payload.data}
    pathlib.Path("seen.json").write_text(json.dumps(seen))
    return json.loads(pathlib.Path("answer.json").read_text())

async def fail(payload, context):
    raise RuntimeError("no luck")
"""


class Server(ThreadingHTTPServer):
    """Answers with the file that lies beside it, and keeps what it was sent."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.root = root


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        root = self.server.root
        (root / "seen.json").write_bytes(self.rfile.read(int(self.headers["content-length"])))
        failing = self.path == "/fail"
        body = b"no luck" if failing else (root / "answer.json").read_bytes()
        self.send_response(503 if failing else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """The tests read what was sent, not what was logged."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def targets(tmp_path: Path, server: Server) -> dict[str, tuple[str, str, str]]:
    """For each kind: a hook that answers, one that fails, and what its failure is called."""
    (tmp_path / "myhooks.py").write_text(MODULE)
    for name, lines in (
        ("answer", "cat > seen.json; cat answer.json"),
        ("fail", "kill -9 $$"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{lines}\n")
        (tmp_path / name).chmod(0o755)
    url = f"http://127.0.0.1:{server.server_port}"
    return {
        "python": ("myhooks:answer", "myhooks:fail", "RuntimeError: no luck"),
        "command": (
            "cat > seen.json; cat answer.json",
            "exit 127",
            "exit code 127, a program was not found",
        ),
        "script": ("answer", "fail", "killed by SIGKILL"),
        "http": (f"{url}/answer", f"{url}/fail", "the server answered 503: no luck"),
        "agent": ("teller", "failing", "agent failing: the agent exited 3: no luck"),
    }


async def no_changes(folder: str) -> list[str]:
    return []


async def trusts_every(hook: Hook) -> None:
    pass


# The payload stands in the prompt between two lines of its own.
TELL = r"sed -n '/^<data /,/^<\/data /p' | sed '1d;$d' > seen.json; cat answer.json"
AGENTS = {
    "teller": Agent(driver="command", command=TELL),
    "failing": Agent(driver="command", command="echo no luck >&2; exit 3"),
}


def caller(root: Path) -> Caller:
    processes = LocalProcesses(str(root / "blobs"))
    return Caller(
        Surroundings(
            root=str(root),
            folder=str(root / ".hookline"),
            environ=dict(os.environ),
            processes=processes,
            http=HttpClient(),
            agents=LocalAgents(AGENTS, None, str(root), processes),
            repository=None,
            forge=None,
            verify=trusts_every,
            cleaner=Cleaner({}),
            changed_files=no_changes,
            context=context,
        )
    )


def folded(root: Path, rule: str, hook: Hook) -> tuple[Any, list[Outcome]]:
    """The answer of a point where one hook stands, and how its call went."""
    case, outcomes = CASES[rule], list[Outcome]()
    calls = caller(root)

    async def call(hook: Hook, payload: Any) -> Outcome:
        happened = EVENT if rule == "react" else None
        frame = Frame(case.point, RULES[rule], payload, "key-1", happened, 1)
        outcomes.append(await calls.call(hook, frame))
        return outcomes[-1]

    answer = asyncio.run(dispatch(RULES[rule], [hook], case.payload, call))
    return msgspec.to_builtins(answer), outcomes


def make(rule: str, kind: str, target: str, **options: Any) -> Hook:
    point = CASES[rule].point
    if kind == "agent":
        options["metadata"] = {"prompt": "What do you say?"}
    return Hook(name="h", points=(point,), kind=kind, target=target, pipe_output=True, **options)


every_kind = pytest.mark.parametrize("kind", ["python", "command", "script", "http", "agent"])
every_rule = pytest.mark.parametrize("rule", CASES)


@every_rule
def test_each_case_stands_at_a_point_of_its_rule(rule: str) -> None:
    assert POINTS[CASES[rule].point].rule == rule


@every_kind
@every_rule
def test_an_answer_of_any_kind_is_the_answer_of_the_rule(
    tmp_path: Path, targets: dict[str, tuple[str, str, str]], rule: str, kind: str
) -> None:
    (tmp_path / "answer.json").write_text(json.dumps(CASES[rule].says))
    answer, (outcome,) = folded(tmp_path, rule, make(rule, kind, targets[kind][0]))
    assert (outcome.status, outcome.error) == ("ok", None)
    assert answer == CASES[rule].answer
    seen = json.loads((tmp_path / "seen.json").read_text())
    if (rule, kind) == ("react", "python"):
        assert seen == {"event": "task_completed", "data": {"result": "fine"}}
    else:
        assert seen == json.loads(json.dumps(CASES[rule].payload))


@every_kind
@every_rule
def test_a_failure_of_any_kind_is_what_the_rule_makes_of_it(
    tmp_path: Path, targets: dict[str, tuple[str, str, str]], rule: str, kind: str
) -> None:
    _, target, error = targets[kind]
    answer, (outcome,) = folded(tmp_path, rule, make(rule, kind, target))
    assert outcome.status == "failed"
    assert outcome.error == error
    if rule == "feed":
        assert answer["text"].startswith(f"[hook h failed: {error}]")
    else:
        assert answer == CASES[rule].failed(error)


@every_rule
def test_a_hook_that_hangs_is_stopped_and_is_what_the_rule_makes_of_a_failure(
    tmp_path: Path, rule: str
) -> None:
    hook = make(rule, "command", "echo half; sleep 300", timeout=2)
    answer, (outcome,) = folded(tmp_path, rule, hook)
    error = "timed out after 2 s"
    assert (outcome.status, outcome.error, outcome.stdout) == ("timeout", error, "half\n")
    if rule == "feed":
        assert answer == {"text": f"[hook h failed: {error}]\nhalf\n"}
    else:
        assert answer == CASES[rule].failed(error)


PLAIN = "echo 2 tests fail; echo not on a Friday >&2; exit 2"


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        ("react", []),
        ("feed", {"text": "exit code 2\n2 tests fail\n\nnot on a Friday\n"}),
        (
            "gate",
            {
                "status": "failure",
                "message": f"`{PLAIN}` exited 2",
                "remediationPrompt": "2 tests fail\n\nnot on a Friday\n",
            },
        ),
        (
            "decide",
            {
                "action": "continue",
                "reason": f"`{PLAIN}` exited 2",
                "nextPrompt": "2 tests fail\n\nnot on a Friday\n",
                "hookId": "h",
            },
        ),
        ("steer", {"action": "none", "reason": "no hook answered"}),
        ("guard", {"verdict": "deny", "reason": "not on a Friday"}),
    ],
)
def test_one_plain_command_is_of_use_under_every_rule(
    tmp_path: Path, rule: str, answer: Any
) -> None:
    assert folded(tmp_path, rule, make(rule, "command", PLAIN))[0] == answer


@pytest.mark.parametrize(
    ("rule", "nobody"),
    [
        ("react", []),
        ("feed", {}),
        ("gate", {"status": "success", "message": "auto-accepted: no gate stands here"}),
        ("decide", {"action": "continue", "reason": "no stop hook applied"}),
        ("steer", {"action": "none", "reason": "no hook answered"}),
        ("guard", {"verdict": "none"}),
    ],
)
def test_a_condition_that_is_not_met_skips_the_hook_under_every_rule(
    tmp_path: Path, rule: str, nobody: Any
) -> None:
    hook = make(rule, "command", "touch ran", when="1 == 2")
    answer, (outcome,) = folded(tmp_path, rule, hook)
    assert outcome.status == "skipped"
    assert not (tmp_path / "ran").exists()
    assert answer == nobody
