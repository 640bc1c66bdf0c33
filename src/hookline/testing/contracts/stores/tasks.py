"""The task graph: claims, the ready set and edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookline.errors import ClaimRefused, CycleError, IllegalTransition, StaleClaim, UnknownTask
from hookline.tasks import claims, verbs
from hookline.tasks.verbs import Holder, link, unlink
from hookline.testing.contracts.stores.place import StorePlace, add

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.ports.store import Store, Transaction, View
    from hookline.testing.contracts.stores.place import OpenStore, Place


def claim(store: Store, agent: str) -> int:
    with store.write({}) as tx:
        return claims.claim(tx, "T-1", agent, lease=60).token


def ready(store: OpenStore, limit: int = 99) -> list[str]:
    with store.read() as view:
        return [task.id for task in view.graph.ready(limit, store.now())]


class TaskTests(StorePlace):
    """Tasks are claimed, found ready and linked."""

    def test_a_claim_keeps_others_out_until_its_lease_runs_out(
        self, place: Place, store: OpenStore
    ) -> None:
        add(store, "task")
        with store.write({}) as tx:
            first = claims.claim(tx, "T-1", "a", lease=60)
        place.clock.advance(59.999)
        with pytest.raises(ClaimRefused, match=r"T-1 is claimed by a until .*12:01:00\.000Z"):
            claim(store, "b")
        place.clock.advance(0.002)
        second = claim(store, "b")
        assert second > first.token
        with store.read() as view:
            released = view.log.events(types=["task_released"])
            assert [event.data["reason"] for event in released] == ["lease expired"]

    def test_a_heartbeat_holds_a_claim_and_a_stale_token_is_fenced_off(
        self, place: Place, store: OpenStore
    ) -> None:
        add(store, "task")
        first = claim(store, "a")
        place.clock.advance(50)
        with store.write({}) as tx:
            assert claims.renew(tx, "T-1", first, 60).lease_until == "2026-01-17T12:01:50.000Z"
        place.clock.advance(50)
        with pytest.raises(ClaimRefused):
            claim(store, "b")
        place.clock.advance(11)
        second = claim(store, "b")
        stale, current = Holder("a", first), Holder("b", second)
        writes: list[Callable[[Transaction], Any]] = [
            lambda tx: claims.renew(tx, "T-1", first),
            lambda tx: claims.release(tx, "T-1", holder=stale),
            lambda tx: verbs.start(tx, "T-1", holder=stale),
            lambda tx: verbs.complete(tx, "T-1", holder=stale),
            lambda tx: verbs.update(tx, "T-1", {"goal": "mine"}, holder=stale),
        ]
        for write in writes:
            with (
                pytest.raises(StaleClaim, match=f"token {first} is no longer"),
                store.write({}) as tx,
            ):
                write(tx)
        with store.write({}) as tx:
            assert verbs.complete(tx, "T-1", holder=current).claim is None
        with pytest.raises(StaleClaim), store.write({}) as tx:
            claims.renew(tx, "T-1", second)

    def test_an_agent_without_a_token_is_kept_out_by_the_claim_of_another(
        self, store: OpenStore
    ) -> None:
        add(store, "task")
        claim(store, "a")
        with pytest.raises(ClaimRefused), store.write({}) as tx:
            verbs.start(tx, "T-1", holder=Holder("b"))
        with store.write({}) as tx:
            assert verbs.start(tx, "T-1", holder=Holder("a")).state == "active"

    def test_ready_tasks_come_by_priority_and_then_by_age(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            for priority in (2, 1, 2, 0, 1):
                verbs.add(tx, "task", priority=priority)
            verbs.add(tx, "waits", priority=0, depends_on=["T-1"])
            verbs.block(tx, verbs.add(tx, "blocked", priority=0).id, reason="r")
        assert ready(store) == ["T-4", "T-2", "T-5", "T-1", "T-3"]
        assert ready(store, 2) == ["T-4", "T-2"]

    def test_a_task_with_an_expired_lease_is_ready_again_in_its_place(
        self, place: Place, store: OpenStore
    ) -> None:
        add(store, "first", "second", "third")
        with store.write({}) as tx:
            claims.claim(tx, "T-1", "a", lease=60)
            claims.claim(tx, "T-2", "a", lease=30)
            verbs.start(tx, "T-2")
        assert ready(store) == ["T-3"]
        place.clock.advance(31)
        assert ready(store) == ["T-2", "T-3"]
        place.clock.advance(30)
        assert ready(store) == ["T-1", "T-2", "T-3"]
        assert ready(store, 1) == ["T-1"]
        with store.write({}) as tx:
            assert claims.claim_next(tx, "b").id == "T-1"

    def test_a_lease_is_over_for_the_list_when_it_is_over_for_the_claim(
        self, place: Place, store: OpenStore
    ) -> None:
        add(store, "task")
        claim(store, "a")
        place.clock.advance(60)
        assert ready(store) == ["T-1"]
        assert claim(store, "b") == 2

    def test_an_expired_task_that_has_to_wait_is_not_ready(
        self, place: Place, store: OpenStore
    ) -> None:
        add(store, "active", "free")
        with store.write({}) as tx:
            claims.claim(tx, "T-1", "a", lease=30)
            verbs.start(tx, "T-1")
            link(tx, "T-1", "T-2")
        place.clock.advance(31)
        assert ready(store) == ["T-2"]
        with store.write({}) as tx:
            assert claims.claim_next(tx, "b").id == "T-2"

    def test_edges_of_both_types_are_read_from_both_ends(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            verbs.add(tx, "first")
            verbs.add(tx, "second", parent="T-1", depends_on=["T-1"])
            edges = {edge.id for edge in tx.graph.edges_from("T-2")}
            assert edges == {"T-2:depends_on:T-1", "T-2:spawned_by:T-1"}
            assert {edge.id for edge in tx.graph.edges_to("T-1")} == edges
            assert [e.type for e in tx.graph.edges_to("T-1", "spawned_by")] == ["spawned_by"]
            assert tx.graph.edges_from("T-1") == []
            unlink(tx, "T-2", "T-1")
            assert [e.type for e in tx.graph.edges_from("T-2")] == ["spawned_by"]
            assert verbs.delete(tx, "T-1") == 1
            assert tx.graph.edges_from("T-2") == []

    def test_a_cycle_is_refused_and_shown(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            for _ in range(4):
                verbs.add(tx, "task")
            link(tx, "T-2", "T-1")
            link(tx, "T-3", "T-2")
            link(tx, "T-4", "T-1")
            with pytest.raises(CycleError) as caught:
                link(tx, "T-1", "T-3")
            assert "T-1 -> T-3 -> T-2 -> T-1 would be a cycle" in caught.value.message
            with pytest.raises(CycleError, match="T-4 cannot depend on itself"):
                link(tx, "T-4", "T-4")
            assert tx.graph.edges_from("T-1") == []
            unlink(tx, "T-3", "T-2")
            link(tx, "T-1", "T-3")
            with pytest.raises(CycleError):
                link(tx, "T-3", "T-4")

    def test_unmet_dependencies_are_counted(self, store: OpenStore) -> None:
        add(store, "a", "b", "c")
        with store.write({}) as tx:
            verbs.add(tx, "waits", depends_on=["T-1", "T-2", "T-3"])
            assert tx.graph.unmet("T-4") == 3
            verbs.complete(tx, "T-1")
            verbs.fail(tx, "T-2")
            assert tx.graph.unmet("T-4") == 2
            verbs.cancel(tx, "T-2")
            verbs.delete(tx, "T-3")
            assert tx.graph.unmet("T-4") == 0

    def test_what_is_not_there_is_an_error(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            with pytest.raises(UnknownTask, match="there is no task T-9"):
                tx.graph.task("T-9")
            with pytest.raises(UnknownTask, match="T-9"):
                tx.graph.unmet("T-9")
            assert tx.graph.find("T-9") is None
            with pytest.raises(IllegalTransition):
                claims.release(tx, verbs.add(tx, "task").id)

    def test_what_a_newer_version_says_besides_is_left_alone(self, store: OpenStore) -> None:
        newer = {"colour": "red"}
        with store.write({}) as tx:
            name = tx.next_task_id()
            tx.append("task_created", name, {"goal": "a", "priority": 1, **newer}, metadata=newer)
            tx.append("task_ready", name, newer)
            tx.append("task_updated", name, {"changes": {"priority": 0, **newer}, **newer})
        with store.read() as view:
            task = view.graph.task(name)
            assert (task.goal, task.state, task.priority) == ("a", "ready", 0)
            assert [event.data["colour"] for event in view.log.events()] == ["red"] * 3
            assert projected(view) == [{"number": 1, "state": "ready", "priority": 0}]

    def test_a_transaction_sees_what_it_has_changed(self, store: OpenStore) -> None:
        first, second, third = add(store, "first", "second", "third")
        with store.write({}) as tx:
            link(tx, second, first)
            link(tx, third, first)
            claims.claim(tx, first, "a", 60.0)
            verbs.update(tx, first, {"note": "seen", "labels": ["x"]})
            verbs.complete(tx, first, result="done", artifacts=["f"])
            unlink(tx, third, first)
            inside = {
                each: (tx.graph.task(each), tx.graph.unmet(each)) for each in (first, second, third)
            }
            new = verbs.add(tx, "new", depends_on=[second, first], parent=third, notes=["n"])
            made = (tx.graph.task(new.id), tx.graph.unmet(new.id))
        with store.read() as view:
            for each, found in {**inside, new.id: made}.items():
                assert (view.graph.task(each), view.graph.unmet(each)) == found

    def test_a_part_that_failed_is_not_seen_afterwards(self, store: OpenStore) -> None:
        (name,) = add(store, "a task")

        def fail(tx: Transaction) -> None:
            with tx.nested():
                verbs.update(tx, name, {"priority": 0})
                verbs.add(tx, "never")
                raise UnknownTask("it fails")

        with store.write({}) as tx:
            with pytest.raises(UnknownTask):
                fail(tx)
            assert tx.graph.task(name).priority == 2
            assert tx.graph.find("T-2") is None
            assert verbs.add(tx, "second").id == "T-2"
        with store.read() as view:
            assert [each.goal for each in view.graph.tasks()] == ["a task", "second"]
            assert view.log.gaps() == 0

    def test_a_task_that_was_expected_is_found_as_it_became(self, store: OpenStore) -> None:
        (name,) = add(store, "a task")
        with store.write({}) as tx:
            tx.expect(name)
            tx.expect("T-9")
            tx.append("task_updated", name, {"changes": {"priority": 0}})
            assert tx.graph.task(name).priority == 0
            assert tx.graph.find("T-9") is None
        with store.write({}) as tx:
            tx.expect(name)
            assert tx.graph.task(name).goal == "a task"
            assert verbs.update(tx, name, {"priority": 5}).priority == 5


def projected(view: View) -> list[dict[str, Any]]:
    """Some columns of the tasks as they lie."""
    columns = ("number", "state", "priority")
    return [{column: row[column] for column in columns} for row in view.graph.rows()]
