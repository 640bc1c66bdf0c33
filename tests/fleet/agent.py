"""An agent that takes its time, and gates that do: each says in a trace that it runs, and where.

`agent.py TRACE turn SECONDS TURNS` works on a task in the current folder, one line per turn.
`agent.py TRACE gate COMMAND...` runs a command. Either has a child in a session of its own; that of
a turn goes on until somebody ends it.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

TICK = 0.1


class Trace:
    """Lines in the file that all machines write to; whoever was killed says nothing more."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._host, self._task = socket.gethostname(), os.environ["HOOKLINE_TASK_ID"]

    def say(self, kind: str, what: str = "-") -> None:
        """One line, with the time of the clock that all share."""
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        line = f"{now:.3f} {kind} {self._host} {os.getpid()} {self._task} {what}\n"
        os.write(self._file, line.encode())

    def go_on(self, until: float = float("inf")) -> None:
        """Say so again and again."""
        while time.monotonic() < until:
            self.say("tick")
            time.sleep(TICK)


def start_child(trace: Trace) -> int:
    """A process that outlives this one; its number."""
    child = os.fork()
    if child == 0:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nowhere, number)
        trace.say("begin", "child")
        trace.go_on()
    return child


def turn(trace: Trace, task: str, seconds: float, turns: int) -> None:
    """One of so many turns; after the last one the work is done."""
    part = Path("parts", task)
    done = part.read_text().splitlines() if part.exists() else []
    trace.say("begin", f"turn-{len(done) + 1}")
    sys.stdin.read()
    start_child(trace)
    trace.go_on(time.monotonic() + seconds)
    done.append(f"turn {len(done) + 1} on {socket.gethostname()}")
    if len(done) == turns:
        with open("log", "a", encoding="utf-8") as log:
            log.write(f"{task}\n")
    part.write_text("".join(f"{line}\n" for line in done))
    trace.say("end")
    print(f"turn {len(done)} of {turns}")
    if len(done) >= turns:
        print("<promise>COMPLETE</promise>")


def gate(trace: Trace, command: list[str]) -> int:
    """The exit code of a command."""
    trace.say("begin", "gate")
    child = start_child(trace)
    with subprocess.Popen(command) as running:
        while running.poll() is None:
            trace.say("tick")
            time.sleep(TICK)
    os.kill(child, signal.SIGKILL)
    trace.say("end")
    return running.returncode


if __name__ == "__main__":
    TRACE = Trace(sys.argv[1])
    if sys.argv[2] == "turn":
        turn(TRACE, os.environ["HOOKLINE_TASK_ID"], float(sys.argv[3]), int(sys.argv[4]))
    else:
        sys.exit(gate(TRACE, sys.argv[3:]))
