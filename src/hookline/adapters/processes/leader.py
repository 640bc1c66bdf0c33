"""The leader of a process group, watched until it ends; its group ends with it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from hookline.adapters.processes.identity import kill_tree, process_identity, signal_group
from hookline.ports.processes import ProcessGroup

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

POLL_SECONDS = 0.01
# A killed process is gone in a moment; a large one on a busy machine takes a little longer.
KILL_SECONDS = 0.5
_dying: list[subprocess.Popen[bytes]] = []


def reap() -> None:
    """Let the system forget what was killed and has ended since."""
    _dying[:] = [process for process in _dying if process.poll() is None]


class Leader:
    """A program that was started as the leader of its group; `on_exit` is told when it ended."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        process: subprocess.Popen[bytes],
        on_exit: Callable[[], None],
    ) -> None:
        reap()
        self._loop = loop
        self._process = process
        self._on_exit = on_exit
        self._pidfd = -1
        self._timer: asyncio.TimerHandle | None = None

    def group(self) -> ProcessGroup:
        """The group's name; its leader cannot vanish before it is reaped."""
        pid = self._process.pid
        return process_identity(pid) or ProcessGroup(pid, 0, "")

    def watch(self) -> None:
        """Begin to wait for the end."""
        try:
            self._pidfd = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):  # not Linux, an old kernel, or a sandbox without it
            self._poll()
        else:
            self._loop.add_reader(self._pidfd, self._exited)

    def kill(self) -> bool:
        """Kill the group if its leader has not ended; whether it had not."""
        if self._process.returncode is not None:
            return False
        kill_tree(self._process.pid)
        return True

    def close(self) -> None:
        """Watch no longer; a program that still runs is killed with its group."""
        self._stop_waiting()
        if self.kill():
            # Only after a cancellation: no task of a loop that may be closing has to outlive
            # this one for it.
            try:
                self._process.wait(KILL_SECONDS)
            except subprocess.TimeoutExpired:
                _dying.append(self._process)

    def _poll(self) -> None:
        if self._process.poll() is None:
            self._timer = self._loop.call_later(POLL_SECONDS, self._poll)
        else:
            self._exited()

    def _exited(self) -> None:
        # While its leader is not reaped, the group's number can belong to nobody else.
        signal_group(self._process.pid)
        self._process.poll()
        self._stop_waiting()
        self._on_exit()

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1
