"""`hookline trust` of a store that is not yours: all or nothing, and told before it is asked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.processes.identity import boot_id
from tests.e2e.conftest import eventually

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

FLOWS = """
flows:
  asks: {steps: [{id: ok, breakpoint: "Ship it?"}]}
  naps: {steps: [{id: nap, run: "touch begun; sleep 600"}]}
"""


def status(cli: Cli, run: str) -> str:
    """How a run stands."""
    found: str = cli.json("flow", "status", run)["status"]
    return found


@pytest.mark.parametrize("blocked", [".", "stores", "trust"])
def test_a_trust_that_cannot_be_recorded_changes_nothing(cli: Cli, blocked: str) -> None:
    cli.configure(FLOWS)
    cli("flow", "start", "asks")
    home = cli.root.parent / "other"
    if blocked == ".":
        home = cli.put("file", "")
    else:
        home.mkdir()
        (home / blocked).write_text("")
    before = cli.rows("SELECT max(seq) FROM events")
    failed = cli("trust", "--yes", env={"HOOKLINE_HOME": str(home)})
    assert failed.code == 1
    assert "cannot write" in failed.stderr
    assert (status(cli, "R-1"), cli.rows("SELECT max(seq) FROM events")) == ("parked", before)


def test_runs_that_will_be_cancelled_are_named_before_the_question(cli: Cli) -> None:
    cli.configure(FLOWS)
    for _ in range(2):
        cli("flow", "start", "asks")
    home = cli.root.parent / "other"
    asked = cli("trust", env={"HOOKLINE_HOME": str(home)})
    assert asked.code == 2
    assert "its unfinished runs will be cancelled: R-1, R-2\n" in asked.stdout
    assert status(cli, "R-1") == "parked"
    trusted = cli("trust", "--yes", env={"HOOKLINE_HOME": str(home)})
    assert "runs in the store were cancelled: R-1, R-2" in trusted.stderr
    assert list((home / "stores").glob("*.try")) == []


def test_a_run_that_a_process_here_works_on_is_not_taken_from_it(cli: Cli) -> None:
    cli.configure(FLOWS)
    worker = cli.start("flow", "start", "naps")
    eventually((cli.root / "begun").exists, "the run begins")
    home = {"HOOKLINE_HOME": str(cli.root.parent / "other")}
    code, error = cli.refused("trust", "--yes", env=home)
    assert (code, error["message"]) == (1, f"process {worker.pid} works on R-1 of this store")
    assert "stop it first" in error["help"]
    assert not list((cli.root.parent / "other" / "stores").iterdir())
    assert worker.poll() is None
    worker.terminate()
    worker.wait()
    assert cli("trust", "--yes", env=home).code == 0
    assert cli.json("flow", "status", "R-1")["status"] == "cancelled"


@pytest.mark.parametrize("owner", ["{other}:{pid}:1", ":{pid}:0", "{boot}", "{boot}:x:y", "me"])
def test_a_holder_that_is_not_here_is_no_hindrance(cli: Cli, owner: str) -> None:
    from tests.e2e.test_planted_stores import write

    cli.configure(FLOWS)
    cli("flow", "start", "asks")
    name = owner.format(other="another-boot/1", boot=boot_id(), pid=os.getpid())
    write(cli, f"UPDATE runs SET owner = '{name}', token = 9, lease_until = 9e9")
    assert cli("trust", "--yes", env={"HOOKLINE_HOME": str(cli.root.parent / "o")}).code == 0
    assert cli.rows("SELECT status FROM runs") == [("cancelled",)]
