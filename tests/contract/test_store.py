"""What every store must do. Another implementation is added to `STORES` and to nothing else."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from hookline.adapters.store.sqlite import SqliteStore
from hookline.domain.records import FAILED, OK, PENDING, SKIPPED, Action, Delivery, Outcome
from hookline.errors import (
    BadInput,
    ClaimRefused,
    CycleError,
    IllegalTransition,
    StaleClaim,
    UnknownTask,
)
from hookline.ports import Store
from hookline.tasks import claims, verbs
from hookline.tasks.dependencies import link, unlink
from hookline.tasks.verbs import Holder
from hookline.testing import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hookline.ports import Transaction, View


class OpenStore(Store, Protocol):
    """A store that this test opened and has to close."""

    def close(self) -> None:
        """Let go of it."""
        ...


def sqlite(folder: Path, clock: Clock) -> OpenStore:
    return SqliteStore(str(folder / "store.db"), clock=clock)


STORES: list[Callable[[Path, Clock], OpenStore]] = [sqlite]


class Place:
    """One place where a store lies; every `open` is a connection of its own."""

    def __init__(self, opener: Callable[[Path, Clock], OpenStore], folder: Path) -> None:
        self.clock = Clock()
        self._opener = opener
        self._folder = folder
        self._opened: list[OpenStore] = []

    def open(self) -> OpenStore:
        store = self.open_here()
        self._opened.append(store)
        return store

    def open_here(self) -> OpenStore:
        """For threads, which close what they open."""
        return self._opener(self._folder, self.clock)

    def close(self) -> None:
        for store in self._opened:
            store.close()


@pytest.fixture(params=STORES, ids=lambda opener: opener.__name__)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made = Place(request.param, tmp_path)
    yield made
    made.close()


@pytest.fixture
def store(place: Place) -> OpenStore:
    return place.open()


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


def change_much(tx: Transaction) -> None:
    task = verbs.add(tx, "more").id
    claims.claim(tx, task, "me")
    event = tx.events[-1]
    tx.calls.freeze(event.seq, {"task": None})
    tx.calls.add(delivery(event.seq, "h"), actions=[Action("log")])
    tx.calls.open_dispatch(event.seq, task, None)


def counters(store: Store) -> tuple[str, int, int]:
    """What the next task, token and event would be called; nothing of it is kept."""
    with pytest.raises(InterruptedError), store.write({}) as tx:
        found = (tx.next_task_id(), tx.next_token(), tx.append("noted", "system", {}).seq)
        raise InterruptedError
    return found


def assert_nothing_of(store: Store, task: str, event_seq: int) -> None:
    with store.write({}) as tx:
        assert tx.graph.find(task) is None
        assert tx.log.find(event_seq) is None
        assert tx.calls.payload(event_seq) is None
        assert tx.calls.deliveries(event_seq) == []
        assert tx.calls.open_actions(event_seq) == []
        assert tx.calls.claim_next("me", 99, 0, lambda owner, until: True) is None


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt])
def test_a_change_that_fails_leaves_nothing(store: OpenStore, problem: type[BaseException]) -> None:
    add(store, "first")
    before = counters(store)
    with pytest.raises(problem), store.write({}) as tx:
        change_much(tx)
        last = tx.events[-1].seq
        raise problem
    assert counters(store) == before
    assert_nothing_of(store, "T-2", last)


def test_a_nested_part_fails_alone(store: OpenStore) -> None:
    with store.write({}) as tx:
        first = verbs.add(tx, "first").id
        kept = list(tx.events)
        with pytest.raises(ValueError), tx.nested():
            change_much(tx)
            verbs.complete(tx, first)
            last = tx.events[-1].seq
            raise ValueError
        assert tx.events == kept
        second, token = verbs.add(tx, "second").id, tx.next_token()
    assert (second, token) == ("T-2", 1)
    with store.read() as view:
        assert seqs(view) == [1, 2, 3, 4]
        assert view.graph.task(first).state == "ready"
        assert view.calls.deliveries(last) == []


def test_nested_parts_nest(store: OpenStore) -> None:
    with store.write({}) as tx:
        with tx.nested():
            verbs.add(tx, "kept")
            with pytest.raises(ValueError), tx.nested():
                verbs.add(tx, "dropped")
                raise ValueError
            with tx.nested():
                verbs.add(tx, "kept too")
        with pytest.raises(ValueError), tx.nested():
            with tx.nested():
                verbs.add(tx, "dropped with what is around it")
            raise ValueError
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
        assert view.graph.task("T-1").claim == claims.Claim(
            f"agent-{tokens.index(1)}", 1, "2026-01-17T12:15:00.000Z"
        )
