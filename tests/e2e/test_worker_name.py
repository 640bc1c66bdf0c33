"""`work` means the worker: no session gets this name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e.session_rig import PROMISE, Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def test_a_session_cannot_be_called_as_the_worker(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    rig.configure({})
    code, error = cli.refused("run", "do it", "--name", "work")
    assert (code, error["message"]) == (2, "a session cannot be called 'work'")
    assert "`work` means the worker" in error["help"]
    assert cli.json("session", "list") == []


def test_a_name_made_from_the_goal_is_not_that_of_the_worker(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=PROMISE)
    rig.configure({})
    cli("run", "work", "--iterations", "1")
    (session,) = cli.json("session", "list")
    assert session["name"] == "work-2"
    assert "iteration 1" in cli("logs", "work-2").stdout
