"""kill -9 at every step of a task's way through a repository: nothing is lost, nothing twice.

Git is called through a shell script that kills its caller at a chosen call: before git runs, after
it ran, or together with git in the middle of its work. Then the way is walked again to its end.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookline.domain.work.repository import Merged
from tests.integration.repository_rig import Place, do

if TYPE_CHECKING:
    from collections.abc import Iterator

WAY = """
import asyncio, os, sys
from hookline.adapters.processes.process import LocalProcesses
from hookline.adapters.git.repository.git_repository import GitRepository
from hookline.domain.work.repository import Merged, Pushed, Rebased

root, remote = sys.argv[1], sys.argv[2]
folder = os.path.join(root, ".hookline")

async def walk():
    processes = LocalProcesses(os.path.join(folder, "blobs"))
    repository = GitRepository(processes, root, folder, os.environ)
    made = await repository.worktrees.open("T-1")
    for number in range(5):
        path = os.path.join(made.path, f"work-{number}")
        if not os.path.exists(path):
            with open(path + ".part", "w") as file:
                file.write("done\\n" * 1000)
            os.replace(path + ".part", path)
    await repository.changes.commit_all(made.path, "Work of T-1")
    rebased = await repository.changes.rebase(made.path, "main")
    assert isinstance(rebased, Rebased), rebased
    if remote:
        pushed = await repository.pushes.push(made.path, made.branch)
        assert isinstance(pushed, Pushed), pushed
    merged = await repository.merges.merge(rebased.head, "main", "Merge T-1")
    assert isinstance(merged, Merged), merged
    print(merged.sha)

asyncio.run(walk())
"""

# Signs what is committed, but kills git and $VICTIM in a rebase.
SIGNER = """#!/bin/sh
cat > /dev/null
if [ -d "$GIT_DIR/rebase-merge" ]; then kill -9 "$(cat "$VICTIM")" $PPID; fi
printf '\\n[GNUPG:] SIG_CREATED \\n' >&2
echo signed
"""

# $COUNT holds how many calls there were; at call $KILL_AT the caller dies.
SHIM = """#!/bin/sh
n=$(($(cat "$COUNT" 2>/dev/null || echo 0) + 1))
echo $n > "$COUNT"
if [ "$n" = "$KILL_AT" ]; then
  case $KILL_HOW in
    before) kill -9 $PPID; exit 1 ;;
    after) {git} "$@"; kill -9 $PPID; exit 1 ;;
    amid) {git} "$@" & sleep "$KILL_AFTER"; kill -9 $PPID; kill -9 $! 2>/dev/null; wait; exit 1 ;;
  esac
fi
exec {git} "$@"
"""


class Walker:
    """Walks the way in a process of its own, killed at a call of git or let through."""

    def __init__(self, place: Place) -> None:
        self.place = place
        programs = place.folder / "bin"
        programs.mkdir()
        git = shutil.which("git")
        (programs / "git").write_text(SHIM.replace("{git}", str(git)), encoding="utf-8")
        (programs / "git").chmod(0o755)
        self.count = place.folder / "count"
        self.path = f"{programs}{os.pathsep}{place.env['PATH']}"

    def walk(self, kill_at: int = 0, how: str = "", after: float = 0.0) -> tuple[int, str, int]:
        """Exit code, what was said, and how many calls of git there were."""
        self.count.unlink(missing_ok=True)
        env = {
            **self.place.env,
            "PATH": self.path,
            "COUNT": str(self.count),
            "KILL_AT": str(kill_at),
            "KILL_HOW": how,
            "KILL_AFTER": f"{after:.4f}",
        }
        remote = "remote" if self.place.remote.exists() else ""
        done = subprocess.run(
            (sys.executable, "-c", WAY, str(self.place.root), remote),
            env=env,
            capture_output=True,
            text=True,
            timeout=90,
        )
        return done.returncode, done.stdout + done.stderr, int(self.count.read_text())


def new_place(folder: Path, *, remote: bool) -> Place:
    folder.mkdir()
    place = Place(folder)
    place.begin()
    if remote:
        place.publish()
    # The base moves after the work began, so that there is something to rebase.
    do(place.repository().worktrees.open("T-1"))
    place.elsewhere("other", "theirs\n")
    return place


def check(place: Place, sha: str) -> None:
    """One merge, all the work, a clean tree everywhere, and a repository that git finds sound."""
    assert place.merges("Merge T-1") == [sha]
    for number in range(5):
        assert place.on_main(f"work-{number}") == "done\n" * 999 + "done"
    assert place.on_main("other") == "theirs"
    assert place.status() == []
    assert place.status(place.root / ".hookline" / "worktrees" / "T-1") == []
    place.git("fsck", "--no-dangling", "--no-progress")
    assert list(place.root.rglob("*.lock")) == []


def moments(calls: int, count: int, seed: int) -> Iterator[tuple[int, str, float]]:
    """At which call to kill, and how."""
    chance = random.Random(seed)
    hows = ("before", "after", "amid", "amid")
    first = chance.randrange(len(hows))
    for number in range(count):
        yield (
            1 + (number * calls // count + chance.randrange(max(1, calls // count))) % calls,
            hows[(first + number) % len(hows)],
            chance.uniform(0.0, 0.008),
        )


def torture(folder: Path, count: int, seed: int) -> int:
    """Kill so many walks, each in a repository of its own; how many were killed."""
    killed = 0
    for remote in (False, True):
        shown = Walker(new_place(folder / f"whole-{remote}", remote=remote)).walk()
        assert shown[0] == 0, shown[1]
        for number, moment in enumerate(moments(shown[2], count, seed + remote)):
            place = new_place(folder / f"{remote}-{number}", remote=remote)
            walker = Walker(place)
            code, _, _ = walker.walk(*moment)
            killed += code == -signal.SIGKILL
            code, said, _ = walker.walk()
            assert code == 0, f"after {moment}, remote={remote}: {said}"
            check(place, said.strip())
            if number == 0:
                code, again, _ = walker.walk()
                assert (code, again) == (0, said), f"after {moment}: a second way differs"
            place.lose(folder / f"{remote}-{number}")
    return killed


@pytest.mark.timeout(300)
def test_killed_at_some_steps_the_way_is_walked_to_its_end(tmp_path: Path) -> None:
    assert torture(tmp_path, 2, seed=random.randrange(10**6)) >= 2


@pytest.mark.torture
def test_killed_at_every_step(tmp_path: Path) -> None:
    killed = torture(tmp_path, 100, seed=1)
    print(f"\n{killed} of 200 ways were killed; every one was walked to its end")


_HOLD = """
import asyncio, os, signal, sys
from hookline.adapters.processes.process import LocalProcesses
from hookline.adapters.git.repository.git_repository import GitRepository
root = sys.argv[1]
folder = os.path.join(root, ".hookline")
repository = GitRepository(LocalProcesses(os.path.join(folder, "blobs")), root, folder, os.environ)

async def hold():
    async with repository.scratch("main", "main") as path:
        print(path, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(hold())
"""


def test_a_scratch_checkout_of_a_dead_process_is_swept(tmp_path: Path) -> None:
    place = new_place(tmp_path / "p", remote=False)
    left = subprocess.run(
        (sys.executable, "-c", _HOLD, str(place.root)), env=place.env, stdout=subprocess.PIPE
    )
    path = Path(left.stdout.decode().strip())
    assert path.exists()
    place.write("x", "x", at=place.root / ".hookline" / "worktrees" / "T-1")
    repository = place.repository()
    do(repository.changes.commit_all(str(place.root / ".hookline" / "worktrees" / "T-1"), "Work"))
    merged = do(repository.merges.merge("refs/heads/hookline/T-1", "main", "M", "rebase"))
    assert isinstance(merged, Merged)
    assert not path.exists()
    assert str(path) not in place.git("worktree", "list")


def test_a_rebase_of_ours_that_was_killed_is_undone_and_done_again(tmp_path: Path) -> None:
    """Git itself is killed in the middle of a rebase, by what signs, together with its caller."""
    place = new_place(tmp_path / "p", remote=False)
    victim, signer = tmp_path / "victim", tmp_path / "signer"
    signer.write_text(SIGNER)
    signer.chmod(0o755)
    place.git("config", "commit.gpgSign", "true")
    place.git("config", "gpg.program", str(signer))
    script = f"import os; open({str(victim)!r}, 'w').write(str(os.getpid()))\n{WAY}"
    subprocess.run(
        (sys.executable, "-c", script, str(place.root), ""),
        env={**place.env, "VICTIM": str(victim)},
        capture_output=True,
    )
    worktree = place.root / ".hookline" / "worktrees" / "T-1"
    assert do(place.repository().describe(str(worktree))).operation == "rebase"
    place.git("config", "commit.gpgSign", "false")
    code, said, _ = Walker(place).walk()
    assert code == 0, said
    check(place, said.strip())
