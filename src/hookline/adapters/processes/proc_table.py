"""The processes of this machine as Linux reports them."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property

import msgspec


class ProcessStat(msgspec.Struct, frozen=True):
    """A process as its system reports it; `start_time` only has to be the same every time."""

    state: str
    parent: int
    pgid: int
    session: int
    start_time: int


class ProcTable:
    """All processes, read from /proc; PsutilTable says what each method gives."""

    def pids(self) -> list[int]:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]

    def stat(self, pid: int) -> ProcessStat | None:
        with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
            line = file.read()
            # The program's name is in parentheses and may itself hold blanks and parentheses.
            fields = line[line.rindex(b")") + 2 :].split()
            return ProcessStat(fields[0].decode(), *(int(fields[at]) for at in (1, 2, 3, 19)))
        return None

    def environ(self, pid: int) -> list[bytes]:
        with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
        return []  # gone, or another user's

    def work(self, pid: int) -> tuple[str, str] | None:
        path = f"/proc/{pid}/comm"
        with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            return file.read(), os.readlink(f"/proc/{pid}/cwd")
        return None

    @cached_property
    def boot_id(self) -> str:
        path = "/proc/sys/kernel/random/boot_id"
        with suppress(OSError), open(path, encoding="utf-8") as file:
            return f"{file.read().strip()}/{os.stat('/proc/self/ns/pid').st_ino}"
        return ""
