"""Runs of flows: effects, leases, signals, and what hooks remember."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookline.domain.runs.model import (
    ERROR,
    OK,
    EffectResolved,
    Request,
    Resolution,
    UnknownEffect,
    UnknownRun,
)
from hookline.flows import journal
from hookline.flows.replay import digest
from hookline.testing.contracts.stores.place import StorePlace

if TYPE_CHECKING:
    from hookline.domain.runs.model import Run
    from hookline.ports.store import Transaction
    from hookline.testing.contracts.stores.place import OpenStore

NEVER: Any = lambda owner, until: False  # noqa: E731
ALWAYS: Any = lambda owner, until: True  # noqa: E731


def request(effect_id: str, kind: str = "node") -> Request:
    args = {"command": "true"}
    return Request(effect_id, effect_id, kind, args, {}, {}, digest(kind, args))


def begin(tx: Transaction, *effects: str) -> Run:
    run_id = journal.start(tx, "flow", {"a": 1}, {}, code_digest="d")
    run = tx.runs.find(run_id)
    journal.request(tx, run, [request(effect_id) for effect_id in effects])
    return run


def park(tx: Transaction, run: Run, until: float | None) -> None:
    token = tx.next_token()
    tx.runs.leases.take(run.run_id, "someone", token, 5.0)
    journal.write(tx, "run_parked", run.run_id, {"reason": "waits"})
    tx.runs.leases.let_go(run.run_id, token, until)


def resolve(tx: Transaction, run: Run, effect_id: str, value: Any = None) -> None:
    journal.resolve(tx, run, effect_id, Resolution(OK, value), None)


def due(tx: Transaction, now: float = 10.0) -> list[str]:
    return tx.runs.leases.due(now, NEVER)


class RunTests(StorePlace):
    """Runs are held by one process, and are due when something happens to them."""

    def test_what_is_unknown_is_named(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            run = begin(tx)
            with pytest.raises(UnknownRun, match="R-7"):
                tx.runs.find("R-7")
            with pytest.raises(UnknownRun, match="R-7"):
                tx.runs.leases.holder("R-7")
            with pytest.raises(UnknownEffect, match="'a'"):
                tx.runs.effect(run, "a")

    def test_only_the_first_result_counts(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            run = begin(tx, "a")
            resolve(tx, run, "a", 1)
            with pytest.raises(EffectResolved):
                resolve(tx, run, "a", 2)
            assert tx.runs.effect(run, "a").value == 1

    def test_results_in_the_order_in_which_they_came(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            run = begin(tx, "a", "b", "c")
            resolve(tx, run, "c", 3)
            journal.resolve(tx, run, "a", Resolution(ERROR, error="no"), None)
            found = tx.runs.resolved_since(run, 0)
            assert [(row[0], row[1], row[2], row[3]) for row in found] == [
                ("c", OK, 3, None),
                ("a", ERROR, None, "no"),
            ]
            assert tx.runs.resolved_since(run, found[0][4]) == found[1:]
            assert [effect.effect_id for effect in tx.runs.pending(run)] == ["b"]

    def test_a_run_is_due_when_something_happens_to_it(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            run = begin(tx, "a", "b")
            assert due(tx) == [run.run_id]
            park(tx, run, None)
            assert due(tx) == []
            resolve(tx, run, "a")
            assert due(tx) == [run.run_id]
            park(tx, run, None)
            assert tx.runs.attempts.choose(run, "b")
            assert due(tx) == [run.run_id]
            park(tx, run, None)
            journal.write(tx, "run_signalled", run.run_id, {"name": "go", "value": None})
            assert due(tx) == [run.run_id]

    def test_a_run_is_due_at_its_moment(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            run = begin(tx, "a")
            park(tx, run, 20.0)
            assert due(tx, 19.9) == []
            assert tx.runs.leases.next_wake(10.0) == 20.0
            assert due(tx, 20.0) == [run.run_id]
            assert tx.runs.leases.next_wake(20.0) is None

    @pytest.mark.parametrize(
        "ending", ["run_completed", "run_failed", "run_cancelled", "run_paused"]
    )
    def test_what_is_over_or_paused_is_never_due(self, store: OpenStore, ending: str) -> None:
        with store.write({}) as tx:
            run = begin(tx, "a")
            journal.write(tx, ending, run.run_id, {"reason": "so"})
            journal.write(tx, "run_signalled", run.run_id, {"name": "go", "value": None})
            assert due(tx) == []
            assert tx.runs.leases.next_wake(0.0) is None

    def test_a_held_run_is_due_for_who_may_take_it(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            run = begin(tx)
            tx.runs.leases.take(run.run_id, "one", 1, 5.0)
            assert tx.runs.leases.due(1.0, NEVER) == []
            assert tx.runs.leases.due(1.0, ALWAYS) == [run.run_id]

    def test_only_the_holder_renews_and_lets_go(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            run = begin(tx)
            tx.runs.leases.take(run.run_id, "one", 1, 5.0)
            tx.runs.leases.take(run.run_id, "two", 2, 6.0)
            tx.runs.leases.renew("one", 99.0)
            tx.runs.leases.let_go(run.run_id, 1, None)
            assert tx.runs.leases.holder(run.run_id) == ("two", 2, 6.0)
            tx.runs.leases.renew("two", 7.0)
            assert tx.runs.leases.holder(run.run_id) == ("two", 2, 7.0)
            tx.runs.leases.renew("two", 9.0, not_over=7.5)
            assert tx.runs.leases.holder(run.run_id) == ("two", 2, 7.0)
            tx.runs.leases.renew("two", 9.0, not_over=7.0)
            assert tx.runs.leases.holder(run.run_id) == ("two", 2, 9.0)
            tx.runs.leases.let_go(run.run_id, 2, 0.0)
            assert tx.runs.leases.holder(run.run_id)[0] is None

    def test_an_attempt_that_was_cut_short_does_not_count(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            run = begin(tx, "cut", "failed")
            journal.request(tx, run, [request("turn", "agent")])
            for effect_id in ("cut", "failed", "turn"):
                tx.runs.attempts.begin(run, effect_id)
            tx.runs.attempts.postpone(run, "failed", 3.0)
            tx.runs.leases.take(run.run_id, "two", 2, 6.0)
            attempts = {e.effect_id: e.attempts for e in tx.runs.pending(run)}
            assert attempts == {"cut": 0, "failed": 1, "turn": 1}

    def test_a_chapter_begins_with_nothing(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            run = begin(tx, "a")
            resolve(tx, run, "a")
            event = journal.write(
                tx, "run_chapter", run.run_id, {"chapter": 2, "state": {"n": 1}, "codeDigest": "e"}
            )
            again = tx.runs.find(run.run_id)
            assert (again.chapter, again.state, again.code_digest) == (2, {"n": 1}, "e")
            assert again.pins == {"seq": event.seq}
            assert tx.runs.effects(again) == []
            journal.request(tx, again, [request("a")])
            assert [effect.status for effect in tx.runs.effects(again)] == ["pending"]
            assert [effect.status for effect in tx.runs.effects(run)] == [OK]

    def test_signals_are_taken_once_in_order(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            run = begin(tx)
            for value in (1, 2):
                journal.write(tx, "run_signalled", run.run_id, {"name": "go", "value": value})
            first, second = tx.runs.signals(run)
            assert (first[1:], second[1:]) == (("go", 1), ("go", 2))
            tx.runs.consume_signal(first[0])
            assert tx.runs.signals(run) == [second]

    def test_what_hooks_remember(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            run = begin(tx)
            assert tx.runs.value(run.run_id, "count") is None
            tx.runs.set_value(run.run_id, "count", 1)
            tx.runs.set_value(run.run_id, "count", {"n": 2})
            assert tx.runs.value(run.run_id, "count") == {"n": 2}
