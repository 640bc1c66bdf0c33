"""Adding up what turns cost."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from hookline.adapters.store.sqlite import SqliteStore
from hookline.domain.sessions.turns import Purpose, TurnCost, Usage
from hookline.sessions.spending import Spending, cost_of, record_turn, turns_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookline.ports.store import Transaction

TURN = TurnCost(turn="t1", role="implementer", agent="ada")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    found = SqliteStore(str(tmp_path / "store.db"))
    yield found
    found.close()


@contextmanager
def _writing(store: SqliteStore) -> Iterator[Transaction]:
    with store.write({}) as tx:
        yield tx


def test_the_last_record_of_a_turn_counts_however_often_it_is_written(store: SqliteStore) -> None:
    purpose = Purpose(task_id="T-1", role="implementer")
    spending = Spending({"T-1"}, 0)
    for tokens in (10, 30, 30):
        used = Usage(input_tokens=tokens, output_tokens=1, usd=tokens / 100)
        with _writing(store) as tx:
            record_turn(tx, purpose, TURN.using(used, 1.0))
        with store.read() as view:  # read as it grows
            assert spending.usd(view) == tokens / 100
    with _writing(store) as tx:
        record_turn(tx, Purpose(task_id="T-2"), TURN.using(Usage(usd=9.0), 1.0))
    with store.read() as view:
        cost = cost_of(turns_of(view, "T-1"))
    assert (cost.turns, cost.tokens, cost.usd, cost.seconds) == (1, 31, 0.3, 1.0)


@pytest.mark.parametrize(
    "data", [{}, {"turn": 1, "role": "x", "agent": "y"}, {"turn": "t", "usd": "much"}]
)
def test_a_record_that_nobody_can_have_written_counts_nothing(
    store: SqliteStore, data: dict[str, Any]
) -> None:
    with _writing(store) as tx:
        tx.append("agent_turn", "T-1", data)
    with store.read() as view:
        assert turns_of(view, "T-1") == []
        assert Spending({"T-1"}, 0).turns(view) == []


@pytest.mark.parametrize("usd", [-1.0, float("nan"), float("inf")])
def test_what_no_turn_can_cost_counts_as_unknown(usd: float) -> None:
    cost = TURN.using(Usage(input_tokens=-5, output_tokens=2, usd=usd), 0.5)
    assert (cost.input_tokens, cost.output_tokens, cost.usd) == (0, 2, None)
