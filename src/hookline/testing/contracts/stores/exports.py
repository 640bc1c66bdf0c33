"""How far telemetry was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.hooks.records import CUT, OK, Outcome
from hookline.testing.contracts.stores.place import StorePlace, add, delivery

if TYPE_CHECKING:
    from hookline.domain.telemetry import ExportPosition
    from hookline.ports.store import Store
    from hookline.testing.contracts.stores.place import OpenStore


def calls(store: Store, *hooks: str) -> list[int]:
    """Calls that wait, each at an event; the numbers of their rows."""
    with store.write({}) as tx:
        events = [tx.append("noted", "T-1", {}).seq for _ in hooks]
        rows = map(delivery, events, hooks)
        return [tx.calls.add_numbered(each) for each in rows]


def begun(store: Store, seq: int) -> ExportPosition:
    """Who sends what comes after a position in the log."""
    with store.write({}) as tx:
        tx.exports.begin("there", seq)
        tx.exports.take("there", "a", 7, 100.0)
        found = tx.exports.find("there")
    assert found is not None
    return found


class ExportTests(StorePlace):
    """Positions move under the token of their lease alone, and calls that are open are kept."""

    def test_a_new_exporter_begins_after_a_position(self, store: OpenStore) -> None:
        with store.read() as view:
            assert (view.exports.all(), view.exports.find("there")) == ([], None)
        first, second, third = calls(store, "one", "two", "three")
        position = begun(store, 1)
        assert (position.seq, position.delivery) == (1, second - 1)
        assert (position.owner, position.token, position.lease_until) == ("a", 7, 100.0)
        with store.read() as view:
            assert [each.id for each in view.exports.calls_after(position.delivery, 9)] == [
                *(second, third)
            ]
            assert [each.hook for each in view.exports.calls_after(0, 1)] == ["one"]
        assert begun(store, 3).delivery == third
        assert begun(store, 0).delivery == first - 1

    def test_a_position_moves_with_what_arrived(self, store: OpenStore) -> None:
        position = begun(store, 0)
        with store.write({}) as tx:
            tx.exports.failed(position, "away", 50.0)
        with store.read() as view:
            (failed,) = view.exports.all()
            assert (failed.failures, failed.error, failed.next_try) == (1, "away", 50.0)
        after = msgspec.structs.replace(position, seq=5, delivery=6)
        with store.write({}) as tx:
            assert tx.exports.arrived(after, 10, 2, 60.5)
            tx.exports.let_go("there", 7)
        with store.read() as view:
            (found,) = view.exports.all()
        assert (found.seq, found.delivery, found.sent, found.rejected) == (5, 6, 10, 2)
        assert (found.sent_at, found.failures, found.error, found.owner) == (60.5, 0, None, None)

    def test_who_has_lost_the_lease_moves_nothing(self, store: OpenStore) -> None:
        position = begun(store, 0)
        with store.write({}) as tx:
            tx.exports.take("there", "b", 8, 200.0)
            after = msgspec.structs.replace(position, seq=5)
            assert not tx.exports.arrived(after, 10, 0, 60.0)
            tx.exports.failed(position, "away", 50.0)
            tx.exports.let_go("there", 7)
        with store.read() as view:
            (found,) = view.exports.all()
        assert (found.seq, found.failures, found.owner) == (0, 0, "b")

    def test_who_is_gone_gives_the_lease_back(self, store: OpenStore) -> None:
        position = begun(store, 0)
        with store.write({}) as tx:
            tx.hosts.give_back("a")
            (found,) = tx.exports.all()
            assert (found.owner, found.lease_until) == (None, 0.0)
            assert not tx.exports.arrived(position, 1, 0, 60.0)

    def test_open_calls_are_found_once_they_wait_for_nothing(self, store: OpenStore) -> None:
        first, second, third = calls(store, "one", "two", "three")
        position = begun(store, 0)
        with store.write({}) as tx:
            tx.exports.leave_open("there", [first, second, third])
            assert tx.exports.perhaps_over("there", 0, 9) == []
            for number, status in ((first, OK), (third, CUT)):
                row = tx.calls.find(number)
                assert row is not None
                tx.calls.finish(row, Outcome(row.hook, status))
            assert tx.exports.open_calls("there") == 3
            over = tx.exports.perhaps_over("there", 0, 9)
            assert [(each.id, each.status) for each in over] == [(first, OK), (third, CUT)]
            assert [each.id for each in tx.exports.perhaps_over("there", first, 9)] == [third]
            assert [each.id for each in tx.exports.perhaps_over("there", 0, 1)] == [first]
            tx.exports.close("there", [first])
            assert tx.exports.open_calls("there") == 2
            tx.exports.begin("there", position.seq)
            assert tx.exports.open_calls("there") == 0

    def test_what_figures_are_made_of(self, store: OpenStore) -> None:
        add(store, "a", "b")
        calls(store, "one", "one", "two")
        with store.write({}) as tx:
            (row,) = tx.calls.calls_of("two")
            tx.calls.finish(row, Outcome("two", OK, duration_us=25))
        with store.read() as view:
            assert view.exports.task_states() == {"ready": 2}
            assert sorted(view.exports.call_counts()) == [
                ("one", "command", "noted", "pending", 2, 0),
                ("two", "command", "noted", "ok", 1, 25),
            ]
