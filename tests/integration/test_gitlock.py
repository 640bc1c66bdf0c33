"""The lock of a git that was killed, in real checkouts."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.git.repository import locks as gitlock
from hookline.adapters.git.repository.locks import drop_dead_lock
from hookline.config.types import Agent
from tests.agents.rig import Desk
from tests.integration.repository_rig import do

if TYPE_CHECKING:
    from tests.integration.repository_rig import Place


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gitlock, "SECONDS", 0.01)


def lock_of(checkout: Path) -> Path:
    found = subprocess.check_output(("git", "rev-parse", "--git-dir"), cwd=checkout, text=True)
    lock = checkout / found.strip() / "index.lock"
    lock.touch()
    return lock


@pytest.mark.parametrize("is_worktree", [False, True])
def test_a_lock_that_nobody_holds_is_removed(alone: Place, is_worktree: bool) -> None:
    checkout = alone.root
    if is_worktree:
        checkout = Path(do(alone.repository().worktrees.open("T-1")).path)
    lock = lock_of(checkout)
    inside = checkout / "below"
    inside.mkdir()
    assert asyncio.run(drop_dead_lock(str(inside)))
    assert not lock.exists()
    assert not asyncio.run(drop_dead_lock(str(checkout)))


def test_a_lock_stays_while_a_git_works_there(alone: Place) -> None:
    lock = lock_of(alone.root)
    with subprocess.Popen(
        ("git", "cat-file", "--batch-check"),
        cwd=alone.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as git:
        assert git.stdin is not None
        assert git.stdout is not None
        git.stdin.write("HEAD\n")
        git.stdin.flush()
        assert "commit" in git.stdout.readline()
        assert not asyncio.run(drop_dead_lock(str(alone.root)))
        assert lock.exists()
        git.stdin.close()
    assert asyncio.run(drop_dead_lock(str(alone.root)))


def test_outside_of_a_repository_there_is_no_lock(tmp_path: Path) -> None:
    assert not asyncio.run(drop_dead_lock(str(tmp_path)))


def test_an_agent_goes_on_where_the_git_of_its_last_turn_was_killed(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Agent(driver="command", command="touch new && git add new && echo added"))
    lock_of(desk.root)
    turn = desk.turn()
    assert (turn.error, turn.text.strip()) == (None, "added")
    assert desk.heard("notice") == [("removed index.lock, which a killed git left behind", "")]
