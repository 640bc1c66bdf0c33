"""A small process next to one that runs agents: if that one is killed, it ends what it had started.

A process that is killed by force cannot end its children. The reaper hears through a pipe which of
them run; when the pipe closes, those that have not ended are told to, and then killed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from hookline.adapters.processes.identity import NO_PROC

if TYPE_CHECKING:
    from hookline.ports.processes import ProcessGroup

_PROGRAM = os.path.join(os.path.dirname(__file__), "reaper_process.py")
CLOSE_SECONDS = 5.0


class Reaper:
    """Hears about every program as it starts; its own process starts with the first one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._running: dict[int, str] = {}

    def expect(self, mark: str) -> None:
        """A program with this in its environment is about to start, and may work at once."""
        if self._process is None:
            self._start()
        self._tell(f"? {mark}")

    def expect_no_more(self, mark: str) -> None:
        """It is watched now, or could not be started."""
        self._tell(f"! {mark}")

    def watch(self, group: ProcessGroup, mark: str | None = None) -> None:
        """A program runs; whatever has the `mark` in its environment belongs to it."""
        line = f"+ {group.pgid} {group.start_time} {group.boot_id} {mark or ''}"
        self._running[group.pgid] = line
        if self._process is None:
            self._start()
        self._tell(line)

    def forget(self, group: ProcessGroup) -> None:
        """A program is over, with its group."""
        self._running.pop(group.pgid, None)
        self._tell(f"- {group.pgid}")

    def close(self) -> None:
        """Let the process end: its owner has ended what it had started."""
        if self._process is None:
            return
        os.close(self._pipe)
        with suppress(subprocess.TimeoutExpired, OSError):  # such as when the clock is set back
            self._process.wait(CLOSE_SECONDS)
        self._process = None

    def _start(self) -> None:
        """Out of reach of the terminal's ^C, with none of our files open but the pipe."""
        ours, self._pipe = os.pipe()
        # It reads short messages quickly; if it does not, we do not wait for it.
        os.set_blocking(self._pipe, False)
        try:
            self._process = subprocess.Popen(
                (sys.executable, "-I", "-S", _PROGRAM, *filter(None, sys.path)),
                stdin=ours,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={name: os.environ[name] for name in (NO_PROC,) if name in os.environ},
                start_new_session=True,
            )
        finally:
            os.close(ours)

    def _tell(self, line: str) -> None:
        # Without a reaper, the process that continues the work ends what is left.
        with suppress(OSError):
            try:
                os.write(self._pipe, f"{line}\n".encode())
            except BrokenPipeError:  # it was killed: another one is told about all that runs
                self.close()
                self._start()
                lines = "".join(f"{each}\n" for each in self._running.values())
                os.write(self._pipe, lines.encode())
