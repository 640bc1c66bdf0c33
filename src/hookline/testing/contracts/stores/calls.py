"""Who delivers, and the record of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.hooks.records import FAILED, OK, SKIPPED, Action, Outcome
from hookline.testing.contracts.stores.place import StorePlace, delivery

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.ports.store import Store
    from hookline.testing.contracts.stores.place import OpenStore


def busy(owner: str, until: float) -> bool:
    return False


def dispatched(store: Store, *nodes: str, owner: str | None = None) -> None:
    with store.write({}) as tx:
        for node in nodes:
            tx.dispatches.open(tx.append("noted", node, {}).seq, node, owner)


def take(
    store: Store, owner: str, token: int, is_free: Callable[[str, float], bool] = busy
) -> int | None:
    with store.write({}) as tx:
        return tx.dispatches.claim_next(owner, token, 100.0 + token, is_free)


class CallTests(StorePlace):
    """Calls of hooks are taken, recorded and acted on once."""

    def test_dispatches_are_taken_in_order_and_one_at_a_time_for_each_node(
        self, store: OpenStore
    ) -> None:
        dispatched(store, "T-1", "T-1", "T-2", "T-1")
        assert [take(store, "a", 1), take(store, "b", 2), take(store, "c", 3)] == [1, 3, None]
        with store.write({}) as tx:
            tx.dispatches.close(1, 1)
        assert [take(store, "c", 4), take(store, "d", 5)] == [2, None]

    def test_a_dispatch_is_taken_over_only_from_a_holder_that_is_gone(
        self, store: OpenStore
    ) -> None:
        dispatched(store, "T-1", "T-2")
        assert [take(store, "a", 1), take(store, "b", 2)] == [1, 2]
        asked: list[tuple[str, float]] = []

        def a_is_gone(owner: str, until: float) -> bool:
            asked.append((owner, until))
            return owner == "a"

        assert take(store, "c", 3, a_is_gone) == 1
        assert asked == [("a", 101.0)]
        with store.write({}) as tx:
            assert [
                tx.dispatches.holds(1, 1),
                tx.dispatches.holds(1, 3),
                tx.dispatches.holds(2, 2),
            ] == [0, 1, 1]
            tx.dispatches.close(1, 1)
            assert tx.dispatches.holds(1, 3)
            tx.dispatches.extend(1, 500.0)
            tx.dispatches.close(2, 2)
        assert take(store, "d", 4, lambda owner, until: until < 400) is None

    def test_a_dispatch_for_one_process_waits_for_it(self, store: OpenStore) -> None:
        dispatched(store, "T-1", owner="me")
        assert take(store, "other", 1) is None
        assert take(store, "me", 2, lambda owner, until: owner == "me") == 1

    def test_a_call_is_recorded_from_its_attempts_to_its_answer(self, store: OpenStore) -> None:
        values, action = {"task.priority": 2}, Action("log", {"type": "seen"})
        with store.write({}) as tx:
            seq = tx.append("noted", "system", {}).seq
            tx.calls.freeze(seq, {"task": None, "n": [1]})
            tx.calls.add(delivery(seq, "b", 2, condition="a == 1"))
            tx.calls.add(delivery(seq, "a", 1, status=SKIPPED, error="untrusted"))
            row = tx.calls.deliveries(seq)[1]
            tx.calls.start(row.id, "then")
            tx.calls.set_child(row.id, "child")
            tx.calls.start(row.id, "later")
            tx.calls.set_child(row.id, "child-2")
            assert tx.calls.deliveries(seq)[1].child == "child-2"
            outcome = Outcome("b", OK, (action,), None, 1500, 0, "out", "err", "blob", values)
            tx.calls.finish(row, outcome, [action])
        with store.read() as view:
            assert view.calls.payload(seq) == {"task": None, "n": [1]}
            skipped, done = view.calls.deliveries(seq)
        assert (skipped.hook, skipped.status, skipped.error) == ("a", SKIPPED, "untrusted")
        assert (done.status, done.attempts, done.started_at, done.child) == (OK, 2, "later", None)
        assert done.answer == [{"type": "log", "payload": {"type": "seen"}}]
        assert (done.duration_us, done.exit_code, done.blob) == (1500, 0, "blob")
        assert (done.stdout, done.stderr) == ("out", "err")
        assert (done.condition, done.condition_values) == ("a == 1", values)
        assert skipped.id != done.id

    def test_each_action_takes_effect_once(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            seq = tx.append("noted", "system", {}).seq
            tx.calls.add(delivery(seq, "late", 2), actions=[Action("log", {"n": 3})])
            tx.calls.add(
                delivery(seq, "early", 1), actions=[Action("log", {"n": n}) for n in (1, 2)]
            )
            waiting = tx.calls.open_actions(seq)
        assert [(each.hook, each.position, each.action.payload["n"]) for each in waiting] == [
            *(("early", 0, 1), ("early", 1, 2), ("late", 0, 3))
        ]
        with store.write({}) as tx:
            assert tx.calls.finish_action(seq, "early", 0)
            assert tx.calls.finish_action(seq, "late", 0, error=FAILED)
        with store.write({}) as tx:
            assert not tx.calls.finish_action(seq, "early", 0)
            assert not tx.calls.finish_action(seq, "late", 0)
            assert not tx.calls.finish_action(seq, "nobody", 0)
            assert [each.position for each in tx.calls.open_actions(seq)] == [1]
