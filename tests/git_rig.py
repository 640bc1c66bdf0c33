"""What real repositories of tests have in common: git's own settings, and a remote."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# Nothing is tidied up in repositories that live for a test: that would be half of git's processes.
CONFIG = """\
[user]
    name = Ada
    email = ada@example.org
[init]
    defaultBranch = main
[protocol "file"]
    allow = always
[gc]
    auto = 0
[maintenance]
    auto = false
[receive]
    autogc = false
"""
BARE = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
ORIGIN = """\
[remote "origin"]
\turl = {remote}
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
"""


def publish(root: Path, remote: Path) -> None:
    """Give a project a bare remote that has its main: as a push does, in a tenth of the time."""
    own = root / ".git"
    shutil.copytree(own, remote, ignore=shutil.ignore_patterns("index", "COMMIT_EDITMSG", "logs"))
    (remote / "config").write_text(BARE)
    with (own / "config").open("a") as config:
        config.write(ORIGIN.format(remote=remote))
    seen = own / "refs" / "remotes" / "origin"
    seen.mkdir(parents=True)
    shutil.copy(own / "refs" / "heads" / "main", seen / "main")


def branches(repository: Path) -> dict[str, str]:
    """Which commit each branch is at, by git's own files: servers of tests look very often."""
    found, packed = {}, repository / "packed-refs"
    if packed.exists():
        rows = (line.split() for line in packed.read_text().splitlines())
        found = {row[1]: row[0] for row in rows if len(row) == 2}
    loose = repository / "refs" / "heads"
    for path in loose.rglob("*"):
        if path.is_file() and path.suffix != ".lock":
            with suppress(FileNotFoundError):  # it was deleted just now
                found[path.relative_to(repository).as_posix()] = path.read_text().strip()
    start = "refs/heads/"
    return {name.removeprefix(start): at for name, at in found.items() if name.startswith(start)}
