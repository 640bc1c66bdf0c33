"""Every example, run as its README says, in a copy of its folder."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookline.testing import context, event
from tests.e2e.conftest import Cli

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OVERNIGHT_AGENT = """\
cat > /dev/null
echo "# $HOOKLINE_TASK_ID" >> "shop/$HOOKLINE_TASK_ID.py"
echo '<promise>COMPLETE</promise>'
"""
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(tmp_path: Path) -> Iterator[Callable[[str], Cli]]:
    opened: list[Cli] = []

    def copy(name: str) -> Cli:
        cli = Cli(tmp_path)
        shutil.copytree(EXAMPLES / name, cli.root, dirs_exist_ok=True)
        opened.append(cli)
        _programs(cli, "claude", "codex", "notify-send")
        cli.env["OVERNIGHT_WEBHOOK"] = "http://127.0.0.1:9/nobody"
        found = cli.json("check")
        assert (found["problems"], found["changedDefaults"]) == ([], [])
        assert cli.json("trust", "--yes")["trusted"]
        return cli

    yield copy
    for each in opened:
        each.close()


def _programs(cli: Cli, *names: str) -> None:
    """Programs that examples call, and that do nothing here."""
    folder = cli.root.parent / "bin"
    folder.mkdir()
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    cli.env["PATH"] = f"{folder}:{cli.env['PATH']}"


def test_every_example_is_complete_and_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    folders = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
    assert folders
    for folder in folders:
        assert f"({folder.name}/README.md)" in listed
        assert (folder / "README.md").is_file()
        assert (folder / "hookline.yaml").is_file()


def test_notify(example: Callable[[str], Cli]) -> None:
    cli = example("notify")
    done = cli.add('Fix "$(touch pwned)"')
    quiet = cli.add("Tidy up", "--label", "quiet")
    blocked = cli.add("Order the key")
    cli.json("task", "complete", done)
    cli.json("task", "complete", quiet)
    cli.json("task", "block", blocked, "--reason", "nobody knows the supplier")
    assert (cli.root / "notifications.txt").read_text().splitlines() == [
        'T-1 is done: Fix "$(touch pwned)"',
        "T-3 is blocked: nobody knows the supplier",
    ]
    assert not (cli.root / "pwned").exists()
    assert cli.calls("notify") == ["ok", "skipped"]
    assert cli.json("trust", "--show")["trusted"], "what the hooks wrote undid their trust"


def test_review_policy(example: Callable[[str], Cli]) -> None:
    cli = example("review-policy")
    cli.json("task", "complete", cli.add("Refresh the tokens", "--label", "auth-core"))
    cli.json("task", "complete", cli.add("Fix a typo", "--label", "docs"))
    [review] = cli.json("task", "ready")
    assert review["goal"] == "Security review: Refresh the tokens"
    assert review["labels"] == ["security", "review"]
    assert (review["priority"], review["parentTaskId"]) == (0, "T-1")
    assert cli.task("T-1")["notes"] == ["a security review was asked for"]
    assert cli.calls("security-review") == ["ok", "skipped"]


def test_review_policy_as_a_function() -> None:
    spec = importlib.util.spec_from_file_location("policy", EXAMPLES / "review-policy/policy.py")
    assert spec is not None
    assert spec.loader is not None
    policy: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(policy)
    done = event("task_completed", "T-1", {"result": "ok"})
    first = policy.security_review(done, context({"T-1": {"goal": "Sign in"}}))
    assert [action["type"] for action in first] == ["create_task", "update_task"]
    asked: dict[str, dict[str, Any]] = {
        "T-1": {"goal": "Sign in"},
        "T-2": {"labels": ["security"], "parentTaskId": "T-1"},
    }
    assert policy.security_review(done, context(asked)) == []


def test_chat_webhook(example: Callable[[str], Cli]) -> None:
    cli = example("chat-webhook")
    receiver = subprocess.Popen(
        (sys.executable, cli.root / "receiver.py", "0"), stdout=subprocess.PIPE, text=True
    )
    try:
        assert receiver.stdout is not None
        port = receiver.stdout.readline().split()[-1]
        config = cli.root / "hookline.yaml"
        config.write_text(config.read_text().replace("8787", port))
        cli.json("trust", "--yes")
        token = {"CHAT_TOKEN": "a-token-of-mine"}
        cli.json("task", "complete", cli.add("Fix the login"), env=token)
        cli.json("task", "block", cli.add("Order"), "--reason", "money", env=token)
        heard = [json.loads(receiver.stdout.readline()) for _ in range(2)]
    finally:
        receiver.kill()
        receiver.communicate()
    assert [each["path"] for each in heard] == [
        "/tasks/T-1?about=task_completed",
        "/tasks/T-2?about=task_blocked",
    ]
    assert [each["goal"] for each in heard] == ["Fix the login", "Order"]
    assert {each["authorization"] for each in heard} == {"Bearer a-token-of-mine"}
    assert len({each["idempotencyKey"] for each in heard}) == 2
    assert cli.calls("chat") == ["ok", "ok"]
    assert b"a-token-of-mine" not in cli.database.read_bytes()


def test_shell_script_hook(example: Callable[[str], Cli]) -> None:
    cli = example("shell-script-hook")
    cli.json("task", "complete", cli.add("Wrong total", "--label", "bug"))
    cli.json("task", "complete", cli.add("New colour"))
    [test] = cli.json("task", "ready")
    assert test["goal"] == "Add a regression test for T-1"
    assert (test["labels"], test["parentTaskId"]) == (["test"], "T-1")
    said = cli("why", "3").stdout
    assert "hook task_completed/10-follow-up.sh" in said


def test_custom_events(example: Callable[[str], Cli]) -> None:
    cli = example("custom-events")
    cli.json("emit", "deploy_done", "--data", '{"environment": "production", "version": "1.4"}')
    cli.json("emit", "deploy_done", "--data", '{"environment": "staging"}')
    cli.json("emit", "deploy_failed", "--data", '{"environment": "production"}')
    kept = (cli.root / "deployments.jsonl").read_text().splitlines()
    assert list(map(json.loads, kept)) == [{"environment": "production", "version": "1.4"}]
    urgent = cli.json("task", "next")
    assert urgent["goal"] == "Find out why the deployment to production failed"
    assert urgent["priority"] == 0
    [opened] = cli.events("incident_opened")
    assert opened["data"] == {"environment": "production"}
    assert opened["metadata"]["hook"] == "open-incident"


def test_embedded(example: Callable[[str], Cli]) -> None:
    cli = example("embedded")
    done = subprocess.run(
        (sys.executable, "worker.py"),
        cwd=cli.root,
        env=cli.env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "T-1 Design: done",
        "T-2 Build: done",
        "T-3 Ship: done",
        "ready: Party",
    ]
    assert cli.calls("celebrate") == ["ok", "ok", "ok"]
    assert [each["data"]["agent"] for each in cli.events("task_claimed")] == ["worker-1"] * 3


def test_user_stories(example: Callable[[str], Cli]) -> None:
    cli = example("user-stories")
    stories = cli.json("task", "add", "--from", "stories.md")
    assert [(task["id"], task["state"], task["priority"]) for task in stories] == [
        ("T-1", "ready", 1),
        ("T-2", "ready", 2),
        ("T-3", "created", 2),
        ("T-4", "created", 2),
        ("T-5", "created", 2),
        ("T-6", "completed", 2),
        ("T-7", "created", 3),
    ]
    assert [task["parentTaskId"] for task in stories[1:4]] == ["T-1"] * 3
    assert stories[3]["dependsOn"] == ["T-2"]
    audit, export = cli.json("task", "add", "--from", "more.jsonl")
    assert audit["desiredDeliverables"] == ["A table", "A retention job"]
    assert export["dependsOn"] == [audit["id"]]


@pytest.fixture
def listener() -> Iterator[str]:
    """A server that takes everything."""

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Taking) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_overnight(example: Callable[[str], Cli], listener: str) -> None:
    """The whole configuration, with programs in place of the agents."""
    cli = example("overnight")
    text = (cli.root / "hookline.yaml").read_text()
    approve = '{"verdict": "approve", "summary": "Fine.", "comments": []}'
    cli.put("../work.sh", OVERNIGHT_AGENT)
    work = f"driver: command, command: 'sh {cli.root.parent}/work.sh'"
    lines = []
    for line in text.splitlines():
        if "permissions: read" in line:
            name = line.partition(":")[0]
            line = f"{name}: {{driver: command, command: 'sh {cli.root.parent}/judge.sh'}}"
        elif "permissions: work" in line:
            line = f"{line.partition(':')[0]}: {{{work}}}"
        lines.append(line)
    cli.put("../judge.sh", f"cat > /dev/null; echo '{approve}'\n")
    cli.put("hookline.yaml", "\n".join(lines) + "\n")
    cli.put(".gitignore", "__pycache__/\n")
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "begin")):
        who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        subprocess.run(("git", *who, *words), cwd=cli.root, env=cli.env, check=True)
    cli.json("trust", "--yes", quiet=False)
    cli.env["OVERNIGHT_WEBHOOK"] = listener
    tasks = [cli.add("Refuse it", "--type", "feature"), cli.add("Tell how", "--type", "chore")]
    done = cli("work", "--once", "--agents", "2")
    assert done.code == 0, done.stderr
    assert {cli.task(task)["state"] for task in tasks} == {"completed"}
    assert "2 merged" in done.stdout + done.stderr
    shown = cli("report").stdout
    assert "MERGED UNTESTED" not in shown
    assert all(task in shown for task in tasks)
