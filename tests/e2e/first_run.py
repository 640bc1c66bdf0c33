"""What the tests of init, doctor and demo share: a folder, a home, and the command line."""

from __future__ import annotations

import json
import os
import pty
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.in_process import run_in_process

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Place:
    """A user's machine in small: a home, a folder of programs, and a repository."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "repository"
        self.home = base / "home"
        self.programs = base / "programs"
        self.started = base / "started"
        for folder in (self.root, self.programs, base / "user", base / "tmp"):
            folder.mkdir()

    @property
    def database(self) -> Path:
        return self.root / ".hookline" / "hookline.db"

    def environment(self, **more: str) -> dict[str, str]:
        env = {name: value for name, value in os.environ.items() if "HOOKLINE" not in name}
        return {
            **env,
            "HOME": str(self.base / "user"),
            "HOOKLINE_HOME": str(self.home),
            "TMPDIR": str(self.base / "tmp"),
            "PATH": f"{self.programs}:/usr/bin:/bin",
            "USER": "tester",
            **more,
        }

    def hookline(
        self, *words: str, cwd: Path | str | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = self.environment(**(env or {}))
        return run_in_process(words, cwd=cwd or self.root, env=environment)

    def ok(self, *words: str, **options: Any) -> str:
        done = self.hookline(*words, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def json(self, *words: str, **options: Any) -> Any:
        done = self.hookline(*words, "--json", **options)
        assert "bug" not in done.stderr, done.stderr
        return json.loads(done.stdout)

    def typed(self, answer: str, *words: str) -> tuple[int, str]:
        """Run a command on a terminal, with an answer to its question."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "hookline", *words],
            cwd=self.root,
            env=self.environment(NO_COLOR="1"),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        os.write(ours, answer.encode())
        shown = b""
        while chunk := _read(ours):
            shown += chunk
        os.close(ours)
        return process.wait(timeout=60), shown.decode()

    def program(self, name: str, line: str | None = None) -> None:
        """A program on PATH; without a line of its own it leaves a trace when it is started."""
        path = self.programs / name
        trace = f"echo {name} >> '{self.started}'"
        path.write_text(f"#!/bin/sh\n{line or trace}\n")
        path.chmod(0o755)

    def put(self, name: str, text: str, mode: int = 0o644) -> None:
        """A file of the repository."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def git(self) -> None:
        """Make the folder a git repository."""
        subprocess.run(("git", "init", "-q", "-b", "main"), cwd=self.root, check=True)

    @property
    def written(self) -> str:
        """The hookline.yaml of the repository."""
        return (self.root / "hookline.yaml").read_text()

    def play(self, *turns: dict[str, str]) -> None:
        """Let the configured agent `claude` play these turns, and trust that."""
        self.put("turns.json", json.dumps(turns))
        real, played = "{driver: claude-code}", "{driver: scripted, script: turns.json}"
        text = self.written.replace(f"claude: {real}", f"claude: {played}")
        assert f"\n  claude: {played}\n" in text
        self.configure(text)
        self.ok("trust", "--yes")

    def configure(self, text: str) -> None:
        (self.root / "hookline.yaml").write_text(text)

    def sql(self, *statements: str) -> None:
        connection = sqlite3.connect(self.database, isolation_level=None)
        for statement in statements:
            connection.execute(statement)
        connection.close()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed: that is how a terminal ends
        return b""
