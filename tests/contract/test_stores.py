"""The store that Hookline brings keeps to the contract, and finds fast what is asked often."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.adapters.store.runs import SQL
from hookline.adapters.store.sqlite import SqliteStore
from hookline.testing.contracts import StoreContract

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.testing import Clock


def sqlite(folder: Path, clock: Clock) -> SqliteStore:
    return SqliteStore(str(folder / "store.db"), clock=clock)


class TestSqlite(StoreContract):
    open_store = staticmethod(sqlite)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("due", 1),
        ("next_wake", 1),
        ("renew_runs", 2),
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
    store.live()._connection.set_trace_callback(asked.append)
    log = store.live().log
    log.latest("R-1", ["session_ended"])
    log.events(node_id="R-1", types=["session_iteration_ended", "session_ended"])
    store.live()._connection.set_trace_callback(None)
    for statement in asked:
        plan = store.live()._connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
        steps = [step[3] for step in plan]
        assert any("INDEX events_by_node (node_id=? AND type=?" in step for step in steps)
        assert not any(step.startswith("SCAN") or "TEMP B-TREE" in step for step in steps)
    store.close()
