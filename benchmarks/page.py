"""The page: what a long session, a large graph and a year of hooks take, and what viewers cost."""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.history import Made, long_session
from benchmarks.measure import Plan, Result, by_turns
from hookline.app import App
from hookline.tasks import verbs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.ports.store import Transaction

ITERATIONS, TASKS = 500, 2_000
VIEWERS, RATE = 50, 10
# What a person waits for, and how much of a core all viewers may take.
AIM, SHARE = 1.0, 0.10
LOOKS = (
    ("one session", "/api/sessions/R-1"),
    ("one of its iterations", "/api/sessions/R-1/iterations/250"),
    ("sessions", "/api/sessions"),
    ("attention", "/api/attention"),
    ("a task's story", "/api/tasks/T-1"),
    ("hooks", "/api/hooks"),
    ("the newest events", "/api/events"),
    ("search without a hit", "/api/search?q=nowhere+at+all"),
    ("graph of 2,000 tasks", "/api/graph"),
    ("500 of 2,000 tasks", "/api/tasks?limit=500"),
)


def measure(plan: Plan) -> Iterator[Result]:
    """Each page as a browser gets it, then what it costs that many watch."""
    made = long_session(plan.folder, ITERATIONS)
    add_tasks(made)
    with served(made) as (process, base, token):
        for name, path in LOOKS:
            look = partial(_get, f"{base}{path}", token)
            (took,) = by_turns((look,), plan.rounds(10, 3))
            yield Result(f"page: {name}", took, None, "", AIM, f"{len(look()) >> 10} KiB")
        yield _viewers(plan, made, process.pid, base, token)


def add_tasks(made: Made) -> None:
    """A graph: every task depends on up to two that came before it."""

    def add(tx: Transaction) -> None:
        names: list[str] = []
        for number in range(TASKS):
            near = {names[-each] for each in (1 + number % 7, 3 + number % 31) if each <= number}
            own = sorted(near) if number % 3 else []
            names.append(verbs.add(tx, f"task {number}", depends_on=own).id)

    with closing(App.open(made.root, environ=made.env)) as app:
        app.change(add)


@contextmanager
def served(made: Made) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A server for a project: its process, its address and the token of a person."""
    words = (sys.executable, "-m", "hookline", "serve", "--port", "0", "--json")
    process = subprocess.Popen(
        words, cwd=made.root, env=made.env, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        base, token = json.loads(process.stdout.readline())["url"].split("/#token=")
        yield process, base, token
    finally:
        process.terminate()
        process.wait()


def _get(address: str, token: str) -> bytes:
    wanted = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(wanted, timeout=60) as answer:
        found: bytes = answer.read()
        return found


def _viewers(plan: Plan, made: Made, pid: int, base: str, token: str) -> Result:
    """The share of a core that the server takes while many watch a busy project."""
    port = int(base.rpartition(":")[2])
    seconds = plan.rounds(20, 5)
    watching = selectors.DefaultSelector()
    viewers = [_watch(port, token) for _ in range(VIEWERS)]
    for each in viewers:
        watching.register(each, selectors.EVENT_READ)
    received = 0
    with closing(App.open(made.root, environ=made.env)) as app:
        started, before = time.monotonic(), _cpu(pid)
        for number in range(seconds * RATE):
            app.emit("tick", {"number": number})
            until = started + (number + 1) / RATE
            while (left := until - time.monotonic()) > 0:
                for key, _ in watching.select(left):
                    sock: Any = key.fileobj
                    received += sock.recv(1 << 16).count(b'"kind":"event"')
        took, used = time.monotonic() - started, _cpu(pid) - before
    for each in viewers:
        each.close()
    name = f"page: {VIEWERS} viewers, {RATE} events/s: processor time per second"
    share = received / (seconds * RATE * VIEWERS)
    return Result(name, used / took, None, "", SHARE, f"{share:.0%} of the lines came meanwhile")


def _watch(port: int, token: str) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    head = f"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    connection.sendall(f"{head}Authorization: Bearer {token}\r\n\r\n".encode())
    connection.recv(1 << 16)
    return connection


def _cpu(pid: int) -> float:
    """The seconds of processor time that a process has used."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
