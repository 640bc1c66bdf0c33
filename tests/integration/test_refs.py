"""A commit that is read from git's files is the one that git names, or git is asked."""

from __future__ import annotations

import os
import subprocess
import zlib
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.git.checkout import checkout_of
from hookline.adapters.git.refs import plain_commit

if TYPE_CHECKING:
    from pathlib import Path


class Place:
    """A repository with two commits on main and one on side."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        for name in ("one", "two"):
            self.commit(name)
        self.git("branch", "deep/side", "main~1")

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
        command = ("git", *identity, *words)
        done = subprocess.run(command, cwd=self.root, check=True, capture_output=True)
        return done.stdout.decode().strip()

    def commit(self, name: str) -> None:
        self.git("commit", "--quiet", "--allow-empty", "--message", name)

    def read(self, name: str, at: Path | None = None) -> str | None:
        return plain_commit(checkout_of(str(at or self.root)), name)

    def loose(self, commit: str) -> Path:
        return self.root / ".git" / "objects" / commit[:2] / commit[2:]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "repository")


@pytest.mark.parametrize("name", ["HEAD", "refs/heads/main", "refs/heads/deep/side"])
def test_it_is_what_git_says(place: Place, name: str) -> None:
    assert place.read(name) == place.git("rev-parse", name)
    sha = place.git("rev-parse", name)
    assert place.read(sha) == sha


def test_a_worktree_has_a_head_of_its_own(place: Place) -> None:
    other = place.root.parent / "other"
    place.git("worktree", "add", "--quiet", "--detach", str(other), "main~1")
    assert place.read("HEAD", other) == place.git("rev-parse", "main~1")
    assert place.read("refs/heads/main", other) == place.git("rev-parse", "main")


def test_what_is_not_plain_is_left_to_git(place: Place) -> None:
    main = place.git("rev-parse", "main")
    place.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    place.git("tag", "--annotate", "--message", "a tag", "named")
    (place.root / ".git/refs/heads/linked").symlink_to("main")
    (place.root / ".git/refs/heads/tree").write_text(place.git("rev-parse", "main^{tree}") + "\n")
    (place.root / ".git/refs/heads/tagged").write_text(place.git("rev-parse", "named") + "\n")
    (place.root / ".git/refs/heads/gone").write_text("1" * 40 + "\n")
    os.mkfifo(place.root / ".git/refs/heads/pipe")
    asked = ("alias", "linked", "tree", "tagged", "gone", "pipe", "none", "../heads/main", "deep")
    assert [place.read(f"refs/heads/{name}") for name in asked] == [None] * len(asked)
    assert [place.read(name) for name in ("main", "MERGE_HEAD", main[:12], "refs/tags/named")] == [
        None
    ] * 4
    (place.root / ".git/refs/heads/pipe").unlink()
    place.git("update-ref", "-d", "refs/heads/alias")
    for bad in ("linked", "tree", "tagged", "gone"):
        (place.root / f".git/refs/heads/{bad}").unlink()
    place.git("gc", "--quiet")
    assert place.read("refs/heads/main") is None


def test_an_object_that_was_overwritten_is_not_believed(place: Place) -> None:
    main, side = (place.git("rev-parse", name) for name in ("main", "deep/side"))
    place.loose(main).chmod(0o644)
    place.loose(main).write_bytes(place.loose(side).read_bytes())
    assert place.read("refs/heads/main") is None
    place.loose(main).write_bytes(zlib.compress(b"commit 9\0" + b"x" * 10_000_000))
    assert place.read("refs/heads/main") is None
    place.loose(main).write_bytes(b"no object")
    assert place.read("refs/heads/main") is None
