"""The floors: what the same work costs with nothing around it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence


async def plain_loop(handlers: Sequence[Callable[..., Awaitable[Any]]], event: Any) -> list[Any]:
    """Await handlers one after the other and keep what they say."""
    return [await handler(event, None) for handler in handlers]


def run_and_wait(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> bytes:
    """Start a program, capture what it prints, wait for its end."""
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, _ = process.communicate()
    return out


class RawStore:
    """Hookline's own tables and durability, written with nothing but SQL."""

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, "raw.db")
        SqliteStore(path).close()
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._run = self._connection.execute
        self._run("PRAGMA synchronous = FULL")
        self._seq = 0
        self._task = 0

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def add(self) -> None:
        """The rows of `task add` without labels: two events, a task, a payload, a call."""
        self._run("BEGIN IMMEDIATE")
        self._task += 1
        node = f"T-{self._task}"
        first = self._event("task_created", node, _CREATED)
        self._run(_INSERT_TASK, (self._task, self._task))
        self._event("task_ready", node, "{}")
        self._run("UPDATE tasks SET state = 'ready' WHERE number = ?", (self._task,))
        self._run("INSERT INTO payloads VALUES (?, ?)", (first, _PAYLOAD))
        self._run(_INSERT_CALL, (first, _NOW))
        self._commit()

    def update(self) -> None:
        """The rows of `task update`: an event and a column."""
        self._run("BEGIN IMMEDIATE")
        self._event("task_updated", "T-1", '{"changes":{"priority":1}}')
        self._run("UPDATE tasks SET priority = ? WHERE number = 1", (self._seq % 9,))
        self._commit()

    def _event(self, kind: str, node: str, data: str) -> int:
        self._seq += 1
        self._run(_INSERT_EVENT, (self._seq, _NOW, kind, node, data, _METADATA))
        return self._seq

    def _commit(self) -> None:
        self._run("UPDATE counters SET seq = ?, task = ?", (self._seq, self._task))
        self._run("COMMIT")


def raw_events(path: str, limit: int) -> Iterator[tuple[Any, ...]]:
    """Rows of the log with their two JSON columns decoded."""
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    connection = sqlite3.connect(path)
    try:
        cursor = connection.execute("SELECT * FROM events ORDER BY seq LIMIT ?", (limit,))
        while rows := cursor.fetchmany(1000):
            for seq, timestamp, kind, node, data, metadata in rows:
                yield seq, timestamp, kind, node, decode(data), decode(metadata)
    finally:
        connection.close()


_NOW = "2026-01-17T10:00:00.000Z"
_METADATA = '{"triggeredBy":"somebody"}'
_CREATED = '{"goal":"measure how fast this is","deliverables":[],"labels":[],"priority":2}'
_PAYLOAD = (
    '{"task":{"id":"T-1000","goal":"measure how fast this is","state":"ready","labels":[],'
    '"priority":2,"type":null,"desiredDeliverables":[],"parentTaskId":null,"dependsOn":[],'
    '"createdAt":"2026-01-17T10:00:00.000Z","startedAt":null,"completedAt":null,"result":null,'
    '"artifacts":[],"blockReason":null,"requiredKnowledge":[],"notes":[],"claim":null,'
    '"prUrl":null,"commitsCount":null,"turnsUsed":null}}'
)
_INSERT_EVENT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)"
_INSERT_TASK = (
    "INSERT INTO tasks (number, rank, state, priority, goal, created_at)"
    f" VALUES (?, ?, 'created', 2, 'measure how fast this is', '{_NOW}')"
)
_INSERT_CALL = (
    "INSERT INTO deliveries (event_seq, hook, point, kind, origin, status, position, attempts,"
    " started_at, duration_us) VALUES (?, 'track-agent-task-lifecycle', 'task_created',"
    " 'built-in', 'built-in', 'ok', 0, 1, ?, 1)"
)
