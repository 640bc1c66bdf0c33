"""A store is yours only if you made it: what somebody planted in a repository never runs."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.store.sqlite import SqliteStore
from tests.e2e.mcp_rig import Agent

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli

EVIL = "import pathlib\npathlib.Path('ran').touch()\nasync def go(ctx):\n    pass\n"
RUN = (
    "INSERT INTO runs (number, flow, status, input, metadata, created_at, updated_at, wake_at)"
    " VALUES (1, '{}', 'running', '{{}}', '{{}}', '2026', '2026', 0)"
)
# One row in each table that a store without events could do harm with.
ROWS = (
    RUN.format("evil:go"),
    "INSERT INTO switches VALUES ('tests', 0)",
    "INSERT INTO dispatches (event_seq, node_id) VALUES (1, 'system')",
    "INSERT INTO run_values VALUES (1, 'a', '1')",
    "INSERT INTO tasks (number, state, priority, goal, created_at, rank)"
    " VALUES (1, 'ready', 0, 'do harm', '2026', 1)",
    "INSERT INTO payloads VALUES (1, '{}')",
    "INSERT INTO meta VALUES ('other', 'x')",
    "UPDATE counters SET run = 7",
)


def write(cli: Cli, *statements: str) -> None:
    """Write to the store past Hookline."""
    with closing(sqlite3.connect(cli.database, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(row.split()[:3]))
def test_a_store_without_events_is_not_empty_for_that(cli: Cli, row: str) -> None:
    cli.put("evil.py", EVIL)
    SqliteStore(str(cli.database)).close()
    write(cli, row)
    for words in (("task", "add", "mine"), ("work", "--flows", "--once")):
        code, error = cli.refused(*words)
        assert (code, error["code"]) == (2, "untrusted")
    assert not (cli.root / "ran").exists()
    assert not (cli.home / "stores").exists()


def test_an_empty_store_is_taken_over(cli: Cli) -> None:
    SqliteStore(str(cli.database)).close()
    assert cli.add("mine") == "T-1"


def test_what_a_store_would_do_is_called_off_when_it_is_adopted(cli: Cli, tmp_path: Path) -> None:
    cli.put("evil.py", EVIL)
    cli.configure("hooks:\n  note: [{name: calls, command: 'touch ran'}]\nevents: [note]\n")
    cli.add("theirs")
    with Agent.in_process(cli) as agent:
        agent("hook_register", taskId="T-1", hookType="command", command="touch ran")
    cli("hook", "disable", "calls")
    call = (
        "INSERT INTO deliveries (event_seq, hook, point, kind, origin, status, position)"
        " VALUES (1, 'calls', 'note', 'command', 'x', 'pending', 0)"
    )
    held = "UPDATE runs SET owner = 'somebody', token = 9, lease_until = 9e9"
    write(cli, RUN.format("evil:go"), held, call, ROWS[2])
    shutil.copytree(cli.root, tmp_path / "clone")
    cli.root = tmp_path / "clone"
    cli.database = cli.root / ".hookline" / "hookline.db"

    adopted = cli("trust", "--yes")
    assert "runs in the store were cancelled: R-1" in adopted.stderr
    (event,) = cli.events("store_adopted")
    assert event["data"] == {
        "runsCancelled": ["R-1"],
        "callsAbandoned": 1,
        "switchesCleared": ["calls"],
    }
    assert [each["nodeId"] for each in cli.events("run_cancelled")] == ["R-1"]
    assert cli.json("flow", "status", "R-1")["status"] == "cancelled"
    assert cli.rows("SELECT count(*) FROM dispatches") == [(0,)]
    assert [each["enabled"] for each in cli.json("hook", "list") if each["name"] == "calls"] == [
        True
    ]
    with Agent.in_process(cli) as agent:
        assert agent("hook_list", taskId="T-1")["hooks"] == []
    assert cli("work", "--flows", "--once").code == 0
    assert not (cli.root / "ran").exists()
    assert cli.refused("emit", "store_adopted")[1]["code"] == "reserved-event"


def test_a_store_in_the_place_of_yours_is_told(cli: Cli) -> None:
    cli.add("mine")
    other = cli.root / "other.db"
    SqliteStore(str(other)).close()
    os.replace(other, cli.database)
    for words in (("task", "add", "two"), ("work", "--flows", "--once")):
        code, error = cli.refused(*words)
        assert (code, error["code"]) == (1, "store-replaced")
        assert "hookline trust" in error["help"]
    told = "not the store that you created or adopted here: it was replaced"
    for reader in ("task list", "status", "attention", "session list"):
        read = cli(*reader.split(), "--json")
        assert told in read.stderr, reader
        assert json.loads(read.stdout) is not None, reader
    assert told in cli("attention").stdout
    checks = {each["name"]: each["status"] for each in cli("doctor", "--json").json["checks"]}
    assert checks["store owner"] == "failed"
    assert cli("trust", "--yes").code == 0
    assert cli("task", "list", "--json").stderr == ""
    assert cli.add("in the new one") == "T-1"


def test_a_store_that_is_gone_is_told_when_a_new_one_is_made(cli: Cli) -> None:
    cli.add("one")
    shutil.rmtree(cli.root / ".hookline")
    (cli.root / ".hookline").mkdir()
    assert cli.json("task", "list") == []
    added = cli("task", "add", "two")
    assert added.code == 0
    assert "the store that was here is gone" in added.stderr
    assert cli("task", "add", "three").stderr == ""


def test_a_database_that_is_not_ours_is_left_alone(cli: Cli) -> None:
    with closing(sqlite3.connect(cli.database)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    before = cli.database.read_bytes()
    for words in (("task", "add", "one"), ("task", "list"), ("trust", "--yes")):
        assert cli.refused(*words)[1]["code"] == "store-corrupt"
    assert cli.database.read_bytes() == before


def test_a_journal_beside_the_store_is_not_played_back(cli: Cli) -> None:
    cli.add("one")
    journal = cli.root / ".hookline" / "hookline.db-journal"
    journal.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(600))
    before = cli.database.read_bytes()
    assert cli.refused("task", "add", "two")[1]["code"] == "store-corrupt"
    assert (cli.database.read_bytes(), journal.exists()) == (before, True)
    journal.unlink()
    assert cli.add("two") == "T-2"


# Puts another file in the store's place at the worst moment: after it was looked at, and before
# SQLite opens it.
SWAPS = """\
import os, sqlite3
connect = sqlite3.connect
def swapped(path, *args, **more):
    if "hookline.db" in str(path) and os.path.exists("planted.db"):
        os.replace("planted.db", ".hookline/hookline.db")
    return connect(path, *args, **more)
sqlite3.connect = swapped
"""


@pytest.mark.parametrize("words", [("task", "add", "mine"), ("task", "list")], ids=" ".join)
def test_a_store_that_is_replaced_while_it_is_opened_is_not_used(
    cli: Cli, tmp_path: Path, words: tuple[str, ...]
) -> None:
    cli.add("first")
    with closing(sqlite3.connect(cli.database)) as store:
        store.execute("VACUUM INTO ?", (str(cli.root / "planted.db"),))
    planted = (cli.root / "planted.db").read_bytes()
    swaps = tmp_path / "swaps"
    swaps.mkdir()
    (swaps / "sitecustomize.py").write_text(SWAPS)
    result = cli.process(*words, "--json", env={"PYTHONPATH": str(swaps)})
    assert (result.code, result.error["code"]) == (1, "store-replaced")
    assert "was replaced while it was opened" in result.error["message"]
    assert cli.database.read_bytes() == planted
