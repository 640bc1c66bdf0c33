"""The processes of a system without /proc, such as macOS. Only there psutil is loaded."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property

import psutil

from hookline.adapters.processes.proc_table import ProcessStat

_MICROSECONDS = 1_000_000
_STATES = {
    psutil.STATUS_ZOMBIE: "Z",
    psutil.STATUS_DEAD: "X",
    psutil.STATUS_STOPPED: "T",
    psutil.STATUS_TRACING_STOP: "t",
}


class PsutilTable:
    """The processes as psutil reports them."""

    def pids(self) -> list[int]:
        """Those that there are now."""
        return list(psutil.pids())

    def stat(self, pid: int) -> ProcessStat | None:
        """What is known of one; None when there is none."""
        with suppress(psutil.Error, OSError):  # gone, or another user's
            found = psutil.Process(pid)
            with found.oneshot():
                state, began = _STATES.get(found.status(), "R"), found.create_time()
                places = (found.ppid(), os.getpgid(pid), os.getsid(pid))
                return ProcessStat(state, *places, round(began * _MICROSECONDS))
        return None

    def environ(self, pid: int) -> list[bytes]:
        """The environment that one was started with, as `NAME=value`; nothing of another user's."""
        with suppress(psutil.Error, OSError):
            return [os.fsencode(f"{n}={v}") for n, v in psutil.Process(pid).environ().items()]
        return []

    def work(self, pid: int) -> tuple[str, str] | None:
        """The name of its program and the folder that it works in; nothing of another user's."""
        with suppress(psutil.Error, OSError):
            found = psutil.Process(pid)
            folder = found.cwd()  # empty for one that is ending
            return (found.name(), folder) if folder else None
        return None

    @cached_property
    def boot_id(self) -> str:
        """The second of the boot, and whose; a clock that is set makes it another one."""
        whose = "".join(os.uname().nodename.split())
        return f"boot-{psutil.boot_time():.0f}/{whose}"
