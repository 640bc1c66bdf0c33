"""Which process is that? Pid, start time and boot id, so that a reused pid is never taken for it.

Synchronous and light, because the store asks it about the holders of leases. This module is the
port `Host`: what it knows of processes comes from /proc, and without one from psutil.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from hookline.adapters.processes.proc_table import ProcTable
from hookline.digest import sha256
from hookline.ports.processes import ProcessGroup

if TYPE_CHECKING:
    from hookline.adapters.processes.psutil_table import PsutilTable

# Set, it hides /proc and inotify, so that what other systems do can be tried on Linux.
NO_PROC = "HOOKLINE_NO_PROC"
# The name of this host. Hosts of different names know nothing of each other's processes, even where
# they see them.
HOST = "HOOKLINE_HOST"

# The number is the same on every POSIX system, and the signal module costs an import of enum.
SIGKILL, SIGTERM = 9, 15
LONGEST_DEATH = 2.0
_DEAD = frozenset("ZXx")
_STOPPED = frozenset("Tt")


def has_proc() -> bool:
    """Whether this is Linux, with /proc and inotify."""
    return NO_PROC not in os.environ and _is_linux()


@cache
def _is_linux() -> bool:
    return os.path.exists("/proc/self/stat")


_PROC = ProcTable()


def _table() -> ProcTable | PsutilTable:
    return _PROC if has_proc() else _without_proc()


@cache
def _without_proc() -> PsutilTable:
    # psutil is installed only where there is no /proc.
    from hookline.adapters.processes.psutil_table import PsutilTable

    return PsutilTable()


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
    with suppress(ValueError):
        boot, pid, start = owner.rsplit(":", 2)
        return bool(boot) and is_alive(ProcessGroup(int(pid), int(start), boot))
    return False


def owner_pid(owner: str) -> int:
    """The number of a process by its name as a holder."""
    return int(owner.rsplit(":", 2)[1])


def is_stopped(pid: int) -> bool:
    """Whether a process was stopped, as by SIGSTOP or ^Z, and does not continue by itself."""
    stat = _table().stat(pid)
    return stat is not None and stat.state in _STOPPED


def process_identity(pid: int) -> ProcessGroup | None:
    """The identity of a process that exists, if only as a zombie; None when there is none."""
    stat = _table().stat(pid) if pid > 0 else None
    return None if stat is None else ProcessGroup(pid, stat.start_time, boot_id())


def is_alive(group: ProcessGroup) -> bool:
    """Whether the very process that was recorded still runs; a zombie does not."""
    if group.pgid <= 0 or group.boot_id != boot_id():
        return False
    stat = _table().stat(group.pgid)
    return stat is not None and stat.start_time == group.start_time and stat.state not in _DEAD


def kill_group(group: ProcessGroup, signal: int = SIGKILL) -> bool:
    """Kill what is left of a recorded group; False when nothing is, or when it may be another's.

    A group outlives its leader, and the kernel gives its number to nobody while a member lives.
    """
    # Below 2 the number would mean our own group or every process; 0 as a start proves nothing.
    if group.pgid < 2 or not group.start_time or group.boot_id != boot_id():
        return False
    leader = _table().stat(group.pgid)
    if leader is None:
        return _has_members(group.pgid) and signal_group(group.pgid, signal)
    if leader.start_time != group.start_time:
        return False
    return (kill_tree if signal == SIGKILL else signal_group)(group.pgid, signal)


def group_is_left(group: ProcessGroup) -> bool:
    """Whether something of a recorded group still runs; zombies do not."""
    leader = _table().stat(group.pgid) if group.pgid > 1 and group.boot_id == boot_id() else None
    is_others = leader is not None and leader.start_time != group.start_time
    return not is_others and _has_members(group.pgid)


def end_group(group: ProcessGroup) -> None:
    """Kill what is left of a recorded group, and wait: the killed finish the call they are in.

    What hangs in the kernel is not waited for any longer than this.
    """
    if kill_group(group):
        deadline = time.monotonic() + LONGEST_DEATH
        while _has_members(group.pgid) and time.monotonic() < deadline:
            time.sleep(0.001)


def kill_tree(pgid: int, signal: int = SIGKILL) -> bool:
    """Kill a group, and all below its leader, in whichever groups those are."""
    below = descendants(pgid)
    killed = signal_group(pgid, signal)
    for pid in below:
        with suppress(OSError):  # gone, or another user's
            os.kill(pid, signal)
    return killed


def descendants(pid: int) -> list[int]:
    """The processes below one that have not ended."""
    table, below = _table(), dict[int, list[int]]()
    for each in table.pids():
        stat = table.stat(each)
        if stat is not None and stat.state not in _DEAD:
            below.setdefault(stat.parent, []).append(each)
    found: list[int] = []
    waiting = [pid]
    while waiting:
        new = below.pop(waiting.pop(), [])
        found += new
        waiting += new
    return found


def all_processes() -> frozenset[int]:
    """The processes that there are now."""
    return frozenset(_table().pids())


def marked(setting: bytes, but: frozenset[int] = frozenset()) -> list[int]:
    """The processes of this user whose environment has this very `NAME=value` in it."""
    table = _table()
    return [pid for pid in all_processes() - but if setting in table.environ(pid)]


def kill_marked(setting: bytes, *, but: frozenset[int] = frozenset(), signal: int = SIGKILL) -> int:
    """Kill every process that is marked so, and say how many those were.

    For children that were started but not yet recorded when their parent died, and for those
    that left their group. `but` are processes that need no look.
    """
    killed = 0
    for pid in marked(setting, but):
        with suppress(OSError):  # it has ended
            os.kill(pid, signal)
            killed += 1
    return killed


def is_at_work(program: str, folder: str) -> bool:
    """Whether a process of this user works in a folder, whose name begins like the program's."""
    table = _table()
    found = [work for pid in table.pids() if (work := table.work(pid)) is not None]
    places = [place for name, place in found if name.startswith(program)]
    return any(os.path.commonpath((folder, place)) == folder for place in places)


def signal_group(pgid: int, signal: int = SIGKILL) -> bool:
    """Send a signal to a group; False when there is none that we may kill."""
    try:
        os.killpg(pgid, signal)
    except (ProcessLookupError, PermissionError):  # macOS: EPERM when only zombies are left
        return False
    return True


def boot_id() -> str:
    """A value that changes with each boot, and between containers, which count pids apart."""
    own = _table().boot_id
    return f"{own}/{_plain(name)}" if (name := os.environ.get(HOST)) else own


def host_name(folder: str) -> str:
    """The name of this host for the user of a folder: another user may have other logins."""
    if name := os.environ.get(HOST):
        return _plain(name)
    machine = b""
    with suppress(OSError), open("/etc/machine-id", "rb") as file:
        machine = file.read()
    own = sha256(b"\0".join((machine, os.fsencode(folder)))).hexdigest()
    return f"{_plain(os.uname().nodename)}-{own[:4]}"


def _plain(name: str) -> str:
    """A name as one word."""
    return "".join(each if each.isalnum() or each in "._-" else "-" for each in name[:64])


def _has_members(pgid: int) -> bool:
    table = _table()
    stats = (table.stat(pid) for pid in table.pids())
    return any(s and s.pgid == s.session == pgid and s.state not in _DEAD for s in stats)
