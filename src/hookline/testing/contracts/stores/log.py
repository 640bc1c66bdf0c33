"""The log, transactions and several connections at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from hookline.domain.hooks.records import Action
from hookline.domain.tasks import Claim
from hookline.errors import BadInput, ClaimRefused
from hookline.tasks import claims, verbs
from hookline.testing.contracts.stores.place import StorePlace, add, delivery

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from hookline.ports.store import Store, Transaction, View
    from hookline.testing.contracts.stores.place import OpenStore, Place


def seqs(view: View) -> list[int]:
    return [event.seq for event in view.log.events()]


def change_much(tx: Transaction, other: str = "T-1") -> None:
    verbs.complete(tx, other)
    task = verbs.add(tx, "more").id
    claims.claim(tx, task, "me")
    event = tx.events[-1]
    tx.calls.freeze(event.seq, {"task": None})
    tx.calls.add(delivery(event.seq, "h"), actions=[Action("log")])
    tx.dispatches.open(event.seq, task, None)


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
        assert tx.dispatches.claim_next("me", 99, 0, lambda owner, until: True) is None


def in_threads(place: Place, count: int, work: Callable[[Store, int], Any]) -> list[Any]:
    """Do something in several threads at once, each with its own connection."""
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


class LogTests(StorePlace):
    """Events are kept in order, whole and once, whoever writes."""

    def test_events_follow_one_another_without_a_gap(self, place: Place, store: OpenStore) -> None:
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
        assert (first.type, first.node_id, first.data) == (
            "noted",
            "system",
            {"n": 1, "text": "ä\n"},
        )
        assert first.metadata == {"triggeredBy": "me"}
        assert second.metadata == {"triggeredBy": "me", "depth": 1}
        assert (first.timestamp, third.timestamp) == (
            "2026-01-17T12:00:00.000Z",
            "2026-01-17T12:00:01.000Z",
        )

    def test_events_are_chosen_by_place_type_and_node(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            for kind, node in (("a", "T-1"), ("b", "T-1"), ("a", "T-2"), ("c", "T-1")):
                tx.append(kind, node, {})
        with store.read() as view:
            log = view.log
            assert [e.seq for e in log.events(after=2)] == [3, 4]
            assert [e.seq for e in log.events(types=["a", "c"])] == [1, 3, 4]
            assert [e.seq for e in log.events(types=["a", "b"], node_id="T-1", after=1)] == [2]
            assert [e.seq for e in log.events(limit=2)] == [1, 2]
            assert [e.seq for e in log.events(node_id="T-1")] == [1, 2, 4]
            assert [e.seq for e in log.events(node_id="T-1", limit=2)] == [1, 2]

    def test_the_newest_event_of_a_type_is_found(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            for kind, node in (("a", "T-1"), ("b", "T-1"), ("a", "T-1"), ("a", "T-2")):
                tx.append(kind, node, {})
        with store.read() as view:
            newest = view.log.latest("T-1", ["a"])
            assert newest is not None
            assert newest.seq == 3
            either = view.log.latest("T-1", ["b", "a"])
            assert either == newest
            assert view.log.latest("T-2", ["b"]) is None

    def test_a_moment_is_found_in_the_log(self, place: Place, store: OpenStore) -> None:
        for number in range(10):
            with store.write({}) as tx:
                # Whoever sends an event of their own may date it as they like.
                tx.append("mine", "system", {}, timestamp="1999-01-01T00:00:00.000Z")
                tx.append("note_added", "system", {"n": number})
            place.clock.advance(1)
        with store.read() as view:
            before = view.log.before
            assert before("2026-01-17T11:59:59.000Z") == 0
            assert before("2026-01-17T12:00:00.000Z") == 0
            assert before("2026-01-17T12:00:00.001Z") == 2
            assert before("2026-01-17T12:00:06.500Z") == 14
            assert before("2026-01-17T13:00:00.000Z") == 20

    def test_ids_sort_like_the_log_and_are_the_stores_own(
        self, store: OpenStore, tmp_path: Path
    ) -> None:
        with store.write({}) as tx:
            for _ in range(120):
                tx.append("noted", "system", {})
        with store.read() as view:
            ids = [event.id for event in view.log.events()]
        assert ids == sorted(ids)
        assert len(set(ids)) == 120
        assert all(each.startswith(store.id) for each in ids)

    def test_what_was_appended_is_what_is_read_back(self, place: Place, store: OpenStore) -> None:
        with store.write({"triggeredBy": "me"}) as tx:
            verbs.add(tx, "task", labels=["a"], notes=["n"])
            written = list(tx.events)
        with place.open().read() as view:
            assert view.log.events() == written

    @pytest.mark.parametrize(
        "text",
        [
            "a\0b",
            "\0",
            "\uf8f0 \uf8f1 \uf8f0\uf8f1 \uf8f0\0",
            "'; DROP TABLE events; --",
            "\\'; SELECT 1; --",
            "E'\\047",
            "$1 ?1 %s %(a)s {} \\u0000 \\\\u0000",
            "ä\U0001f600\r\n\t\x01\x7f\ufffe",
        ],
    )
    def test_any_text_is_read_back_as_it_was_written(
        self, place: Place, store: OpenStore, text: str
    ) -> None:
        (task,) = add(store, text, labels=[text])
        with store.write({}) as tx:
            seq = tx.append("noted", task, {text: [text]}).seq
            tx.calls.add(delivery(seq, "h", stdout=text, answer={"text": text}))
        with place.open().read() as view:
            assert view.graph.task(task).goal == text
            assert view.graph.task(task).labels == (text,)
            if "\0" not in text:  # nobody looks for such a label
                assert [each.id for each in view.graph.tasks(label=text)] == [task]
            found = view.log.find(seq)
            assert found is not None
            assert found.data == {text: [text]}
            (call,) = view.calls.deliveries(seq)
            assert (call.stdout, call.answer) == (text, {"text": text})

    def test_text_that_cannot_be_stored_is_refused(self, store: OpenStore) -> None:
        def write(tx: Transaction) -> None:
            seq = tx.append("noted", "T-1", {}).seq
            tx.calls.add(delivery(seq, "h", stdout="half a character: \ud800"))

        add(store, "first")
        with pytest.raises(BadInput, match="is not text"):
            break_off(store.write({}), write)
        assert add(store, "second") == ["T-2"]

    def test_an_event_that_is_refused_leaves_no_gap(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            with pytest.raises(BadInput, match="bytes"):
                tx.append("noted", "system", {"text": "x" * (1 << 20)})
            tx.append("noted", "system", {})
        with store.read() as view:
            assert seqs(view) == [1]

    def test_a_change_that_fails_leaves_nothing(self, store: OpenStore) -> None:
        add(store, "first")
        assert counters(store) == ("T-2", 1, 3)
        with pytest.raises(InterruptedError):
            break_off(store.write({}), change_much)
        assert counters(store) == ("T-2", 1, 3)
        assert_nothing_of(store, "T-2", 6)

    def test_a_nested_part_fails_alone(self, store: OpenStore) -> None:
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

    def test_nested_parts_nest(self, store: OpenStore) -> None:
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

    def test_numbers_of_deleted_tasks_are_not_used_again(
        self, place: Place, store: OpenStore
    ) -> None:
        add(store, "first", "second")
        with store.write({}) as tx:
            verbs.delete(tx, "T-2")
        assert add(place.open(), "third") == ["T-3"]

    def test_a_view_is_of_one_moment(self, place: Place, store: OpenStore) -> None:
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

    def test_what_is_not_committed_is_not_seen(self, place: Place, store: OpenStore) -> None:
        other = place.open()
        with store.write({}) as tx:
            verbs.add(tx, "first")
            with other.read() as view:
                assert view.graph.find("T-1") is None
        with other.read() as view:
            assert view.graph.task("T-1").goal == "first"

    def test_writers_at_the_same_time_lose_nothing(self, place: Place, store: OpenStore) -> None:
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

    def test_of_many_that_claim_one_task_one_wins(self, place: Place, store: OpenStore) -> None:
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
