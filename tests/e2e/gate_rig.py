"""A project in a real repository with a bare remote, whose tasks are worked on by hand."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

from tests.git_rig import CONFIG, publish

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli


class Repo:
    """The project's repository, and the remote that others see."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        self.remote = cli.root.parent / "remote.git"
        config = cli.root.parent / "gitconfig"
        config.write_text(CONFIG, encoding="utf-8")
        cli.env |= {"GIT_CONFIG_GLOBAL": str(config), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(self, *args: str, at: Path | None = None) -> str:
        """Run git; it must succeed."""
        done = subprocess.run(
            ("git", *args), cwd=at or self.cli.root, env=self.cli.env, capture_output=True
        )
        assert done.returncode == 0, f"git {args}: {done.stderr.decode()}"
        return done.stdout.decode().strip()

    def begin(self, configuration: str = "") -> None:
        """A first commit on main, published, with the configuration in it and trusted."""
        self.git("init", "--quiet")
        self.cli.put(".gitignore", ".hookline/\n")
        self.cli.put("readme", "hello\n")
        self.cli.configure(configuration)
        self.commit("begin")
        publish(self.cli.root, self.remote)

    def commit(self, message: str, at: Path | None = None) -> None:
        """Commit everything."""
        self.git("add", "--all", at=at)
        self.git("commit", "--quiet", "--message", message, at=at)

    def work(self, *names: str, branch: str = "work") -> None:
        """Files, committed on a branch of their own, which stays checked out."""
        self.git("switch", "--quiet", "--create", branch)
        for name in names:
            self.cli.put(name, f"{name}\n")
            self.commit(f"add {name}")

    def merged(self) -> list[str]:
        """The files that the remote's main has besides those of the beginning."""
        names = self.git("ls-tree", "-r", "--name-only", "main", at=self.remote).splitlines()
        return [name for name in names if name not in (".gitignore", "readme", "hookline.yaml")]

    def runs(self) -> list[tuple[str, str]]:
        """Every run with its flow and status, the oldest first."""
        found: list[dict[str, Any]] = self.cli.json("flow", "status")
        return [(run["flow"], run["status"]) for run in reversed(found)]
