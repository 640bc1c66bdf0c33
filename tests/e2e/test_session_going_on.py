"""Going on with a session: one call is enough, and the agent hears what it said last."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import eventually, kill
from tests.e2e.session_rig import PROMISE, Rig, hook

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

BLOCKED = "echo 'no key. <promise>BLOCKED</promise>'"
WAIT = "touch {}; sleep 100"


def _has_wishes(cli: Cli, count: int) -> bool:
    """Whether a session was asked for so many things."""
    return len(cli.events("run_signalled")) >= count


def left_in_its_ending(rig: Rig, turn: str, how: str, iterations: int = 5) -> None:
    """A session whose process is gone while a hook of session_end runs for the first time."""
    ending = rig.file("ending")
    slow = f"[ -e {ending} ] || {{ touch {ending}; sleep 100; }}; {rig.note('end {{status}}')}"
    rig.configure({"session_end": [{"command": slow, "name": "bye"}]})
    rig.turns(turn, rest=PROMISE)
    session = rig.start(iterations=iterations)
    if how == "kill":
        eventually(ending.exists, "the ending")
        kill(session)
        return
    eventually(rig.file("turning").exists, "the turn")
    for wanted in (1, 2):
        session.send_signal(signal.SIGINT)
        eventually(partial(_has_wishes, rig.cli, wanted), "the wish")
    eventually(ending.exists, "the ending")
    session.send_signal(signal.SIGINT)
    session.communicate(timeout=60)
    assert session.returncode == 130


@pytest.mark.examples(1)
@pytest.mark.parametrize("how", ["kill", "interrupts"])
def test_one_call_goes_on_with_a_session_that_was_left_in_its_ending(cli: Cli, how: str) -> None:
    rig = Rig(cli)
    left_in_its_ending(rig, BLOCKED if how == "kill" else WAIT.format(rig.file("turning")), how)
    assert rig.resume().said[:2] == (0, "completed")
    assert rig.trace[-1] == "end completed"
    assert [each.iteration for each in rig.prompts()] == [1, 2 if how == "kill" else 1]
    assert cli.task("T-1")["state"] == "completed"


def test_a_limit_that_was_reached_in_that_ending_holds(cli: Cli) -> None:
    rig = Rig(cli)
    left_in_its_ending(rig, "echo not yet", "kill", iterations=1)
    assert rig.resume().said == (5, "limit", "iterations")
    assert len(rig.prompts()) == 1
    assert rig.resume("--iterations", "3").said[:2] == (0, "completed")


def test_a_raised_limit_goes_on_with_it_in_one_call(cli: Cli) -> None:
    rig = Rig(cli)
    left_in_its_ending(rig, "echo not yet", "kill", iterations=1)
    assert rig.resume("--iterations", "3").said[:2] == (0, "completed")
    assert len(rig.prompts()) == 2


def test_what_an_agent_said_in_a_delivery_is_told_when_its_session_goes_on(cli: Cli) -> None:
    rig = Rig(cli)
    rig.repository()
    rig.turns("touch done; echo 'all is well'", BLOCKED, PROMISE)
    rig.configure({"post_iteration": [hook("echo NOW {{iteration}}", deliver="now")]})
    assert rig.run(iterations=5).said[:2] == (4, "escalated")
    (ended,) = rig.data("session_iteration_ended")
    assert "no key." in ended["text"]
    assert rig.resume().said[:2] == (0, "completed")
    told = rig.prompts()[2].text
    assert told.index("all is well") < told.index("no key.") < told.index("BLOCKED")


# Which session is meant


@pytest.mark.parametrize("place", [".hookline/runs/R-1", ".hookline/runs/R-1/", "absolute"])
def test_the_folder_of_its_run_names_a_session(cli: Cli, place: str) -> None:
    rig = Rig(cli)
    rig.configure()
    rig.turns("echo one", PROMISE)
    assert rig.run(iterations=1).code == 5
    name = str(cli.root / ".hookline/runs/R-1") if place == "absolute" else place
    assert cli.json("session", "show", name)["runId"] == "R-1"
    assert cli("session", "report", name, "--output", "report.html").code == 0
    assert cli("session", "message", name, "go on").code == 0
    resumed = rig.resume("--iterations", "3", name=name)
    assert resumed.said[:2] == (0, "completed")
    code, error = cli.refused("session", "show", ".hookline/runs/R-7")
    assert (code, error["code"]) == (1, "unknown-session")


def begun_by(cli: Cli, version: str) -> None:
    """Say which version of the code of sessions has begun the chapter."""
    with closing(sqlite3.connect(cli.database, timeout=30)) as connection, connection:
        connection.execute("UPDATE runs SET code_digest = ?", (version,))


@pytest.mark.embedded
def test_a_chapter_that_a_newer_hookline_has_begun_is_left_to_it(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(f"touch {rig.box}/began; sleep 1000", rest=PROMISE)
    rig.configure()
    first = rig.start()
    eventually((rig.box / "began").exists, "the turn")
    kill(first)
    ((known,),) = cli.rows("SELECT code_digest FROM runs")
    begun_by(cli, "999")
    before = cli.events()
    error = cli.refused("run", "--resume")[1]
    assert (error["code"], "upgrade this one" in error["message"]) == ("newer-store", True)
    served = cli("work", "--flows", "--once", "--json")
    assert served.code == 0, served.stderr
    assert cli.events() == before
    assert len(rig.prompts()) == 1
    begun_by(cli, known)
    assert rig.resume().data["outcome"] == "completed"
    assert len(rig.prompts()) == 2
