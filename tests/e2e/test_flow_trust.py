"""Flows run only what their user has looked at, whoever advances them, wherever they came from."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli

FLOW = "flows: {mark: {steps: [{id: mark, run: 'echo x >> ran.txt'}]}}\n"


def test_a_repository_with_flows_alone_is_not_run(cli: Cli) -> None:
    cli.configure(FLOW, trust=False)
    code, error = cli.refused("flow", "start", "mark")
    assert (code, error["code"]) == (2, "untrusted")
    cli("trust", "--yes")
    assert cli("flow", "start", "mark").code == 0
    assert (cli.root / "ran.txt").read_text() == "x\n"


def test_runs_that_came_with_a_store_are_cancelled(cli: Cli, tmp_path: Path) -> None:
    cli.configure(FLOW)
    cli.json("flow", "start", "mark", "--detach")
    shutil.copytree(cli.root, tmp_path / "clone")
    cli.root = tmp_path / "clone"
    trusted = cli("trust", "--yes")
    assert trusted.code == 0
    assert "cancelled: R-1" in trusted.stderr
    assert cli("work", "--flows", "--once").code == 0
    assert cli.refused("flow", "resume", "R-1")[1]["code"] == "illegal-transition"
    assert not (cli.root / "ran.txt").exists()
    assert cli.json("flow", "status", "R-1")["status"] == "cancelled"


def test_an_agent_in_a_flow_cannot_speak_for_its_user(cli: Cli) -> None:
    program = f"{sys.executable} -m hookline"
    tries = f"{program} trust --always --yes; echo $?; {program} answer R-1 ok yes; echo $?"
    cli.configure(
        f"agents: {{bold: {{driver: command, command: '{tries}'}}}}\n"
        "flows: {bold: {steps: [{id: turn, agent: 'go'}, {id: ok, breakpoint: 'Sure?'}]}}\n"
    )
    assert cli("flow", "start", "bold").code == 4
    effects = {e["effectId"]: e for e in cli.json("effect", "list", "R-1")}
    assert effects["turn"]["value"]["text"].split() == ["4", "4"]
    assert effects["ok"]["status"] == "pending"


def test_a_file_that_changes_under_a_run_is_not_started(cli: Cli) -> None:
    cli.put("second.sh", "touch innocent\n")
    edit = 'printf "touch evil" >> second.sh'
    cli.configure(
        f"flows: {{two: {{steps: [{{id: edit, run: '{edit}'}}, {{id: go, run: sh second.sh}}]}}}}\n"
    )
    cli("flow", "start", "two")
    run = cli.json("flow", "status", "R-1")
    assert run["status"] == "parked"
    assert "second.sh changed" in run["reason"]
    assert not (cli.root / "innocent").exists()
    assert not (cli.root / "evil").exists()
