"""Real repositories on disk: a project, a bare remote, other people's clones, and git's hooks."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hookline.adapters.git.repository.git_repository import GitRepository
from hookline.adapters.processes.process import LocalProcesses
from tests.git_rig import CONFIG, publish

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


def do(act: Coroutine[Any, Any, T]) -> T:
    """Run one act to its end."""
    return asyncio.run(act)


class Place:
    """A folder with one project in it, and git's configuration for nobody else."""

    def __init__(self, folder: Path, name: str = "project") -> None:
        self.folder = folder
        self.root = folder / name
        self.remote = folder / "remote.git"
        config = folder / "gitconfig"
        config.write_text(CONFIG, encoding="utf-8")
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "HOOKLINE_"))},
            "GIT_CONFIG_GLOBAL": str(config),
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def git(self, *args: str, at: Path | str | None = None) -> str:
        """Run git; it must succeed."""
        done = subprocess.run(
            ("git", *args), cwd=at or self.root, env=self.env, capture_output=True, text=True
        )
        assert done.returncode == 0, f"git {args}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def begin(self) -> None:
        """A repository with one commit on main."""
        self.git("init", "--quiet", str(self.root), at=self.folder)
        self.commit("readme", "hello\n")

    def commit(self, name: str, text: str, *, at: Path | str | None = None) -> str:
        """Write a file and commit it; the commit."""
        self.write(name, text, at=at)
        self.git("add", "--all", at=at)
        self.git("commit", "--quiet", "--message", f"{name} is {text.strip()[:20]}", at=at)
        return self.git("rev-parse", "HEAD", at=at)

    def write(self, name: str, text: str, *, at: Path | str | None = None) -> Path:
        """Write a file."""
        path = Path(at or self.root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def publish(self) -> None:
        """Give the project a bare remote that has its main."""
        publish(self.root, self.remote)
        self.git("remote", "set-head", "origin", "main")

    def colleague(self, name: str = "colleague") -> Path:
        """Another person's clone of the remote."""
        path = self.folder / name
        if not path.exists():
            self.git("clone", "--quiet", str(self.remote), str(path), at=self.folder)
        return path

    def elsewhere(self, name: str, text: str) -> str:
        """Somebody else commits to main: at the remote, or in the project where there is none."""
        if not self.remote.exists():
            return self.commit(name, text)
        clone = self.colleague()
        self.git("pull", "--quiet", at=clone)
        sha = self.commit(name, text, at=clone)
        self.git("push", "--quiet", at=clone)
        return sha

    def hook(self, name: str, script: str, *, at: Path | None = None) -> None:
        """Put a hook of git's own into a repository."""
        path = (at or self.root / ".git") / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    def repository(self, root: Path | None = None, **options: Any) -> GitRepository:
        """The code under test, for the project or for another clone."""
        root = root or self.root
        folder = root / ".hookline"
        return GitRepository(
            LocalProcesses(str(folder / "blobs")), str(root), str(folder), self.env, **options
        )

    def main(self) -> str:
        """The commit that the base is at, where everybody sees it."""
        return self.git("rev-parse", "refs/heads/main", at=self._truth)

    def on_main(self, name: str) -> str:
        """The content of a file on the base."""
        return self.git("show", f"refs/heads/main:{name}", at=self._truth)

    def merges(self, words: str) -> list[str]:
        """Commits on the base with these words in their subject."""
        log = self.git("log", "--first-parent", "--format=%H %s", "refs/heads/main", at=self._truth)
        return [line.split()[0] for line in log.splitlines() if words in line]

    @property
    def _truth(self) -> Path:
        return self.remote if self.remote.exists() else self.root

    def status(self, at: Path | str | None = None) -> list[str]:
        """What git calls uncommitted."""
        return self.git("status", "--porcelain", "--untracked-files=all", at=at).splitlines()

    def lose(self, path: Path | str) -> None:
        """Remove a folder behind everybody's back."""
        shutil.rmtree(path)
