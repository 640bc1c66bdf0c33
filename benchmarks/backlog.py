"""A command beside a million calls that wait: it sees to its own and leaves the rest."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from contextlib import closing
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.commands import ONE_HOOK, install, prepare
from benchmarks.measure import Plan, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 3.0
NEW_EVENTS = """
INSERT INTO events (seq, timestamp, type, node_id, data, metadata)
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
SELECT ?1 + i, '2026-01-01T00:00:00.000Z', 'task_created', ?3 || i % ?4, '{}', '{}' FROM n
"""
NEW_CALLS = (
    "INSERT INTO payloads (event_seq, payload) SELECT seq, '{}' FROM events WHERE seq > ?",
    "INSERT INTO dispatches (event_seq, node_id) SELECT seq, node_id FROM events WHERE seq > ?",
    "INSERT INTO deliveries (event_seq, hook, point, kind, origin, status, position)"
    " SELECT seq, 'one', 'task_created', 'command', '', 'pending', 0 FROM events WHERE seq > ?",
)


def measure(plan: Plan) -> Iterator[Result]:
    """`task add`, with what waits spread over many tasks, and all at one node."""
    installed = install(os.path.join(plan.folder, "installed"))
    calls = plan.rounds(1_000_000, 100_000)
    for name, nodes in (("many nodes", calls), ("one node", 1)):
        root = os.path.join(plan.folder, name.replace(" ", "-"))
        prepare(installed, root, ONE_HOOK)
        pile_up(os.path.join(root, ".hookline", "hookline.db"), calls, nodes)
        start = perf_counter()
        done = subprocess.run(
            (os.path.join(installed.bin, "hookline"), "task", "add", "mine"),
            cwd=root,
            env=installed.env,
            check=True,
            capture_output=True,
            text=True,
        )
        took = perf_counter() - start
        told = done.stderr.strip().splitlines()[-1]
        assert "calls wait; `hookline work --flows --once` delivers them" in told, told
        title = f"task add, {calls:,} calls wait at {name}"
        yield Result(title, took, None, "", LONGEST, told)


def pile_up(database: str, calls: int, nodes: int) -> None:
    """Write calls that nobody has made yet."""
    with closing(sqlite3.connect(database)) as store, store:
        (last,) = store.execute("SELECT seq FROM counters").fetchone()
        store.execute(NEW_EVENTS, (last, calls, "X-", nodes))
        for sql in NEW_CALLS:
            store.execute(sql, (last,))
        store.execute("UPDATE counters SET seq = ?", (last + calls,))
