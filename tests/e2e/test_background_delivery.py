"""Hooks that are called while a command advances runs: what breaks is told, and goes on."""

from __future__ import annotations

import sqlite3
import subprocess
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import eventually
from tests.e2e.mcp_rig import Agent
from tests.e2e.session_rig import HOOKLINE, PROMISE, Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

CONFIGURATION = """\
hooks:
  on-effect-complete: [{hooks}]
flows:
  two:
    steps:
      - {{id: one, run: "touch began; while [ ! -e one ]; do sleep 0.02; done"}}
      - {{id: two, run: "while [ ! -e two ]; do sleep 0.02; done"}}
"""
HEARD = "{name: heard, command: 'echo heard >> trace'}"


class Started:
    """A command that advances runs beside the test, and what it says meanwhile."""

    def __init__(self, cli: Cli, *words: str) -> None:
        self._cli = cli
        self.process = cli.start(*(words or ("flow", "start", "two")))
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        eventually((cli.root / "began").exists, "the first step")

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)

    def go(self, step: str) -> None:
        """Let a step end."""
        (self._cli.root / step).touch()

    def ends(self) -> int:
        """Wait for the end; the exit code."""
        code = self.process.wait(timeout=60)
        self._reader.join(timeout=10)
        return code


def execute(cli: Cli, sql: str) -> None:
    """Change the store past Hookline."""
    with closing(sqlite3.connect(cli.database, timeout=30)) as connection, connection:
        connection.execute(sql)


def breaks_for_a_moment(cli: Cli, started: Started) -> None:
    """Let the first step go on while the store is broken, and the second when it is whole again."""
    execute(
        cli,
        "CREATE TRIGGER broken BEFORE UPDATE ON dispatches"
        " BEGIN SELECT RAISE(ABORT, 'broken for a moment'); END",
    )
    started.go("one")
    eventually(lambda: any("broken for a moment" in line for line in started.said), "the complaint")
    (told, *_) = (line for line in started.said if "broken for a moment" in line)
    assert "hooks are waiting: " in told
    assert told.endswith("; trying again in 1 s\n")
    assert not (cli.root / "trace").exists()
    execute(cli, "DROP TRIGGER broken")
    eventually((cli.root / "trace").exists, "the hook, while the command goes on")
    started.go("two")


def test_a_store_that_is_broken_for_a_moment(cli: Cli) -> None:
    cli.configure(CONFIGURATION.format(hooks=HEARD))
    flow = Started(cli)
    breaks_for_a_moment(cli, flow)
    assert flow.ends() == 0
    assert (cli.root / "trace").read_text() == "heard\n" * 2


@pytest.mark.examples(1)
@pytest.mark.parametrize("words", [("run", "do it", "--agent", "bot"), ("work", "--once")])
def test_delivery_that_breaks_beside_an_agent(cli: Cli, words: tuple[str, ...]) -> None:
    rig = Rig(cli)
    rig.repository()
    root = cli.root
    rig.turns(
        f"touch {root}/began; while [ ! -e {root}/one ]; do sleep 0.02; done"
        f"; {HOOKLINE} emit deploy_done > /dev/null"
        f"; while [ ! -e {root}/two ]; do sleep 0.02; done; {PROMISE}"
    )
    heard = {"name": "heard", "command": f"echo heard >> {root}/trace"}
    rig.configure({"deploy_done": [heard]}, events=["deploy_done"])
    if words[0] == "work":
        cli.add("do it")
    started = Started(cli, *words)
    breaks_for_a_moment(cli, started)
    assert started.ends() == 0
    assert (root / "trace").read_text() == "heard\n"


def test_delivery_that_breaks_beside_an_mcp_server(cli: Cli) -> None:
    cli.configure(f"hooks: {{task_created: [{HEARD}]}}\n")
    cli.put(
        "patches/sitecustomize.py",
        "import os\n"
        "from hookline.app import App\n"
        "whole = App.deliver\n"
        "async def deliver(app):\n"
        "    if not os.path.exists('whole'):\n"
        "        raise KeyError('broken for a moment')\n"
        "    return await whole(app)\n"
        "App.deliver = deliver\n",
    )
    said = cli.root / "said"
    with Agent.on_stdio(cli, env={"PYTHONPATH": str(cli.root / "patches")}, said=said) as agent:
        agent("task_create", goal="one")
        told, *_ = said.read_text().splitlines()
        assert told.startswith("hookline mcp: hooks are waiting: KeyError: 'broken for a moment' (")
        assert told.endswith("); trying again in 1 s")
        agent("task_create", goal="two")
        assert not (cli.root / "trace").exists()
        (cli.root / "whole").touch()
        eventually((cli.root / "trace").exists, "the hooks, while the server goes on")
        agent("task_create", goal="three")
    assert (cli.root / "trace").read_text() == "heard\n" * 3


def test_what_breaks_before_any_hook_does_not_end_delivery(cli: Cli) -> None:
    """One that asks git what changed, in a repository that git cannot read."""
    subprocess.run(("git", "init", "-q"), cwd=cli.root, check=True)
    asks = "{name: asks, command: 'true', when: \"changed('*.md')\"}"
    cli.configure(CONFIGURATION.format(hooks=f"{asks}, {HEARD}"))
    whole = (cli.root / ".git" / "config").read_text()
    (cli.root / ".git" / "config").write_text("[broken")
    flow = Started(cli)
    flow.go("one")
    eventually(lambda: any("git" in line for line in flow.said), "the complaint")
    (cli.root / ".git" / "config").write_text(whole)
    eventually((cli.root / "trace").exists, "the other hook, while the flow goes on")
    flow.go("two")
    assert flow.ends() == 0
