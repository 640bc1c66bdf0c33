"""Hooks that are called while a command advances runs: what breaks is told, and goes on."""

from __future__ import annotations

import sqlite3
import subprocess
import threading
from contextlib import closing
from typing import TYPE_CHECKING

from tests.e2e.conftest import eventually

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
    """A flow that is advanced beside the test, and what its command says meanwhile."""

    def __init__(self, cli: Cli) -> None:
        self._cli = cli
        self.process = cli.start("flow", "start", "two")
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


def test_a_store_that_is_broken_for_a_moment(cli: Cli) -> None:
    cli.configure(CONFIGURATION.format(hooks=HEARD))
    flow = Started(cli)
    execute(
        cli,
        "CREATE TRIGGER broken BEFORE UPDATE ON dispatches"
        " BEGIN SELECT RAISE(ABORT, 'broken for a moment'); END",
    )
    flow.go("one")
    eventually(lambda: any("broken for a moment" in line for line in flow.said), "the complaint")
    (told, *_) = (line for line in flow.said if "broken for a moment" in line)
    assert told.startswith("hooks wait: ")
    assert told.endswith("; tried again in 1 s\n")
    assert not (cli.root / "trace").exists()
    execute(cli, "DROP TRIGGER broken")
    eventually((cli.root / "trace").exists, "the hook, while the flow goes on")
    flow.go("two")
    assert flow.ends() == 0
    assert (cli.root / "trace").read_text() == "heard\n" * 2


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
