"""The first process of a machine: it is told its name, its boot id, and what it cannot see.

It collects what its processes leave behind, as the first process of every machine does.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

BOOT_ID = "/proc/sys/kernel/random/boot_id"


def main(name: str, boot_id: str, *hidden: str) -> None:
    """Set the machine up, say so, and go on until it is killed."""
    socket.sethostname(name)
    subprocess.run(("mount", "--bind", boot_id, BOOT_ID), check=True)
    for folder in hidden:
        subprocess.run(("mount", "-t", "tmpfs", "none", folder), check=True)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    print("up", flush=True)
    while signal.sigwait({signal.SIGCHLD}):
        while _collect():
            pass


def _collect() -> bool:
    """Whether a process has ended and is now gone."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


if __name__ == "__main__":
    main(*sys.argv[1:])
