"""The store that Hookline brings keeps to the contract, and finds fast what is asked often."""

from __future__ import annotations

import os
import sqlite3
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.store.postgres.store import PostgresStore
from hookline.adapters.store.runs import SQL
from hookline.adapters.store.sqlite import SqliteStore
from hookline.testing.contracts import StoreContract
from hookline.testing.contracts.stores.place import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hookline.testing import Clock
    from tests.postgres_server import PostgresServer


def sqlite(folder: Path, clock: Clock) -> SqliteStore:
    return SqliteStore(str(folder / "store.db"), clock=clock)


def on_postgres(server: PostgresServer) -> Callable[[Path, Clock], PostgresStore]:
    """A project for each folder."""

    def opener(folder: Path, clock: Clock) -> PostgresStore:
        name = sha256(os.fsencode(folder)).hexdigest()
        return PostgresStore(server.url(name), clock=clock)

    return opener


class TestSqlite(StoreContract):
    open_store = staticmethod(sqlite)


class TestPostgres(StoreContract):
    @pytest.fixture
    def place(self, postgres: PostgresServer, tmp_path: Path) -> Iterator[Place]:
        made = Place(on_postgres(postgres), tmp_path)
        yield made
        made.close()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("due", 1),
        ("next_wake", 1),
        ("renew_runs", 3),
        ("pending_of", 2),
        ("resolved_since", 3),
        ("forget_attempts", 1),
        ("waiting_for_task", 1),
        ("open_signals", 1),
    ],
)
def test_what_is_asked_often_is_found_without_reading_the_rest(
    tmp_path: Path, name: str, values: int
) -> None:
    store = SqliteStore(str(tmp_path / "store.db"))
    plan = store.live()._connection.execute(f"EXPLAIN QUERY PLAN {SQL[name]}", (1,) * values)
    found = plan.fetchall()[0][3]
    store.close()
    assert found.startswith("SEARCH")
    assert "runs_by_status" not in found
    assert "PRIMARY KEY" not in found


def test_what_a_node_was_told_is_found_by_its_type(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "store.db"))
    asked: list[str] = []
    connection = store.live()._connection
    assert isinstance(connection, sqlite3.Connection)
    connection.set_trace_callback(asked.append)
    log = store.live().log
    log.latest("R-1", ["session_ended"])
    log.events(node_id="R-1", types=["session_iteration_ended", "session_ended"])
    connection.set_trace_callback(None)
    for statement in asked:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
        steps = [step[3] for step in plan]
        assert any("INDEX events_by_node (node_id=? AND type=?" in step for step in steps)
        assert not any(step.startswith("SCAN") or "TEMP B-TREE" in step for step in steps)
    store.close()
