"""What can be removed of finished work, and what stays of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.hooks.records import DEAD, OK, PENDING, Delivery
from hookline.domain.runs.model import PRUNED
from hookline.flows import journal
from hookline.testing.contracts.stores.place import StorePlace, delivery
from hookline.testing.contracts.stores.runs import begin, resolve

if TYPE_CHECKING:
    from hookline.ports.store import Store, Transaction
    from hookline.testing.contracts.stores.place import OpenStore

NAME = "ab" * 32


def called(tx: Transaction, node: str, status: str = OK) -> int:
    """An event with a call that printed something and decided something."""
    seq = tx.append("noted", node, {}).seq
    tx.calls.freeze(seq, {"seen": "all"})
    tx.calls.add(
        delivery(seq, "h", status=status, stdout="out", stderr="err", blob=f"/blobs/{NAME}")
    )
    return seq


def answered(store: Store, seq: int) -> Delivery:
    with store.read() as view:
        (found,) = view.calls.deliveries(seq)
    return found


class DetailTests(StorePlace):
    """Details go, decisions stay; what something needs is told."""

    def test_calls_that_are_not_over_are_left_alone(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            over = called(tx, "T-1")
            for status in (PENDING, DEAD):
                called(tx, "T-1", status)
            waiting = called(tx, "T-1")
            tx.dispatches.open(waiting, "T-1", None)
            last = called(tx, "system")
        with store.read() as view:
            found = view.details.prunable(0, last, 10)
            assert [(each.event_seq, each.node_id) for each in found] == [
                *((over, "T-1"), (last, "system"))
            ]
            assert found[0].bytes == len('{"seen":"all"}outerr')
            assert [each.event_seq for each in view.details.prunable(0, last, 1)] == [over]
            assert [each.event_seq for each in view.details.prunable(over, last, 9)] == [last]
            assert view.details.prunable(over, last - 1, 9) == []

    def test_what_hooks_decided_outlives_what_they_printed(self, store: OpenStore) -> None:
        answer = {"action": "continue", "reason": "why", "nextPrompt": "long", "text": "long"}
        with store.write({}) as tx:
            seq = tx.append("noted", "R-1", {}).seq
            tx.calls.freeze(seq, {"n": 1})
            told = delivery(seq, "h", status=OK, answer=answer, stdout="o", stderr="e", blob="b")
            tx.calls.add(told)
            other = called(tx, "R-1")
            tx.details.remove([seq])
        found = answered(store, seq)
        assert found.answer == {"action": "continue", "reason": "why"}
        assert (found.status, found.stdout, found.stderr, found.blob) == (OK, None, None, None)
        with store.read() as view:
            assert view.calls.payload(seq) is None
            assert view.calls.payload(other) == {"seen": "all"}
            assert view.details.prunable(0, seq, 9) == []
        assert answered(store, other).stdout == "out"

    def test_past_chapters_are_removed_a_few_at_a_time(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            run = begin(tx, "a", "b")
            resolve(tx, run, "a", "done")
            chapter = {"chapter": 2, "state": {}, "codeDigest": "d"}
            journal.write(tx, "run_chapter", run.run_id, chapter)
            now = tx.runs.find(run.run_id)
            other = begin(tx, "c")
            assert tx.details.of_run(run.run_id) == len('{"command":"true"}') * 2 + len('"done"')
            assert not tx.details.remove_of_run(run.run_id, 1)
            assert len(tx.runs.effects(run)) == 1
            assert not tx.details.remove_of_run(run.run_id, 1)
            assert tx.details.remove_of_run(run.run_id, 1)
            assert (tx.runs.effects(run), tx.runs.effects(now)) == ([], [])
            assert tx.details.of_run(run.run_id) == 0
            assert tx.details.remove_of_run(other.run_id, 1)
            assert [each.effect_id for each in tx.runs.effects(other)] == ["c"]
            tx.runs.set_value(run.run_id, PRUNED, tx.now)

    def test_blobs_are_needed_by_all_but_some_runs(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            mine, other = begin(tx, "a"), begin(tx, "a")
            resolve(tx, mine, "a", {"$blob": "11" * 32, "bytes": 9})
            resolve(tx, other, "a", {"$blob": "22" * 32, "bytes": 9})
            seq = called(tx, "T-1")
        with store.read() as view:
            every = {"11" * 32, "22" * 32, NAME}
            assert view.details.blobs_but_of([], []) == every
            assert view.details.blobs_but_of([mine.run_id], []) == {"22" * 32, NAME}
            assert view.details.blobs_but_of([mine.run_id], [seq]) == {"22" * 32}

    def test_every_run_is_outlined(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            run = begin(tx)
        with store.read() as view:
            (found,) = view.details.runs()
        assert (found.run_id, found.flow, found.status) == (run.run_id, "flow", "running")
        assert (found.task_id, found.owner) == (None, None)
        assert found.created_at == found.updated_at == "2026-01-17T12:00:00.000Z"

    def test_a_store_that_was_rewritten_is_the_same(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            seq = called(tx, "T-1")
            tx.details.remove([seq])
        store.compact()
        with store.read() as view:
            assert [event.seq for event in view.log.events()] == [seq]
        assert answered(store, seq).stdout is None
