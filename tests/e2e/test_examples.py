"""Every example, run as its README says, in a copy of its folder."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookline.testing import context, event
from tests.e2e.conftest import Cli

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(tmp_path: Path) -> Iterator[Callable[[str], Cli]]:
    opened: list[Cli] = []

    def copy(name: str) -> Cli:
        cli = Cli(tmp_path)
        shutil.copytree(EXAMPLES / name, cli.root, dirs_exist_ok=True)
        opened.append(cli)
        assert cli.json("check") == {
            "problems": [],
            "errors": 0,
            "warnings": 0,
            "changedDefaults": [],
        }
        assert cli.json("trust", "--yes")["trusted"]
        return cli

    yield copy
    for each in opened:
        each.close()


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
