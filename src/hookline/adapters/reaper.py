"""A small process beside one that runs agents: it ends what that one had started, if it is killed.

A process that is killed by force cannot end its children. The reaper hears through a pipe which of
them run; when the pipe closes, those that have not ended are told to, and then killed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.ports.processes import ProcessGroup

_PROGRAM = os.path.join(os.path.dirname(__file__), "reaper_process.py")
CLOSE_SECONDS = 5.0


class Reaper:
    """Hears of every program as it starts; its own process starts with the first one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1

    def watch(self, group: ProcessGroup, mark: str | None = None) -> None:
        """A program runs; whatever has the `mark` in its environment belongs to it."""
        if self._process is None:
            self._start()
        self._tell(f"+ {group.pgid} {group.start_time} {group.boot_id} {mark or ''}")

    def forget(self, group: ProcessGroup) -> None:
        """A program is over, with its group."""
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
        """Out of reach of the terminal's ^C, with nothing of ours open but the pipe."""
        ours, self._pipe = os.pipe()
        # It reads quickly what is short; if it does not, nobody waits for it.
        os.set_blocking(self._pipe, False)
        try:
            self._process = subprocess.Popen(
                (sys.executable, "-I", "-S", _PROGRAM, *filter(None, sys.path)),
                stdin=ours,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
        finally:
            os.close(ours)

    def _tell(self, line: str) -> None:
        # Without a reaper, whoever goes on with the work ends what is left.
        with suppress(OSError):
            os.write(self._pipe, f"{line}\n".encode())
