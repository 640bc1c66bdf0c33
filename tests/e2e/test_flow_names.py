"""Importing a module runs it: a name that only a store holds is never imported."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

MODULE = """\
import pathlib
pathlib.Path("imported").touch()


async def go(ctx):
    await ctx.breakpoint("Sure?", id="sure")
    return 1
"""
AGENT = {"HOOKLINE_AGENT": "bot"}
STARTS = '{"actions": [{"type": "execute_workflow", "payload": {"workflowId": "ours:go"}}]}'


def imported(cli: Cli) -> bool:
    """Whether the module was imported since the last time."""
    trace = cli.root / "imported"
    found = trace.exists()
    trace.unlink(missing_ok=True)
    return found


def test_a_name_that_only_the_store_holds_is_not_imported(cli: Cli) -> None:
    cli.put("ours.py", MODULE)
    cli.add("one")
    with closing(sqlite3.connect(cli.database, isolation_level=None)) as connection:
        connection.execute(
            "INSERT INTO runs (number, flow, status, input, metadata, created_at, updated_at,"
            " wake_at) VALUES (1, 'ours:go', 'running', '{}', '{}', '2026', '2026', 0)"
        )
    for words in (
        ("work", "--flows", "--once"),
        ("orchestrate", "R-1"),
        ("flow", "resume", "R-1"),
        ("flow", "rerun", "R-1", "--from", "sure"),
    ):
        cli(*words)
        assert not imported(cli), words
    run = cli.json("flow", "status", "R-1")
    assert run["status"] == "parked"
    assert "neither trusted files nor a person named it" in run["reason"]


def test_a_flow_that_a_person_typed_goes_on_while_its_module_is_the_same(cli: Cli) -> None:
    cli.put("ours.py", MODULE)
    assert cli("flow", "start", "ours:go").code == 4
    assert imported(cli)
    assert cli("orchestrate", "R-1").code == 4
    # Of another length: Python takes a file of the same second and length for the same.
    cli.put("ours.py", MODULE.replace("return 1", "return 2  # changed"))
    imported(cli)
    cli("answer", "R-1", "sure", "yes")
    cli("orchestrate", "R-1")
    run = cli.json("flow", "status", "R-1")
    assert (run["status"], imported(cli)) == ("parked", False)
    assert "the module of 'ours:go' changed since you started R-1" in run["reason"]
    assert cli("flow", "resume", "R-1", env=AGENT).code != 0
    assert not imported(cli)
    assert cli("flow", "resume", "R-1").code == 0
    assert cli.json("flow", "status", "R-1")["value"] == 2


def test_what_an_agent_or_a_hook_names_counts_only_if_trust_covers_it(cli: Cli) -> None:
    cli.put("ours.py", MODULE)
    cli.put("says.sh", f"echo '{STARTS}'\n")
    hook = "{name: starts, command: 'sh says.sh'}"
    cli.configure(f"hooks:\n  task_created: [{hook}]\n")
    code, error = cli.refused("flow", "start", "ours:go", env=AGENT)
    assert (code, error["code"]) == (2, "untrusted")
    assert "action execute_workflow failed" in cli("task", "add", "one").stderr
    assert cli("flow", "show", "ours:go", env=AGENT).code == 2
    assert not imported(cli)
    assert cli.json("flow", "status") == []
    covers = "{name: covers, python: 'ours:hook', enabled: false}"
    cli.configure(f"hooks:\n  task_created: [{hook}, {covers}]\n")
    cli("task", "add", "two")
    cli("work", "--flows", "--once")
    assert imported(cli)
    assert cli.json("flow", "status", "R-1")["status"] == "parked"
