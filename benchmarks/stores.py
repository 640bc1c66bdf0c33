"""Projects to measure in, and large stores made by bulk SQL: the log first, and what it says.

Of ten tasks six are completed in a chain, two are ready, and each of these holds one back.
"""

from __future__ import annotations

import os
import sqlite3
from typing import NamedTuple

from hookline.app import App

READY_ENDINGS = (7, 9)
WALKS = (10, 100, 1000)
_NOW = "2026-01-17T10:00:00.000Z"
_DEPENDS = "n % 10 IN (2, 3, 4, 5, 6, 8, 0)"
_WITH = "WITH RECURSIVE t(n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM t WHERE n < ?2) "
_INTO_EVENTS = "INSERT INTO events (timestamp, type, node_id, data, metadata) "
_EVENT = f"SELECT '{_NOW}', '%s', 'T-' || n, %s, '{{\"triggeredBy\":\"somebody\"}}' FROM t"

_LOG = (
    _EVENT
    % (
        "task_created",
        '\'{"goal":"task \' || n || \'","deliverables":[],"labels":[],"priority":\''
        " || (n % 4) || '}'",
    ),
    _EVENT
    % (
        "dependency_added",
        '\'{"fromId":"T-\' || n || \'","toId":"T-\' || (n - 1) || \'","edgeType":"depends_on"}\'',
    )
    + f" WHERE {_DEPENDS}",
    _EVENT % ("task_ready", "'{}'") + " WHERE n % 10 NOT IN (8, 0)",
    _EVENT % ("task_completed", '\'{"result":"done","artifacts":[]}\'')
    + " WHERE n % 10 BETWEEN 1 AND 6",
)
_TASKS = (
    "INSERT INTO tasks (number, rank, state, priority, goal, created_at, completed_at, result,"
    " unmet) SELECT n, n, CASE WHEN n % 10 BETWEEN 1 AND 6 THEN 'completed'"
    " WHEN n % 10 IN (7, 9) THEN 'ready' ELSE 'created' END, n % 4, 'task ' || n,"
    f" '{_NOW}', iif(n % 10 BETWEEN 1 AND 6, '{_NOW}', NULL),"
    " iif(n % 10 BETWEEN 1 AND 6, 'done', NULL), n % 10 IN (8, 0) FROM t"
)
_EDGES = f"INSERT INTO edges SELECT n, 'depends_on', n - 1 FROM t WHERE {_DEPENDS}"
_CHAIN_TASK = (
    "INSERT INTO tasks (number, rank, state, priority, goal, created_at, unmet)"
    f" VALUES (?1, ?1, ?2, 9, 'in a chain', '{_NOW}', ?3)"
)


class Walk(NamedTuple):
    """A dependency that can be added only by looking at `length` tasks."""

    length: int
    source: str
    target: str


class Filled(NamedTuple):
    """A project whose store has many tasks."""

    app: App
    size: int
    walks: tuple[Walk, ...]

    @property
    def ready_numbers(self) -> range:
        """Numbers of ready tasks that each hold back the next one."""
        return range(READY_ENDINGS[0], self.size, 10)

    @property
    def other_ready_numbers(self) -> range:
        """More of them, for another benchmark."""
        return range(READY_ENDINGS[1], self.size, 10)


def new_project(folder: str) -> App:
    """A project of its own, with the user's folder beside it."""
    root = os.path.join(folder, "project")
    os.makedirs(os.path.join(root, ".hookline"))
    return App.open(root, environ=environment(folder))


def environment(folder: str) -> dict[str, str]:
    """The environment of processes under measurement: this one's, without what would distort."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("HOOKLINE_", "PYTHON"))}
    return {**kept, "HOOKLINE_HOME": os.path.join(folder, "home")}


def filled(folder: str, size: int) -> Filled:
    """A project with so many tasks, and some chains at the end of them."""
    app = new_project(os.path.join(folder, f"of-{size}"))
    path = app.project.database
    app.close()
    raw = sqlite3.connect(path, isolation_level=None)
    try:
        walks = _fill(raw, size)
    finally:
        raw.close()
    root = os.path.dirname(os.path.dirname(path))
    reopened = App.open(root, environ=environment(os.path.join(folder, f"of-{size}")))
    return Filled(reopened, size, walks)


def _fill(raw: sqlite3.Connection, size: int) -> tuple[Walk, ...]:
    # Nothing else knows this file yet, so neither a journal nor order on the disk is needed.
    raw.execute("PRAGMA journal_mode = OFF")
    raw.execute("PRAGMA synchronous = OFF")
    indexes = raw.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    ).fetchall()
    raw.execute("BEGIN")
    for name, _ in indexes:
        raw.execute(f"DROP INDEX {name}")
    for select in _LOG:
        raw.execute(_INTO_EVENTS + _WITH + select, (1, size))
    raw.execute(_split(_TASKS), (1, size))
    raw.execute(_split(_EDGES), (1, size))
    walks = _chains(raw, size)
    raw.execute(
        "UPDATE counters SET seq = (SELECT max(seq) FROM events),"
        " task = (SELECT max(number) FROM tasks)"
    )
    for _, sql in indexes:
        raw.execute(sql)
    raw.execute("COMMIT")
    return walks


def _split(statement: str) -> str:
    """INSERT ... SELECT with the numbers' table where SQLite wants it: before the SELECT."""
    head, _, tail = statement.partition(" SELECT ")
    return f"{head} {_WITH}SELECT {tail}"


def _chains(raw: sqlite3.Connection, size: int) -> tuple[Walk, ...]:
    walks = []
    number = size
    for length in WALKS:
        source = number + 1
        last = source + length
        for each in range(source, last + 1):
            _chain_task(raw, each, waits=each > source + 1)
        walks.append(Walk(length, f"T-{source}", f"T-{last}"))
        number = last
    return tuple(walks)


def _chain_task(raw: sqlite3.Connection, number: int, *, waits: bool) -> None:
    metadata = '{"triggeredBy":"somebody"}'
    node, before = f"T-{number}", f"T-{number - 1}"
    created = '{"goal":"in a chain","deliverables":[],"labels":[],"priority":9}'
    insert = _INTO_EVENTS + "VALUES (?, ?, ?, ?, ?)"
    raw.execute(insert, (_NOW, "task_created", node, created, metadata))
    raw.execute(_CHAIN_TASK, (number, "created" if waits else "ready", int(waits)))
    if waits:
        edge = f'{{"fromId":"{node}","toId":"{before}","edgeType":"depends_on"}}'
        raw.execute(insert, (_NOW, "dependency_added", node, edge, metadata))
        raw.execute("INSERT INTO edges VALUES (?, 'depends_on', ?)", (number, number - 1))
    else:
        raw.execute(insert, (_NOW, "task_ready", node, "{}", metadata))
