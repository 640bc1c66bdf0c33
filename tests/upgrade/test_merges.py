"""Merges that gates of an older version had under way: they go on, or back with a reason."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import Cli
from tests.upgrade.make_merges import TASKS, archive
from tests.upgrade.old_store import restore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEEDS_PERSON = 4
OLDEST = pytest.param("4", marks=pytest.mark.torture)


@pytest.fixture(params=[OLDEST, "5", "6"])
def cli(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cli]:
    runner = Cli(tmp_path)
    restore(runner, archive(request.param), TASKS)
    runner.put("awake", "")
    runner.put(".hookline/worktrees/T-2/go-on", "")
    yield runner
    runner.close()


def git(cli: Cli, *args: str) -> str:
    done = subprocess.run(("git", *args), cwd=cli.root, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.examples(1)
def test_merges_that_were_killed_or_waited_go_on(cli: Cli) -> None:
    result = cli("work", "--once")
    assert result.code == NEEDS_PERSON, result.stdout + result.stderr
    states = [cli.task(task)["state"] for task in TASKS]
    assert states == ["submitted", *["completed"] * 3], result.stdout + result.stderr
    assert git(cli, "show", "main:log").split() == ["T-2", "main"]
    assert {"T-3.txt", "T-4.txt"} <= set(git(cli, "ls-tree", "--name-only", "main").split())
    made = git(cli, "log", "--first-parent", "--format=%(trailers:key=Task,valueonly)", "main")
    assert sorted(made.split()) == list(TASKS[1:]), "each of them once"

    # The last one still waits for a person, who merges it.
    (item,) = (each for each in cli("attention", "--json").json if each["id"] == "T-1")
    assert item["command"] == "git switch main && git merge --no-ff hookline/T-1"
    git(cli, "merge", "--quiet", "--no-ff", "hookline/T-1")
    assert cli.json("merge", "T-1")["outcome"] == "merged"
    assert cli.rows("SELECT DISTINCT status FROM runs") == [("completed",)]
