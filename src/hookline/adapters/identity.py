"""Which process is that? Pid, start time and boot id, so that a reused pid is never taken for it.

Synchronous and light, because the store asks it about the holders of leases.
"""

from __future__ import annotations

import os
from functools import cache

import msgspec

from hookline.ports.processes import ProcessGroup

# The number is the same on every POSIX system, and the signal module costs an import of enum.
SIGKILL, SIGTERM = 9, 15
_DEAD = frozenset("ZXx")
_STOPPED = frozenset("Tt")


class _Stat(msgspec.Struct, frozen=True):
    state: str
    pgid: int
    session: int
    start_time: int


def this_process() -> ProcessGroup:
    """The identity of the running process."""
    pid = os.getpid()
    return process_identity(pid) or ProcessGroup(pid, 0, boot_id())


def owner_name(process: ProcessGroup) -> str:
    """A process as the name of a holder of leases."""
    return f"{process.boot_id}:{process.pgid}:{process.start_time}"


def owner_is_gone(owner: str) -> bool:
    """Whether the process of that name is known to be dead; of another boot nothing is known."""
    boot, pid, start = owner.rsplit(":", 2)
    return boot == boot_id() and not is_alive(ProcessGroup(int(pid), int(start), boot))


def owner_is_here(owner: str) -> bool:
    """Whether the process of that name is known to run on this machine, whoever wrote the name."""
    try:
        boot, pid, start = owner.rsplit(":", 2)
        return bool(boot) and is_alive(ProcessGroup(int(pid), int(start), boot))
    except ValueError:
        return False


def owner_pid(owner: str) -> int:
    """The number of a process by its name as a holder."""
    return int(owner.rsplit(":", 2)[1])


def is_stopped(pid: int) -> bool:
    """Whether a process was stopped, as by SIGSTOP or ^Z, and does not go on by itself."""
    stat = _stat(pid)
    return stat is not None and stat.state in _STOPPED


def process_identity(pid: int) -> ProcessGroup | None:
    """The identity of a process that exists, if only as a zombie; None when there is none."""
    if pid <= 0:
        return None
    stat = _stat(pid)
    if stat is not None:
        return ProcessGroup(pid, stat.start_time, boot_id())
    return ProcessGroup(pid, 0, boot_id()) if not _has_proc() and _exists(pid) else None


def is_alive(group: ProcessGroup) -> bool:
    """Whether the very process that was recorded still runs; a zombie does not."""
    if group.pgid <= 0 or group.boot_id != boot_id():
        return False
    if not _has_proc():
        return _exists(group.pgid)
    stat = _stat(group.pgid)
    return stat is not None and stat.start_time == group.start_time and stat.state not in _DEAD


def kill_group(group: ProcessGroup, signal: int = SIGKILL) -> bool:
    """Kill what is left of a recorded group; False when nothing is, or when it may be another's.

    A group outlives its leader, and the kernel gives its number to nobody while a member lives.
    """
    # Below 2 the number would mean our own group or everybody; 0 as a start proves nothing.
    if group.pgid < 2 or not group.start_time or group.boot_id != boot_id():
        return False
    leader = _stat(group.pgid)
    if leader is None:
        return _has_members(group.pgid) and signal_group(group.pgid, signal)
    return leader.start_time == group.start_time and signal_group(group.pgid, signal)


def all_processes() -> frozenset[str]:
    """The processes that there are now; empty where the system does not tell."""
    names = os.listdir("/proc") if _has_proc() else ()
    return frozenset(name for name in names if name.isdigit())


def kill_marked(setting: bytes, *, but: frozenset[str] = frozenset(), signal: int = SIGKILL) -> int:
    """Kill every process of this user whose environment has this very `NAME=value` in it.

    For children that were started but not yet recorded when their parent died, and for those
    that left their group. How many those were; `but` are processes that need no look.
    """
    killed = 0
    for name in all_processes() - but:
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                marked = setting in file.read().split(b"\0")
            if marked:
                os.kill(int(name), signal)
                killed += 1
        except OSError:  # gone, or another user's
            continue
    return killed


def signal_group(pgid: int, signal: int = SIGKILL) -> bool:
    """Send a signal to a group; False when there is none that we may kill."""
    try:
        os.killpg(pgid, signal)
    except (ProcessLookupError, PermissionError):  # macOS: EPERM when only zombies are left
        return False
    return True


@cache
def boot_id() -> str:
    """A value that changes with each boot, and between containers, which count pids apart.

    Empty where the system has none.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read().strip()}/{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return ""


def _stat(pid: int) -> _Stat | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            line = file.read()
    except OSError:
        return None
    # The program's name stands in parentheses and may itself hold blanks and parentheses.
    fields = line[line.rindex(b")") + 2 :].split()
    return _Stat(fields[0].decode(), int(fields[2]), int(fields[3]), int(fields[19]))


def _has_members(pgid: int) -> bool:
    for name in os.listdir("/proc"):
        if name.isdigit():
            stat = _stat(int(name))
            if stat is not None and stat.pgid == stat.session == pgid and stat.state not in _DEAD:
                return True
    return False


@cache
def _has_proc() -> bool:
    return os.path.exists("/proc/self/stat")


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
