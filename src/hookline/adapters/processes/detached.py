"""Starting a process that outlives its terminal, and watching over one from such a process."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

from hookline.adapters.processes.identity import process_identity
from hookline.files import open_to_append

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.ports.processes import ProcessGroup


def start_detached(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], log: str
) -> ProcessGroup | None:
    """Start a program that calls `leave_parent`; what it prints is added to one of our files.

    It runs in a new process session. None if it ended at once.
    """
    output = open_to_append(log)
    try:
        started = subprocess.run(
            tuple(argv),
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
            start_new_session=True,
            check=False,
        )
    finally:
        os.close(output)
    return process_identity(int(started.stdout)) if started.stdout.isdigit() else None


def leave_parent() -> None:
    """Continue in a child, whose number the waiting parent says; it ends as nobody's child."""
    if child := os.fork():
        os.write(1, str(child).encode())
        os._exit(0)
    os.dup2(2, 1)


def run_watched(argv: Sequence[str], *, cwd: str) -> int:
    """Run a program to its end, and pass on what asks us to end; its exit code, as `wait` has it.

    A shell that puts us in the background has us ignore ^C, which is how the program is told to
    stop after its turn.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    process = subprocess.Popen(tuple(argv), cwd=cwd, start_new_session=True)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda told, frame: process.send_signal(told))
    return process.wait()
