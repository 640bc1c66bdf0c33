"""Which processes are behind a connection from this machine, as far as the system tells."""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address

from hookline.adapters.processes.identity import all_processes, has_proc

_TABLES = {4: "/proc/net/tcp", 6: "/proc/net/tcp6"}


def peers(client: tuple[str, int], server: tuple[str, int]) -> list[int] | None:
    """The processes that hold the other end of a connection.

    None if nobody does any more, so that an answer would reach no one. It is an empty list where
    the system does not tell: another user's process, or no /proc.
    """
    if not has_proc():
        return []
    inode = _inode(client, server)
    if not inode:
        return None
    wanted = f"socket:[{inode}]"
    return [pid for pid in all_processes() if _holds(pid, wanted)]


def _inode(client: tuple[str, int], server: tuple[str, int]) -> str | None:
    """The number of the client's own socket, whose local end is its address; 0 if it is closed."""
    for version in (4, 6):
        ends = (_written(client, version), _written(server, version))
        if None in ends:
            continue
        with suppress(OSError), open(_TABLES[version], encoding="ascii") as table:
            for line in table:
                fields = line.split()
                if tuple(fields[1:3]) == ends:
                    return fields[9] if fields[9] != "0" else None
    return None


def _written(end: tuple[str, int], version: int) -> str | None:
    """An address and a port as the kernel's table has them: words in the order of this machine."""
    host, port = ip_address(end[0].partition("%")[0]), end[1]
    if version == 4:
        mapped = host.ipv4_mapped if isinstance(host, IPv6Address) else host
        if mapped is None:
            return None
        packed = mapped.packed
    else:
        packed = (host if isinstance(host, IPv6Address) else _mapped(host)).packed
    words = struct.unpack(f"!{len(packed) // 4}I", packed)
    swapped = "".join(f"{socket.htonl(word):08X}" for word in words)
    return f"{swapped}:{port:04X}"


def _mapped(host: IPv4Address) -> IPv6Address:
    return IPv6Address(f"::ffff:{host}")


def _holds(pid: int, wanted: str) -> bool:
    place = f"/proc/{pid}/fd"
    with suppress(OSError):  # it has ended, or is another user's
        for name in os.listdir(place):
            with suppress(OSError):
                if os.readlink(f"{place}/{name}") == wanted:
                    return True
    return False
