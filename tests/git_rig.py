"""What real repositories of tests have in common: git's own settings, and a remote."""

from __future__ import annotations

import shutil
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
