"""A cloned repository runs nothing of its own until its user says so, and again after a change."""

from __future__ import annotations

import http.server
import shutil
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.e2e.conftest import Cli

MODULE = """
import pathlib

def ran(event, context):
    pathlib.Path(__file__).with_name("traces").joinpath("python").touch()
    return []
"""


class Trace(http.server.BaseHTTPRequestHandler):
    """Leaves a trace for each request."""

    folder: Path

    def do_POST(self) -> None:
        (self.folder / "http").touch()
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Say nothing."""


class Repository:
    """A project with a hook of every kind, each of which leaves a trace."""

    def __init__(self, cli: Cli, port: int) -> None:
        self.cli = cli
        self.traces = cli.root / "traces"
        self.traces.mkdir()
        touch = "#!/bin/sh\ntouch traces/"
        cli.put("myhooks.py", MODULE)
        cli.put("scripts/named.sh", f"{touch}script\n", 0o755)
        cli.put("scripts/called.sh", f"{touch}called\n", 0o755)
        cli.put(".hookline/hooks/task_created/folder.sh", f"{touch}folder\n", 0o755)
        cli.put(
            "hookline.yaml",
            "version: 1\nhooks:\n  task_created:\n"
            "    - {command: 'touch traces/command'}\n"
            "    - {command: 'sh scripts/called.sh'}\n"
            "    - {script: scripts/named.sh}\n"
            "    - {python: 'myhooks:ran'}\n"
            f"    - {{http: 'http://127.0.0.1:{port}/'}}\n",
        )

    def ran(self) -> set[str]:
        """Add a task and tell which hooks left a trace."""
        for trace in self.traces.iterdir():
            trace.unlink()
        assert self.cli("task", "add", "anything").code == 0
        return {trace.name for trace in self.traces.iterdir()}


EVERY_KIND = {"command", "called", "script", "python", "http", "folder"}


@pytest.fixture
def repository(cli: Cli) -> Iterator[Repository]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Trace)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    made = Repository(cli, server.server_address[1])
    Trace.folder = made.traces
    yield made
    server.shutdown()
    server.server_close()


def test_nothing_runs_before_trust_and_everything_after(repository: Repository) -> None:
    assert repository.ran() == set()
    assert repository.cli("trust", "--yes").code == 0
    assert repository.ran() == EVERY_KIND


def test_a_data_command_commits_warns_and_never_makes_up_for_it(repository: Repository) -> None:
    cli = repository.cli
    result = cli("task", "add", "before trust")
    assert result.code == 0
    assert "run `hookline trust`" in result.stderr
    assert cli.task("T-1")["state"] == "ready"
    (item,) = cli("attention", "--json").json
    held = "127.0.0.1, myhooks:ran, named.sh, sh, task_created/folder.sh, touch"
    assert item["id"] == held
    cli("trust", "--yes")
    assert cli("task", "add", "after trust").code == 0
    statuses = cli.calls("task_created[0]:touch", "event_seq, status, error")
    assert [status for _, status, _ in statuses] == ["skipped", "ok"]
    assert "hookline trust" in statuses[0][2]


CHANGES: dict[str, tuple[str, Callable[[str], str]]] = {
    "configuration": ("hookline.yaml", lambda text: text + "# a comment\n"),
    "module of a python hook": ("myhooks.py", lambda text: text + "\n"),
    "file named in a command": ("scripts/called.sh", lambda text: text + "\n"),
    "script": ("scripts/named.sh", lambda text: text + "\n"),
    "hook in the folder": (".hookline/hooks/task_created/folder.sh", lambda text: text + "\n"),
    "new hook in the folder": (".hookline/hooks/task_created/new.sh", lambda text: "#!/bin/sh\n"),
    "a flow": (".hookline/flows/new.py", lambda text: "x = 1\n"),
}


@pytest.mark.examples(3)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_anything_covered_asks_again(repository: Repository, change: str) -> None:
    cli = repository.cli
    cli("trust", "--yes")
    assert repository.ran() == EVERY_KIND
    name, edit = CHANGES[change]
    path = cli.root / name
    before = path.read_text() if path.exists() else ""
    cli.put(name, edit(before), 0o755)
    assert repository.ran() == set()
    shown = cli("trust")
    assert shown.code == 2
    assert name in shown.stdout
    cli("trust", "--yes")
    assert repository.ran() == EVERY_KIND


def test_a_change_back_is_trusted_again(repository: Repository) -> None:
    cli = repository.cli
    cli("trust", "--yes")
    text = (cli.root / "hookline.yaml").read_text()
    cli.put("hookline.yaml", text + "# changed\n")
    assert repository.ran() == set()
    cli.put("hookline.yaml", text)
    assert repository.ran() == EVERY_KIND


def test_a_hook_that_changes_another_stops_it(cli: Cli) -> None:
    cli.put("second.sh", "#!/bin/sh\ntouch ran\n", 0o755)
    cli.configure(
        "hooks:\n  task_created:\n"
        "    - {name: first, command: \"echo 'touch evil' >> second.sh\"}\n"
        "    - {name: second, script: second.sh}\n"
    )
    result = cli("task", "add", "x")
    assert result.code == 0
    assert not (cli.root / "ran").exists()
    assert not (cli.root / "evil").exists()
    ((status, error),) = cli.calls("second", "status, error")
    assert status == "failed"
    assert "second.sh changed" in error


def test_automation_trusts_by_hash(repository: Repository) -> None:
    cli = repository.cli
    found = cli.json("trust", "--show")["hash"]
    env = {"HOOKLINE_TRUST": found}
    assert cli("task", "add", "x", env=env).code == 0
    assert {trace.name for trace in repository.traces.iterdir()} == EVERY_KIND
    cli.put("myhooks.py", MODULE + "\n")
    for trace in repository.traces.iterdir():
        trace.unlink()
    assert cli("task", "add", "x", env=env).code == 0
    assert not list(repository.traces.iterdir())


def test_always_trusts_a_folder_of_ones_own(repository: Repository) -> None:
    cli = repository.cli
    assert cli("trust", "--always", "--yes").code == 0
    cli.put("myhooks.py", MODULE + "\n")
    assert repository.ran() == EVERY_KIND


def test_an_agent_cannot_trust(repository: Repository) -> None:
    code, error = repository.cli.refused("trust", "--yes", env={"HOOKLINE_AGENT": "bot"})
    assert (code, error["code"]) == (4, "people-only")
    assert repository.ran() == set()


def test_hook_test_is_refused_while_untrusted(repository: Repository) -> None:
    code, error = repository.cli.refused("hook", "test", "task_created[0]:touch")
    assert (code, error["code"]) == (2, "untrusted")


def test_an_untrusted_repository_cannot_switch_built_ins_off(cli: Cli) -> None:
    cli.configure(
        "hooks:\n  task_completed:\n    - {name: auto-create-review-task, enabled: false}\n",
        trust=False,
    )
    cli("task", "add", "x", "--label", "agent")
    cli("task", "complete", "T-1")
    assert cli.task("T-2")["goal"] == "Review: x"
    cli("trust", "--yes")
    cli("task", "add", "y", "--label", "agent")
    cli("task", "complete", "T-3")
    assert len(cli.json("task", "list", "--all")) == 3


def test_committed_bytecode_does_not_run(cli: Cli) -> None:
    cli.put("myhooks.py", "def hook(event, context):\n    open('evil', 'w')\n    return []\n")
    command = "import py_compile; py_compile.compile('myhooks.py', invalidation_mode=" + (
        "py_compile.PycInvalidationMode.UNCHECKED_HASH)"
    )
    subprocess.run((sys.executable, "-c", command), cwd=cli.root, check=True)
    cli.put("myhooks.py", "def hook(event, context):\n    open('good', 'w')\n    return []\n")
    cli.configure("hooks:\n  task_created:\n    - {python: 'myhooks:hook'}\n")
    assert cli("task", "add", "x").code == 0
    assert (cli.root / "good").exists()
    assert not (cli.root / "evil").exists()


def test_a_store_that_came_with_the_repository_is_only_read(cli: Cli, tmp_path: Path) -> None:
    cli.add("made by someone else")
    shutil.copytree(cli.root, tmp_path / "clone")
    cli.root = tmp_path / "clone"
    assert [task["id"] for task in cli.json("task", "list")] == ["T-1"]
    code, error = cli.refused("task", "add", "mine")
    assert (code, error["code"]) == (2, "untrusted")
    assert cli("trust", "--yes").code == 0
    assert cli.add("mine") == "T-2"


def test_a_store_with_objects_of_its_own_is_never_adopted(cli: Cli, tmp_path: Path) -> None:
    cli.add("innocent")
    cli.rows("SELECT 1")
    shutil.copytree(cli.root, tmp_path / "clone")
    cli.root = tmp_path / "clone"
    cli.database = cli.root / ".hookline" / "hookline.db"
    cli.rows("CREATE TRIGGER evil AFTER INSERT ON events BEGIN DELETE FROM tasks; END")
    result = cli("trust", "--yes")
    assert result.code == 1
    assert "evil" in result.stderr
    assert cli("task", "add", "mine").code == 2
