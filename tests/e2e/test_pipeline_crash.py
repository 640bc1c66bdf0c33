"""Submissions and merges whose process is killed at random moments, again and again."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import PROGRAM
from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

# A test that takes a moment, so that some die in it.
SLOW = """\
hooks:
  before_submit: [rebase_on_main, {run_tests: 'sleep 0.1; make test'}, create_pr]
  after_submit: [{command: 'true'}]
  before_merge: [{command: 'make test'}]
gates: {test: 'sleep 0.1; make test', tries: 50}
"""


class Crashes(Pipeline):
    """Someone who kills whatever brings work into main, and looks at what is left."""

    def __init__(self, cli: Cli, seed: int) -> None:
        super().__init__(cli)
        self._random = random.Random(seed)
        self.kills: Counter[str] = Counter()
        self.tasks: list[str] = []

    def kill_often(self, kills: int) -> None:
        """Task after task, each in conflict with the one before, until so many were killed."""
        (self.box / "slow").touch()
        while self.kills.total() < kills:
            stale = self.git("rev-parse", "main")
            task = self.cli.add(f"part {len(self.tasks)}")
            self.tasks.append(task)
            self.by_hand(task, self._random.choice((stale, "main~1" if self.tasks[1:] else stale)))
            while not self._is_over(task):
                self._drive(task, kills)

    def _is_over(self, task: str) -> bool:
        row = self.cli.rows("SELECT state FROM tasks WHERE number = ?", int(task[2:]))[0]
        live = "SELECT count(*) FROM runs WHERE status NOT IN ('completed', 'failed', 'cancelled')"
        return bool(row[0] == "completed" and self.cli.rows(live)[0][0] == 0)

    def _drive(self, task: str, kills: int) -> None:
        """One process that goes on with the task, and its end."""
        state = self.cli.task(task)["state"]
        words = ["submit"] if state == "ready" else ["submit", "merge", "work"]
        verb = self._random.choice(words if state == "submitted" else words[:1] + words[2:])
        arguments = ("work", "--once", "--tasks", "1") if verb == "work" else (verb, task)
        process = subprocess.Popen(
            (*PROGRAM, *arguments, "--json"),
            cwd=self.cli.root,
            env=self.cli.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if self.kills.total() < kills:
            self._await_moment(process)
            if process.poll() is None:
                self._kill(process, verb)
        said, complaint = process.communicate(timeout=90)
        assert "Traceback" not in complaint, complaint
        # A submission that was cut short right before its merge began is to be submitted again.
        too_early = verb == "merge" and "still being submitted" in complaint
        ended = process.returncode in (0, -signal.SIGKILL) or too_early
        assert ended, f"{process.returncode} {said} {complaint}"

    def _await_moment(self, process: subprocess.Popen[str]) -> None:
        """Let it live for a random while, which begins once it is at work."""
        owner = "SELECT count(*) FROM runs WHERE owner LIKE ?"
        while process.poll() is None and not self.cli.rows(owner, f"%:{process.pid}:%")[0][0]:
            time.sleep(0.01)
        with suppress(subprocess.TimeoutExpired):
            process.wait(self._random.uniform(0.0, 2.0))

    def _kill(self, process: subprocess.Popen[str], verb: str) -> None:
        """Kill it alone, or with everything that it started, as a machine that goes down does.

        The remote is a server, which goes on: its locks are not ours to clear.
        """
        if self._random.random() < 0.5:
            process.kill()
            self.kills[f"{verb} alone"] += 1
            return
        process.send_signal(signal.SIGSTOP)  # nothing more is started
        for pid in (*offspring(process.pid), process.pid):
            if _is_server(pid):
                continue
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.kills[f"{verb} with all"] += 1

    def check(self) -> None:
        """Every task is in main once, by one pull request, and nothing of any of them is lost."""
        assert sorted(self.merges()) == sorted(self.tasks)
        pulls = [(each["branch"], each["state"]) for each in self.pulls()]
        assert sorted(pulls) == sorted((f"hookline/{task}", "merged") for task in self.tasks)
        assert self.parts() == set(self.tasks)
        self.check_main()
        assert self.cli.json("worktree", "list") == []
        tasks = [self.cli.task(task) for task in self.tasks]
        assert {(task["state"], task["commitsCount"]) for task in tasks} == {("completed", 1)}
        assert self.git("status", "--porcelain") == ""
        assert self.git("rev-parse", "main") == self.git("rev-parse", "main", at=self.main)
        self.git("fsck", "--connectivity-only")
        self.check_quiet()


def _is_server(pid: int) -> bool:
    """Whether a process is the remote's side of a push or a fetch."""
    with suppress(OSError):
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
        return b"receive-pack" in line or b"upload-pack" in line
    return False


def offspring(pid: int) -> list[int]:
    """The processes that descend from one, as far as they still know it."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                stat = (folder / "stat").read_text().rpartition(")")[2].split()
                parents.setdefault(int(stat[1]), []).append(int(folder.name))
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


@pytest.fixture
def crashes(cli: Cli) -> Crashes:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    return Crashes(cli, seed)


def test_a_few_kills(crashes: Crashes) -> None:
    crashes.begin(SLOW, remote=True)
    crashes.kill_often(2)
    print(dict(crashes.kills), len(crashes.tasks))
    crashes.check()


@pytest.mark.torture
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("remote", [True, False])
def test_a_hundred_kills(crashes: Crashes, remote: bool) -> None:
    crashes.begin(SLOW, remote=remote)
    crashes.kill_often(100)
    print(dict(crashes.kills), len(crashes.tasks))
    crashes.check()
