"""Whoever may write to a shared store cannot bring a command line that a host then runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hookline.flows import journal
from tests.e2e.clone_rig import PROMISE, Clones
from tests.postgres_server import PostgresServer, new_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.e2e.conftest import Cli

SHIP = {
    "ship": {
        "steps": [{"id": "ok", "breakpoint": "Ship?"}, {"id": "out", "run": "echo {{input.what}}"}]
    }
}
FINE = {"name": "fine", "type": "command", "command": "true"}


@pytest.fixture
def clones(cli: Cli, tmp_path: Path, postgres: PostgresServer) -> Iterator[Clones]:
    """Two clones of a project that share a store."""
    cli.env["HOOKLINE_STORE"] = new_project(postgres)
    made = Clones(cli, tmp_path / "elsewhere")
    yield made
    made.close()


def rewrite(cli: Cli, event: str, change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Change the last record of a run, with its checksum, as whoever may write to the store can."""
    sql = "SELECT seq, data FROM events WHERE node_id = 'R-1' AND type = ? ORDER BY seq DESC"
    seq, text = cli.rows(sql, event)[0]
    data: dict[str, Any] = json.loads(text)
    data.pop("checksum")
    change(data)
    data["checksum"] = journal.checksum(data)
    cli.rows("UPDATE events SET data = ? WHERE seq = ? RETURNING seq", json.dumps(data), seq)
    return {**data, "seq": seq}


def pin(cli: Cli, name: str, value: dict[str, Any] | list[dict[str, Any]]) -> None:
    """Let the newest chapter of a run keep something else of the configuration."""

    def change(data: dict[str, Any]) -> None:
        if isinstance(value, dict):
            data["pins"][name].update(value)
        else:
            data["pins"][name] = value

    found = rewrite(cli, "run_started", change)
    pins = json.dumps({**found["pins"], "seq": found["seq"]})
    cli.rows("UPDATE runs SET pins = ? WHERE number = 1 RETURNING number", pins)


def forget_steps(cli: Cli) -> None:
    """As if nothing of a run had been done yet, so that no step differs from its record."""
    for sql in (
        "DELETE FROM events WHERE node_id = 'R-1' AND type LIKE 'effect_%' RETURNING seq",
        "DELETE FROM effects WHERE run = 1 RETURNING run",
    ):
        cli.rows(sql)


def test_checks_of_a_session_are_those_of_the_host(clones: Clones) -> None:
    clones.rig.turns(clones.hang(1), PROMISE)
    clones.begin(validation=[FINE])
    task, planted = clones.first.add("count"), clones.rig.file("planted")
    clones.kill_in_turn(task, 1)
    pin(clones.first, "session", {"rules": [{**FINE, "command": f"touch {planted}"}]})
    forget_steps(clones.first)
    ended = clones.second("work", "--once", "--json")
    assert not planted.exists()
    assert "the rule 'fine' of R-1 is not from a configuration" in ended.stdout
    assert ended.code == 4
    assert clones.repo.merged() == []


def test_tests_of_a_merge_are_those_of_the_host(clones: Clones) -> None:
    clones.rig.turns(clones.hang(1), f"echo one > one; {PROMISE}")
    clones.begin(gates={"test": "true"})
    task, planted = clones.first.add("count"), clones.rig.file("planted")
    clones.kill_in_turn(task, 1)
    pin(clones.first, "gates", {"test": f"touch {planted}"})
    forget_steps(clones.first)
    assert clones.second("work", "--once", "--json").code == 4
    assert not planted.exists()
    assert clones.repo.merged() == []


def test_steps_of_a_flow_are_those_of_the_host(clones: Clones) -> None:
    clones.begin(flows=SHIP)
    planted = clones.rig.file("planted")
    assert clones.first("flow", "start", "ship", "--input", '{"what": "it"}').code == 4
    steps = [SHIP["ship"]["steps"][0], {"id": "out", "run": f"touch {planted}"}]
    pin(clones.first, "steps", steps)
    assert clones.second("answer", "R-1", "ok", "yes").code == 0
    assert clones.second("orchestrate", "R-1").code != 0
    assert not planted.exists()


def test_an_effect_is_what_the_flow_asked_for(clones: Clones) -> None:
    """Whoever changes what a step runs cannot keep the digest of what it was."""
    began, planted = clones.rig.file("began"), clones.rig.file("planted")
    clones.begin(flows={"ship": {"steps": [{"id": "out", "run": f"touch {began}; sleep 1000"}]}})
    clones.kill(clones.first.start("flow", "start", "ship"), began)
    args = rewrite(
        clones.first,
        "effect_requested",
        lambda data: data["args"].update(command=f"touch {planted}"),
    )["args"]
    clones.first.rows("UPDATE effects SET args = ? WHERE run = 1 RETURNING run", json.dumps(args))
    said = clones.second("orchestrate", "R-1")
    assert not planted.exists()
    assert said.code != 0
    assert "the flow did not ask for 'out' of R-1" in said.stdout + said.stderr


def test_lines_that_were_used_here_go_on_after_a_change_of_the_configuration(
    clones: Clones,
) -> None:
    clones.begin(flows=SHIP)
    assert clones.second("flow", "start", "ship", "--input", '{"what": "it"}').code == 4
    config = clones.second.root / "hookline.yaml"
    config.write_text(config.read_text().replace("echo {{", "printf {{"))
    clones.second.json("trust", "--yes", quiet=False)
    assert clones.second("answer", "R-1", "ok", "yes").code == 0
    assert clones.second("orchestrate", "R-1").code == 0


@pytest.mark.examples(2)
@pytest.mark.parametrize("way", ["relative", "absolute", "other"])
def test_work_stays_in_the_worktrees_of_the_host(clones: Clones, way: str) -> None:
    outside = clones.second.root.parent / "outside"
    named = {
        "relative": "../outside",
        "absolute": str(outside),
        "other": ".hookline/worktrees/../../../outside",
    }
    clones.rig.turns(clones.hang(1), f"touch here; {PROMISE}")
    clones.begin()
    outside.mkdir()
    clones.kill_in_turn(clones.first.add("count"), 1)
    given = rewrite(
        clones.first, "run_started", lambda data: data["input"].update(worktree=named[way])
    )["input"]
    sql = "UPDATE runs SET input = ? WHERE number = 1 RETURNING number"
    clones.first.rows(sql, json.dumps(given))
    forget_steps(clones.first)
    said = clones.second("work", "--once", "--json")
    assert list(outside.iterdir()) == []
    assert "names a folder that is not a worktree of this project" in said.stdout
