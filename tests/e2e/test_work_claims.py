"""What a worker holds while it begins a task, and who gets it when the worker dies."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import eventually, freeze, kill
from tests.e2e.test_work import Workshop, of, shop

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["shop"]

# Git calls it when it has made a worktree: from here on a task is claimed, and has no session.
SLOW = """\
#!/bin/sh
touch ../../../../making
while [ -e ../../../../slow ]; do sleep 0.02; done
"""
BOTH = """\
agents:
  ada: {driver: command, command: 'sh "$HOOKLINE_PROJECT/agent.sh"'}
  bob: {driver: command, command: 'sh "$HOOKLINE_PROJECT/agent.sh"'}
"""


def make_slow(shop: Workshop) -> None:
    """Worktrees take until `hurry`."""
    shop.cli.put(".git/hooks/post-checkout", SLOW, 0o755)
    (shop.outside / "slow").touch()


def is_making(shop: Workshop) -> bool:
    return (shop.outside / "making").exists()


def hurry(shop: Workshop) -> None:
    (shop.outside / "slow").unlink()


def leases(shop: Workshop) -> Iterator[str]:
    return (until for (until,) in shop.cli.rows("SELECT lease_until FROM tasks") if until)


def test_a_worker_killed_before_its_session_gives_the_task_back(shop: Workshop) -> None:
    shop.configure()
    make_slow(shop)
    shop.cli.add("first")
    worker = shop.cli.start("work", "--once")
    eventually(lambda: is_making(shop), "the worktree")
    kill(worker)
    assert shop.cli.task("T-1")["claim"]["agent"] == "ada"
    assert shop.cli.events("session_started") == []
    hurry(shop)
    _, ended = shop.work()
    assert (ended["begun"], ended["merged"]) == (1, ["T-1"])
    reasons = [event["data"]["reason"] for event in shop.cli.events("task_released")]
    assert reasons == ["lease expired"]


def test_a_living_worker_keeps_the_task_that_it_begins(shop: Workshop) -> None:
    shop.configure()
    make_slow(shop)
    shop.cli.add("first")
    worker = shop.cli.start("work", "--once", "--json")
    eventually(lambda: is_making(shop), "the worktree")
    second = shop.cli.start("work", "--once", "--json")
    (first_lease,) = leases(shop)
    eventually(lambda: next(leases(shop)) > first_lease, "the heartbeat")
    assert second.poll() is None
    hurry(shop)
    for process in (worker, second):
        process.communicate(timeout=100)
        assert process.returncode == 0
    assert len(shop.cli.events("task_claimed")) == 1
    assert shop.merges() == ["first"]


def test_a_frozen_worker_finds_that_its_task_went_to_another(shop: Workshop) -> None:
    shop.configure()
    make_slow(shop)
    shop.cli.add("first")
    worker = shop.cli.start("work", "--once", "--json")
    eventually(lambda: is_making(shop), "the worktree")
    freeze(worker)
    # As if its lease had run out, and somebody had taken the task meanwhile.
    shop.cli.json("task", "release", "T-1")
    shop.cli.json("task", "claim", "T-1", "--agent", "ada")
    hurry(shop)
    worker.send_signal(signal.SIGCONT)
    worker.communicate(timeout=100)
    assert shop.cli.events("session_started") == []
    assert shop.cli.task("T-1")["claim"]["agent"] == "ada"
    assert len(shop.cli.events("task_released")) == 1


def test_claims_that_are_made_by_hand_keep_their_leases(shop: Workshop) -> None:
    shop.configure()
    for goal in ("first", "second"):
        shop.cli.add(goal)
    shop.cli.process("task", "claim", "T-1", "--agent", "eve")
    shop.cli.process("task", "next", "--claim", "--agent", "eve")
    _, ended = shop.work()
    assert ended["begun"] == 0
    assert [shop.cli.task(each)["claim"]["agent"] for each in ("T-1", "T-2")] == ["eve", "eve"]


# A session that was stored, and whose process died before it took the first step.
DIES = """\
import os, signal
from hookline.app import App
from hookline.domain.sessions.model import SessionInput
from hookline.operations.sessions.start import start_session
app = App.open()
start_session(app, lambda tx: SessionInput(name="s", goal="first", task_id="T-1", agent="ada"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_session_carries_its_process_from_the_start(shop: Workshop) -> None:
    shop.configure()
    shop.cli.add("first")
    died = subprocess.run((sys.executable, "-c", DIES), cwd=shop.cli.root, env=shop.cli.env)
    assert died.returncode == -signal.SIGKILL
    assert [each["status"] for each in shop.cli.json("session", "list")] == ["killed"]
    found = shop.cli("attention", "--json")
    assert (found.code, found.json[0]["kind"]) == (4, "session")
    assert found.json[0]["command"] == "hookline run --resume --name s"
    assert shop.cli("run", "--resume").code == 0
    assert shop.state("T-1") == "completed"


@pytest.mark.torture
def test_lanes_share_work_evenly(shop: Workshop) -> None:
    shop.configure(agents=BOTH)
    shop.cli.add("1")
    for number in (2, 3, 4):
        shop.cli.add(str(number), "--depends-on", f"T-{number - 1}")
    records, ended = shop.work("--agent", "ada", "--agent", "bob")
    assert ended["merged"] == ["T-1", "T-2", "T-3", "T-4"]
    assert [each["agent"] for each in of(records, "task_begun")] == ["ada", "bob", "ada", "bob"]


@pytest.mark.torture
def test_the_last_line_names_what_is_left_behind(shop: Workshop) -> None:
    types = "task_types:\n  docs: {agents: {implementer: [bob]}}\n  code: {}\n"
    gate = "hooks:\n  before_submit: [{name: no, command: '[ $HOOKLINE_TASK_ID != T-1 ]'}]\n"
    shop.configure(types + gate + "gates: {test: 'true'}\n", agents=BOTH)
    shop.cli.add("bad")
    shop.cli.add("second", "--depends-on", "T-1")
    shop.cli.add("third", "--depends-on", "T-2")
    shop.cli.add("fourth", "--depends-on", "T-3")
    shop.cli.add("manual", "--type", "docs")
    shop.cli.add("good", "--type", "code")
    result = shop.cli("work", "--once", "--agent", "ada")
    assert result.code == 4
    assert result.stdout == (
        "nothing left to do: 2 tasks started, 1 merged, 1 sent back (T-1),"
        " 3 waiting for these (T-2, T-3, T-4), 1 that no agent here can take (T-5)\n"
    )
    # The next worker has nothing to begin, and leaves the same behind.
    _, ended = shop.work("--agent", "ada", code=4)
    assert (ended["begun"], ended["sentBack"]) == (0, ["T-1"])
    assert ended["heldBack"] == ["T-2", "T-3", "T-4"]
    assert ended["notTaken"] == ["T-5"]
    # What was not asked for is nothing that is left.
    _, ended = shop.work("--agent", "ada", "--types", "code", code=4)
    assert ended["notTaken"] == []
    _, ended = shop.work("--agent", "bob", code=4)
    assert (ended["merged"], ended["notTaken"]) == (["T-5"], [])


def test_a_task_of_an_unknown_type_is_left_alone_and_named(shop: Workshop) -> None:
    shop.configure("task_types: {code: {}}\ngates: {test: 'true'}\n", agents=BOTH)
    added = shop.cli("task", "add", "odd", "--type", "coed", "--json")
    told = "no type of task is called 'coed': did you mean 'code'?"
    assert (added.json["id"], told in added.stderr) == ("T-1", True)
    result = shop.cli("work", "--once", "--agent", "ada")
    assert "1 that no agent here can take (T-1)" in result.stdout
    [item] = shop.cli("attention", "--json").json
    assert item["message"].casefold().startswith(told.casefold())
    assert item["command"] == "hookline task update T-1 --type TYPE"
    shop.cli("task", "update", "T-1", "--type", "code")
    _, ended = shop.work("--agent", "ada")
    assert ended["merged"] == ["T-1"]
