"""A Temporal server of the tests, as developers start it: gone with the tests that need it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hookline.adapters.temporal.client import ATTRIBUTES
from tests.postgres_server import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PATIENCE = 100
_PROGRAM = str(Path(sys.executable).with_name("temporal"))


class TemporalServer:
    """A server with its store in a file, so that it can be started again."""

    def __init__(
        self,
        folder: Path,
        host: str,
        inside: Sequence[str],
        attributes: Sequence[str],
        more: Sequence[str],
    ) -> None:
        self.address = f"{host}:{_free_port() if not inside else 7233}"
        self._folder, self._inside = folder, inside
        self._attributes, self._more = attributes, more
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        host, _, port = self.address.rpartition(":")
        # Its parts find each other at 127.0.0.1, whatever address it has for others.
        listens = "0.0.0.0" if self._inside else host
        stored = str(self._folder / "temporal.db")
        place = ("--ip", listens, "--port", port, "--db-filename", stored)
        quiet = ("--headless", "--log-level", "error")
        found = [
            word for each in self._attributes for word in ("--search-attribute", f"{each}=Keyword")
        ]
        command = (
            *self._inside,
            _PROGRAM,
            "server",
            "start-dev",
            *place,
            *quiet,
            *found,
            *self._more,
        )
        with open(self._folder / "temporal.log", "ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, preexec_fn=end_with_parent, env=self._env
            )
        deadline = time.monotonic() + PATIENCE
        while self.run("operator", "cluster", "health").returncode:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError((self._folder / "temporal.log").read_text())
            time.sleep(0.05)

    def stop(self) -> None:
        """Kill it, as when the power is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            self._process = None

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Ask it something with its own program."""
        command = (*self._inside, _PROGRAM, *words, "--address", self.address)
        return subprocess.run(command, capture_output=True, text=True, env=self._env)

    def typed(self, command: str) -> subprocess.CompletedProcess[str]:
        """What a person types, who has nothing but the program."""
        words = (*self._inside, _PROGRAM, *command.split()[1:])
        return subprocess.run(words, capture_output=True, text=True, env=self._env)

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self._process is not None
        return self._process.pid

    @property
    def _env(self) -> dict[str, str]:
        # Its program keeps settings in the home of who calls it.
        return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self._folder)}


@contextmanager
def temporal(
    folder: Path,
    host: str = "127.0.0.1",
    inside: Sequence[str] = (),
    *,
    bare: bool = False,
    more: Sequence[str] = (),
) -> Iterator[TemporalServer]:
    """A server that answers; a `bare` one knows no search attributes of ours."""
    folder.mkdir(exist_ok=True)
    server = TemporalServer(folder, host, inside, () if bare else ATTRIBUTES, more)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder / "temporal.db", ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
