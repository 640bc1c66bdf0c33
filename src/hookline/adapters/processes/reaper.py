"""A small process next to one that runs agents: if that one is killed, it ends what it had started.

A process that is killed by force cannot end its children. The reaper hears through a pipe which of
them run; when the pipe closes, those that have not ended are told to, and then killed. Where the
store is on a server, it also gives the leases of the killed process back, so that another host need
not wait for their end; and does both when that process is stopped, or is cut off from the server.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.processes.identity import HOST, NO_PROC
from hookline.domain.timestamps import elapsed
from hookline.ports.processes import CALL_MARK, TURN_MARK

if TYPE_CHECKING:
    from hookline.adapters.processes.lease_watch import LeaseTerms
    from hookline.ports.processes import ProcessGroup

_PROGRAM = os.path.join(os.path.dirname(__file__), "reaper_process.py")
CLOSE_SECONDS = 5.0


class Reaper:
    """Hears about every program as it starts; its own process starts with the first one.

    With the `terms` of leases on a server, it is told when these begin to be renewed, and when not
    any more.
    """

    def __init__(self, terms: LeaseTerms | None = None) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._running: dict[int, str] = {}
        self._terms = terms
        self._renewed: float | None = None
        # A heartbeat tells it something, too.
        self._telling = threading.RLock()

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

    def keep_leases(self) -> None:
        """From now on they are renewed: if that or this process ends, they are given back."""
        self._renewed = elapsed()
        if self._process is None:
            self._start()
        else:
            self._tell(self._about_leases())

    def keep_no_leases(self) -> None:
        """They are not renewed any more, because there are none."""
        self._renewed = None
        self._tell("/")

    def check(self) -> None:
        """If its process was killed, start another one."""
        self._tell("")

    def renewed(self, sent: float) -> None:
        """Their renewal, which was sent at a time, was acknowledged."""
        self._renewed = sent
        self._tell(f"~ {sent!r}")

    def close(self) -> None:
        """Let the process end: its owner has ended what it had started.

        Leases that could not be given up, as when the server is away, it gives back later.
        """
        if self._process is None:
            return
        if self._renewed is not None:
            os.close(self._pipe)
            self._pipe, self._process = -1, None
            return
        if self._terms is not None:
            with suppress(OSError):  # it was killed
                os.write(self._pipe, b".\n")
        self._close()

    def _close(self) -> None:
        assert self._process is not None
        os.close(self._pipe)
        self._pipe = -1
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
                cwd="/" if self._terms is None else None,
                env=_environment(is_connected=self._terms is not None),
                start_new_session=True,
            )
        finally:
            os.close(ours)
        if self._renewed is not None:
            os.write(self._pipe, f"{self._about_leases()}\n".encode())

    def _about_leases(self) -> str:
        return f"= {msgspec.json.encode(self._terms).decode()}\n~ {self._renewed!r}"

    def _tell(self, line: str) -> None:
        # Without a reaper, the process that continues the work ends what is left.
        with suppress(OSError), self._telling:
            try:
                os.write(self._pipe, f"{line}\n".encode())
            except BrokenPipeError:  # it was killed: another one is told about all that runs
                self._close()
                self._start()
                lines = "".join(f"{each}\n" for each in self._running.values())
                os.write(self._pipe, lines.encode())


def _environment(*, is_connected: bool) -> dict[str, str]:
    """What the process needs, and for connections what they need: PGPASSWORD, HOME and others.

    It never belongs to a turn or a call that ends.
    """
    needed = {*os.environ} - {TURN_MARK, CALL_MARK} if is_connected else {NO_PROC, HOST}
    return {name: os.environ[name] for name in needed if name in os.environ}
