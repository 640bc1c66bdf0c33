"""What gates see is what is committed, whatever git's own index in the worktree says."""

from __future__ import annotations

import hashlib
import os
import struct
from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.conftest import Cli

LOOKS = "hooks: {before_submit: [{name: looks, command: '! grep -q EVIL z'}]}\n"
UNTESTED = "gates: {test: 'true', tries: 1}\n"


class Forger:
    """A task's worktree whose commit has a file that is not the one in its folder."""

    def __init__(self, line: Pipeline, *form: str) -> None:
        self._git, self.task = line.git, line.cli.add("a part")
        self.place = line.place(self.task)
        line.git("worktree", "add", "-q", "-b", f"hookline/{self.task}", str(self.place), "main")
        (self.place / "z").write_text("EVIL\n")
        line.commit("work", at=self.place)
        if form:
            self.git("update-index", *form)

    def git(self, *args: str) -> str:
        """Git in the worktree."""
        return self._git(*args, at=self.place)

    @property
    def index(self) -> Path:
        """Git's index of the worktree."""
        return self.place / self.git("rev-parse", "--git-path", "index")

    def write(self, body: bytes) -> None:
        """Write the index with a sum that is right."""
        self.index.write_bytes(body + hashlib.sha1(body).digest())
        self.date()

    def date(self) -> None:
        """Let the index be younger than every file: git looks at files of its own age."""
        later = os.stat(self.place).st_mtime + 3600
        os.utime(self.index, (later, later))


def stats(forger: Forger, moment: int | None = None) -> None:
    """The size and times of the file as it is now, with the content that it had."""
    good = forger.place / "z"
    good.write_text("GOOD\n")
    if moment is not None:
        os.utime(good, (moment, moment))
    seen = good.stat()
    now = (seen.st_ctime_ns, seen.st_mtime_ns)
    times = [part for moment in now for part in divmod(moment, 10**9)]
    fields = (*times, seen.st_dev & 0xFFFFFFFF, seen.st_ino, seen.st_mode, seen.st_uid)
    known = struct.pack(">10I", *fields, seen.st_gid, seen.st_size)
    body = forger.index.read_bytes()[:-20]
    blob = bytes.fromhex(forger.git("rev-parse", "HEAD:z"))
    place = body.index(blob) - len(known)
    forger.write(body[:place] + known + body[place + len(known) :])


def no_time(forger: Forger) -> None:
    """A time at which git does not look twice."""
    stats(forger, 0)


def trees(forger: Forger) -> None:
    """The tree of the commit, noted as the one that the index comes to."""
    (forger.place / "z").write_text("GOOD\n")
    forger.git("read-tree", "HEAD")
    forger.git("-c", "index.version=2", "update-index", "--add", "z")
    forger.git("update-index", "-q", "--refresh")
    body = forger.index.read_bytes()[:-20]
    tree = bytes.fromhex(forger.git("rev-parse", "HEAD^{tree}"))
    count = struct.unpack_from(">I", body, 8)[0]
    noted = b"\0%d 0\n" % count + tree
    entries = body.partition(b"TREE")[0]
    forger.write(entries + b"TREE" + struct.pack(">I", len(noted)) + noted)


@pytest.mark.examples(1)
@pytest.mark.parametrize("form", [(), ("--index-version", "4"), ("--split-index",)])
@pytest.mark.parametrize("forge", [stats, no_time, trees])
def test_what_a_forged_index_hides_is_judged_and_merged(
    cli: Cli, forge: Callable[[Forger], None], form: tuple[str, ...]
) -> None:
    line = Pipeline(cli)
    line.begin(LOOKS + UNTESTED, remote=False)
    forger = Forger(line, *form)
    _split(forge, forger) if form == ("--split-index",) else forge(forger)
    assert forge is trees or forger.git("status", "--porcelain") == ""
    assert forger.git("show", "HEAD:z") == "EVIL"
    cli("submit", forger.task)
    assert line.git("show", "main:z") == "GOOD"


def _split(forge: Callable[[Forger], None], forger: Forger) -> None:
    forger.git("update-index", "--no-split-index")
    forge(forger)
    forger.git("update-index", "--split-index")
    forger.date()


def test_what_is_staged_stays_staged(cli: Cli) -> None:
    line = Pipeline(cli)
    line.begin(LOOKS + UNTESTED, remote=False)
    forger = Forger(line)
    (forger.place / ".gitignore").write_text(".hookline/\nbuilt\n")
    for name in ("z", "built", "run.sh"):
        (forger.place / name).write_text("GOOD\n")
    (forger.place / "run.sh").chmod(0o755)
    forger.git("add", "--force", "built")
    cli("submit", forger.task)
    listed = line.git("ls-tree", "main", "--", "built", "run.sh").split()
    assert (listed[::4], listed[3::4]) == (["100644", "100755"], ["built", "run.sh"])


REPLACES = """\
work; echo EVIL > z; git add --all; git commit -qm work
git replace HEAD "$(git commit-tree -p HEAD~ -m work HEAD~^{tree})"
"""


def test_a_gate_with_a_git_of_its_own_sees_what_is_merged(cli: Cli) -> None:
    line = Pipeline(cli)
    looks = "{name: looks, command: '! git log -p main..HEAD | grep -q EVIL'}"
    line.begin(f"hooks: {{before_submit: [{looks}]}}\n{UNTESTED}", remote=False)
    line.turn(REPLACES)
    task = cli.add("a part")
    cli("work", "--once")
    assert (line.merges(), cli.task(task)["state"]) == ([], "needs_continuation")
