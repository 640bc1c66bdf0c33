"""What every store must do."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from hookline.domain.records import FAILED, OK, PENDING, SKIPPED, Action, Delivery, Outcome
from hookline.domain.tasks import Claim
from hookline.errors import (
    BadInput,
    ClaimRefused,
    CycleError,
    IllegalTransition,
    StaleClaim,
    UnknownTask,
)
from hookline.tasks import claims, verbs
from hookline.tasks.dependencies import link, unlink
from hookline.tasks.verbs import Holder

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from hookline.ports.store import Store, Transaction, View
    from tests.contract.conftest import OpenStore, Place


def add(store: Store, *goals: str, **options: Any) -> list[str]:
    with store.write({}) as tx:
        return [verbs.add(tx, goal, **options).id for goal in goals]


def seqs(view: View) -> list[int]:
    return [event.seq for event in view.log.events()]


# The log.


def test_events_follow_one_another_without_a_gap(place: Place, store: OpenStore) -> None:
    with store.write({"triggeredBy": "me"}) as tx:
        tx.append("noted", "system", {"n": 1, "text": "ä\n"})
        tx.append("noted", "T-7", {"n": 2}, metadata={"depth": 1})
    place.clock.advance(1)
    with store.write({}) as tx:
        tx.append("other", "system", {})
    with store.read() as view:
        first, second, third = view.log.events()
        assert view.log.find(2) == second
        assert view.log.find(4) is None
    assert (first.seq, second.seq, third.seq) == (1, 2, 3)
    assert (first.type, first.node_id, first.data) == ("noted", "system", {"n": 1, "text": "ä\n"})
    assert first.metadata == {"triggeredBy": "me"}
    assert second.metadata == {"triggeredBy": "me", "depth": 1}
    assert (first.timestamp, third.timestamp) == (
        "2026-01-17T12:00:00.000Z",
        "2026-01-17T12:00:01.000Z",
    )


def test_events_are_chosen_by_place_type_and_node(store: OpenStore) -> None:
    with store.write({}) as tx:
        for kind, node in (("a", "T-1"), ("b", "T-1"), ("a", "T-2"), ("c", "T-1")):
            tx.append(kind, node, {})
    with store.read() as view:
        log = view.log
        assert [e.seq for e in log.events(after=2)] == [3, 4]
        assert [e.seq for e in log.events(types=["a", "c"])] == [1, 3, 4]
        assert [e.seq for e in log.events(types=["a", "b"], node_id="T-1", after=1)] == [2]
        assert [e.seq for e in log.events(limit=2)] == [1, 2]


def test_ids_sort_like_the_log_and_are_the_stores_own(store: OpenStore, tmp_path: Path) -> None:
    with store.write({}) as tx:
        for _ in range(120):
            tx.append("noted", "system", {})
    with store.read() as view:
        ids = [event.id for event in view.log.events()]
    assert ids == sorted(ids)
    assert len(set(ids)) == 120
    assert all(each.startswith(store.id) for each in ids)


def test_what_was_appended_is_what_is_read_back(place: Place, store: OpenStore) -> None:
    with store.write({"triggeredBy": "me"}) as tx:
        verbs.add(tx, "task", labels=["a"], notes=["n"])
        written = list(tx.events)
    with place.open().read() as view:
        assert view.log.events() == written


def test_an_event_that_is_refused_leaves_no_gap(store: OpenStore) -> None:
    with store.write({}) as tx:
        with pytest.raises(BadInput, match="bytes"):
            tx.append("noted", "system", {"text": "x" * (1 << 20)})
        tx.append("noted", "system", {})
    with store.read() as view:
        assert seqs(view) == [1]


# All or nothing.


def change_much(tx: Transaction, other: str = "T-1") -> None:
    verbs.complete(tx, other)
    task = verbs.add(tx, "more").id
    claims.claim(tx, task, "me")
    event = tx.events[-1]
    tx.calls.freeze(event.seq, {"task": None})
    tx.calls.add(delivery(event.seq, "h"), actions=[Action("log")])
    tx.calls.open_dispatch(event.seq, task, None)


def break_off(part: AbstractContextManager[Any], work: Callable[[Any], Any]) -> None:
    with part as tx:
        work(tx)
        raise InterruptedError


def counters(store: Store) -> tuple[str, int, int]:
    """What the next task, token and event would be called; nothing of it is kept."""
    found: list[tuple[str, int, int]] = []

    def look(tx: Transaction) -> None:
        found.append((tx.next_task_id(), tx.next_token(), tx.append("noted", "system", {}).seq))

    with pytest.raises(InterruptedError):
        break_off(store.write({}), look)
    return found[0]


def assert_nothing_of(store: Store, task: str, event_seq: int) -> None:
    with store.write({}) as tx:
        assert tx.graph.find(task) is None
        assert tx.log.find(event_seq) is None
        assert tx.calls.payload(event_seq) is None
        assert tx.calls.deliveries(event_seq) == []
        assert tx.calls.open_actions(event_seq) == []
        assert tx.calls.claim_next("me", 99, 0, lambda owner, until: True) is None


def test_a_change_that_fails_leaves_nothing(store: OpenStore) -> None:
    add(store, "first")
    assert counters(store) == ("T-2", 1, 3)
    with pytest.raises(InterruptedError):
        break_off(store.write({}), change_much)
    assert counters(store) == ("T-2", 1, 3)
    assert_nothing_of(store, "T-2", 6)


def test_a_nested_part_fails_alone(store: OpenStore) -> None:
    with store.write({}) as tx:
        first = verbs.add(tx, "first").id
        kept = list(tx.events)
        with pytest.raises(InterruptedError):
            break_off(tx.nested(), lambda _: change_much(tx, first))
        assert tx.events == kept
        second, token = verbs.add(tx, "second").id, tx.next_token()
    assert (second, token) == ("T-2", 1)
    with store.read() as view:
        assert seqs(view) == [1, 2, 3, 4]
        assert view.graph.task(first).state == "ready"
        assert view.calls.deliveries(6) == []


def test_nested_parts_nest(store: OpenStore) -> None:
    with store.write({}) as tx:

        def add_inside(goal: str) -> None:
            with tx.nested():
                verbs.add(tx, goal)

        with tx.nested():
            verbs.add(tx, "kept")
            with pytest.raises(InterruptedError):
                break_off(tx.nested(), lambda _: verbs.add(tx, "dropped"))
            add_inside("kept too")
        with pytest.raises(InterruptedError):
            break_off(tx.nested(), lambda _: add_inside("dropped with what is around it"))
    with store.read() as view:
        assert [view.graph.task(f"T-{n}").goal for n in (1, 2)] == ["kept", "kept too"]
        assert view.graph.find("T-3") is None
        assert seqs(view) == [1, 2, 3, 4]


def test_numbers_of_deleted_tasks_are_not_used_again(place: Place, store: OpenStore) -> None:
    add(store, "first", "second")
    with store.write({}) as tx:
        verbs.delete(tx, "T-2")
    assert add(place.open(), "third") == ["T-3"]


# Several connections.


def test_a_view_is_of_one_moment(place: Place, store: OpenStore) -> None:
    add(store, "first")
    other = place.open()
    with store.read() as view:
        assert view.graph.task("T-1").state == "ready"
        with other.write({}) as tx:
            verbs.start(tx, "T-1")
            verbs.add(tx, "second")
        assert view.graph.task("T-1").state == "ready"
        assert view.graph.find("T-2") is None
        assert seqs(view) == [1, 2]
    with store.read() as view:
        assert view.graph.task("T-1").state == "active"
        assert seqs(view) == [1, 2, 3, 4, 5]


def test_what_is_not_committed_is_not_seen(place: Place, store: OpenStore) -> None:
    other = place.open()
    with store.write({}) as tx:
        verbs.add(tx, "first")
        with other.read() as view:
            assert view.graph.find("T-1") is None
    with other.read() as view:
        assert view.graph.task("T-1").goal == "first"


def in_threads(place: Place, count: int, work: Callable[[Store, int], Any]) -> list[Any]:
    """Do something in several threads at once, each with a connection of its own."""
    together = threading.Barrier(count)

    def run(number: int) -> Any:
        store = place.open_here()
        try:
            together.wait()
            return work(store, number)
        finally:
            store.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_writers_at_the_same_time_lose_nothing(place: Place, store: OpenStore) -> None:
    def work(own: Store, number: int) -> list[str]:
        found = []
        for n in range(20):
            with own.write({}) as tx:
                last = tx.log.events(types=["counted"])[-1:]
                tx.append("counted", "system", {"n": last[0].data["n"] + 1 if last else 1})
                found.append(verbs.add(tx, f"{number}.{n}").id)
        return found

    added = [task for tasks in in_threads(place, 4, work) for task in tasks]
    assert sorted(added, key=lambda each: int(each[2:])) == [f"T-{n}" for n in range(1, 81)]
    with store.read() as view:
        assert seqs(view) == list(range(1, 241))
        counted = view.log.events(types=["counted"])
        assert [event.data["n"] for event in counted] == list(range(1, 81))


def test_of_many_that_claim_one_task_one_wins(place: Place, store: OpenStore) -> None:
    add(store, "wanted")

    def work(own: Store, number: int) -> int | None:
        try:
            with own.write({}) as tx:
                return claims.claim(tx, "T-1", f"agent-{number}").token
        except ClaimRefused:
            return None

    tokens = in_threads(place, 8, work)
    assert sorted(tokens, key=lambda each: each is None) == [1] + [None] * 7
    with store.read() as view:
        held = view.graph.task("T-1").claim
    assert held == Claim(f"agent-{tokens.index(1)}", 1, "2026-01-17T12:15:00.000Z")


# Claims.


def test_a_claim_keeps_others_out_until_its_lease_runs_out(place: Place, store: OpenStore) -> None:
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


def claim(store: Store, agent: str) -> int:
    with store.write({}) as tx:
        return claims.claim(tx, "T-1", agent, lease=60).token


def test_a_heartbeat_holds_a_claim_and_a_stale_token_is_fenced_off(
    place: Place, store: OpenStore
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
        with pytest.raises(StaleClaim, match=f"token {first} is no longer"), store.write({}) as tx:
            write(tx)
    with store.write({}) as tx:
        assert verbs.complete(tx, "T-1", holder=current).claim is None
    with pytest.raises(StaleClaim), store.write({}) as tx:
        claims.renew(tx, "T-1", second)


def test_an_agent_without_a_token_is_kept_out_by_the_claim_of_another(store: OpenStore) -> None:
    add(store, "task")
    claim(store, "a")
    with pytest.raises(ClaimRefused), store.write({}) as tx:
        verbs.start(tx, "T-1", holder=Holder("b"))
    with store.write({}) as tx:
        assert verbs.start(tx, "T-1", holder=Holder("a")).state == "active"


# The ready set.


def ready(store: OpenStore, limit: int = 99) -> list[str]:
    with store.read() as view:
        return [task.id for task in view.graph.ready(limit, store.now())]


def test_ready_tasks_come_by_priority_and_then_by_age(store: OpenStore) -> None:
    with store.write({}) as tx:
        for priority in (2, 1, 2, 0, 1):
            verbs.add(tx, "task", priority=priority)
        verbs.add(tx, "waits", priority=0, depends_on=["T-1"])
        verbs.block(tx, verbs.add(tx, "blocked", priority=0).id, reason="r")
    assert ready(store) == ["T-4", "T-2", "T-5", "T-1", "T-3"]
    assert ready(store, 2) == ["T-4", "T-2"]


def test_a_task_with_an_expired_lease_is_ready_again_in_its_place(
    place: Place, store: OpenStore
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
    place: Place, store: OpenStore
) -> None:
    add(store, "task")
    claim(store, "a")
    place.clock.advance(60)
    assert ready(store) == ["T-1"]
    assert claim(store, "b") == 2


def test_an_expired_task_that_has_to_wait_is_not_ready(place: Place, store: OpenStore) -> None:
    add(store, "active", "free")
    with store.write({}) as tx:
        claims.claim(tx, "T-1", "a", lease=30)
        verbs.start(tx, "T-1")
        link(tx, "T-1", "T-2")
    place.clock.advance(31)
    assert ready(store) == ["T-2"]
    with store.write({}) as tx:
        assert claims.claim_next(tx, "b").id == "T-2"


# Edges.


def test_edges_of_both_types_are_read_from_both_ends(store: OpenStore) -> None:
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


def test_a_cycle_is_refused_and_shown(store: OpenStore) -> None:
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


def test_unmet_dependencies_are_counted(store: OpenStore) -> None:
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


def test_what_is_not_there_is_an_error(store: OpenStore) -> None:
    with store.write({}) as tx:
        with pytest.raises(UnknownTask, match="there is no task T-9"):
            tx.graph.task("T-9")
        with pytest.raises(UnknownTask, match="T-9"):
            tx.graph.unmet("T-9")
        assert tx.graph.find("T-9") is None
        with pytest.raises(IllegalTransition):
            claims.release(tx, verbs.add(tx, "task").id)


# Who delivers.


def busy(owner: str, until: float) -> bool:
    return False


def dispatched(store: Store, *nodes: str, owner: str | None = None) -> None:
    with store.write({}) as tx:
        for node in nodes:
            tx.calls.open_dispatch(tx.append("noted", node, {}).seq, node, owner)


def take(
    store: Store, owner: str, token: int, is_free: Callable[[str, float], bool] = busy
) -> int | None:
    with store.write({}) as tx:
        return tx.calls.claim_next(owner, token, 100.0 + token, is_free)


def test_dispatches_are_taken_in_order_and_one_at_a_time_for_each_node(store: OpenStore) -> None:
    dispatched(store, "T-1", "T-1", "T-2", "T-1")
    assert [take(store, "a", 1), take(store, "b", 2), take(store, "c", 3)] == [1, 3, None]
    with store.write({}) as tx:
        tx.calls.close_dispatch(1, 1)
    assert [take(store, "c", 4), take(store, "d", 5)] == [2, None]


def test_a_dispatch_is_taken_over_only_from_a_holder_that_is_gone(store: OpenStore) -> None:
    dispatched(store, "T-1", "T-2")
    assert [take(store, "a", 1), take(store, "b", 2)] == [1, 2]
    asked: list[tuple[str, float]] = []

    def a_is_gone(owner: str, until: float) -> bool:
        asked.append((owner, until))
        return owner == "a"

    assert take(store, "c", 3, a_is_gone) == 1
    assert asked == [("a", 101.0)]
    with store.write({}) as tx:
        assert [tx.calls.holds(1, 1), tx.calls.holds(1, 3), tx.calls.holds(2, 2)] == [0, 1, 1]
        tx.calls.close_dispatch(1, 1)
        assert tx.calls.holds(1, 3)
        tx.calls.extend(1, 500.0)
        tx.calls.close_dispatch(2, 2)
    assert take(store, "d", 4, lambda owner, until: until < 400) is None


def test_a_dispatch_for_one_process_waits_for_it(store: OpenStore) -> None:
    dispatched(store, "T-1", owner="me")
    assert take(store, "other", 1) is None
    assert take(store, "me", 2, lambda owner, until: owner == "me") == 1


# The record of calls.


def delivery(event_seq: int, hook: str, position: int = 0, **fields: Any) -> Delivery:
    fixed = {"point": "noted", "kind": "command", "origin": "hookline.yaml:3", "status": PENDING}
    return Delivery(0, event_seq, hook, position=position, **{**fixed, **fields})


def test_a_call_is_recorded_from_its_attempts_to_its_answer(store: OpenStore) -> None:
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


def test_each_action_takes_effect_once(store: OpenStore) -> None:
    with store.write({}) as tx:
        seq = tx.append("noted", "system", {}).seq
        tx.calls.add(delivery(seq, "late", 2), actions=[Action("log", {"n": 3})])
        tx.calls.add(delivery(seq, "early", 1), actions=[Action("log", {"n": n}) for n in (1, 2)])
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
