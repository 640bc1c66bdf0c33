"""Hookline as a user runs it, in a project of its own."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from hookline.adapters.processes.identity import all_processes, kill_marked
from tests.in_process import run_in_process
from tests.postgres_server import new_project, rows_on_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PROGRAM = (sys.executable, "-m", "hookline")
# How long to wait before something counts as hanging, also where the machine is very busy.
PATIENCE = 100


class Result(NamedTuple):
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """The one JSON value on stdout."""
        return json.loads(self.stdout)

    @property
    def error(self) -> dict[str, Any]:
        """The error that `--json` puts on stderr, which must be all that was said."""
        found = json.loads(self.stderr)
        assert set(found) == {"error"}
        assert set(found["error"]) == {"code", "message", "help"}
        error: dict[str, Any] = found["error"]
        return error


class Cli:
    """Runs commands in one project with a user's folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.home = folder / "home"
        self.database = self.root / ".hookline" / "hookline.db"
        (self.root / ".hookline").mkdir(parents=True)
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.startswith("HOOKLINE_")},
            "HOOKLINE_HOME": str(self.home),
            "USER": "ada",
        }
        self.started: list[subprocess.Popen[str]] = []
        self._others = all_processes()

    def __call__(
        self, *args: str | bytes, env: Mapping[str, str] | None = None, stdin: str = ""
    ) -> Result:
        """Run a command to its end, in this process where it can be."""
        if threading.current_thread() is not threading.main_thread():
            return self.process(*args, env=env, stdin=stdin)
        environment = {**self.env, **(env or {})}
        done = run_in_process(args, cwd=self.root, env=environment, stdin=stdin.encode())
        return _result(done.returncode, done.stdout, done.stderr)

    def process(
        self, *args: str | bytes, env: Mapping[str, str] | None = None, stdin: str = ""
    ) -> Result:
        """Run a command to its end in a process of its own."""
        done = subprocess.run(
            (*PROGRAM, *args),
            cwd=self.root,
            env={**self.env, **(env or {})},
            input=stdin.encode(),
            capture_output=True,
            timeout=PATIENCE,
        )
        return _result(done.returncode, done.stdout.decode(), done.stderr.decode())

    def json(
        self, *args: str, env: Mapping[str, str] | None = None, stdin: str = "", quiet: bool = True
    ) -> Any:
        """The answer of a command that must succeed, by default without a word on stderr."""
        result = self(*args, "--json", env=env, stdin=stdin)
        assert result.code == 0, result.stderr
        if quiet:
            assert result.stderr == ""
        return result.json

    def refused(
        self, *args: str | bytes, env: Mapping[str, str] | None = None, stdin: str = ""
    ) -> tuple[int, dict[str, Any]]:
        """Exit code and error of a command that must not succeed; stdout stays empty."""
        result = self(*args, "--json", env=env, stdin=stdin)
        assert result.code != 0
        assert result.stdout == ""
        return result.code, result.error

    def start(self, *args: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """A command that goes on beside the test."""
        process = subprocess.Popen(
            (*PROGRAM, *args),
            cwd=self.root,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def configure(self, text: str, *, trust: bool = True) -> None:
        """Write hookline.yaml, and trust it."""
        (self.root / "hookline.yaml").write_text(f"version: 1\n{text}", encoding="utf-8")
        if trust:
            self.json("trust", "--yes")

    def put(self, name: str, text: str, mode: int = 0o644) -> Path:
        """A file of the project."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return path

    def add(self, goal: str, *options: str, quiet: bool = True) -> str:
        """The id of a new task."""
        return str(self.json("task", "add", goal, *options, quiet=quiet)["id"])

    def task(self, identifier: str) -> dict[str, Any]:
        """A task as it stands."""
        found: dict[str, Any] = self.json("task", "show", identifier)
        return found

    def events(self, *types: str) -> list[dict[str, Any]]:
        """The events of these types, or all of them."""
        chosen = [word for name in types for word in ("--type", name)]
        found: list[dict[str, Any]] = self.json("events", "--all", *chosen)
        return found

    def calls(self, hook: str, columns: str = "status") -> list[Any]:
        """Columns of every recorded call of a hook, oldest first."""
        rows = self.rows(f"SELECT {columns} FROM deliveries WHERE hook = ? ORDER BY id", hook)
        return [row[0] if len(row) == 1 else row for row in rows]

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """Rows of the store, read or changed past Hookline."""
        if "HOOKLINE_STORE" in self.env:
            return rows_on_server(self.env["HOOKLINE_STORE"], sql, values)
        address = f"file:{self.database}?mode=rw"
        with closing(sqlite3.connect(address, timeout=30, uri=True)) as connection:
            return connection.execute(sql, values).fetchall()

    def close(self) -> None:
        """End what was started and still runs."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        # An agent whose session was killed waits for ever for what its test would have told it.
        kill_marked(f"HOOKLINE_HOME={self.home}".encode(), but=self._others)


def _result(code: int, stdout: str, stderr: str) -> Result:
    """What a user sees of a command: never a traceback, whatever happens."""
    result = Result(code, stdout, stderr)
    assert "Traceback" not in result.stdout + result.stderr
    assert "this is a bug" not in result.stderr
    return result


@pytest.fixture
def cli(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cli]:
    runner = Cli(tmp_path)
    if request.config.getoption("postgres"):
        runner.env["HOOKLINE_STORE"] = new_project(request.getfixturevalue("postgres"))
    yield runner
    runner.close()


class Follower:
    """Reads a process of `events --follow --json` and notes when each event came."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.seen: dict[int, float] = {}
        self.events: list[dict[str, Any]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            moment = time.monotonic()
            event = json.loads(line)
            self.events.append(event)
            self.seen[event["seq"]] = moment


def eventually(
    condition: Callable[[], bool], what: str, seconds: float = PATIENCE, pause: float = 0.01
) -> None:
    """Wait until something has happened; the time is only how long to wait for a failure."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen in {seconds:g} s"
        time.sleep(pause)


def is_running(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    return _state(pid) not in (b"Z", None)


def _state(pid: int) -> bytes | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0]
    except OSError:
        return None


def freeze(process: subprocess.Popen[str]) -> None:
    """SIGSTOP a process, and wait until it has stopped: a busy machine takes its time."""
    process.send_signal(signal.SIGSTOP)
    eventually(lambda: _state(process.pid) == b"T", "the stop of the process")


def kill(process: subprocess.Popen[str]) -> None:
    """SIGKILL one process, not its children, and wait for its end."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGKILL)
    process.communicate()


def reapers(process: subprocess.Popen[str]) -> list[int]:
    """The children of a process that are reapers."""
    found: list[str] = []
    for thread in Path(f"/proc/{process.pid}/task").glob("*/children"):
        with suppress(OSError):  # a thread that has just ended
            found += thread.read_text().split()
    lines = {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes() for pid in found}
    return [pid for pid, line in lines.items() if b"reaper_process.py" in line]
