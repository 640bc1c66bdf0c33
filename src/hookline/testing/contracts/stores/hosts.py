"""The machines that share a store, and what is taken from one that cannot work any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.hosts import HostFacts, HostWishes
from hookline.testing.contracts.stores.notices import queued
from hookline.testing.contracts.stores.place import StorePlace
from hookline.testing.contracts.stores.runs import NEVER, begin, due

if TYPE_CHECKING:
    from hookline.testing.contracts.stores.place import OpenStore

FACTS = HostFacts(version="1.0", lease=60.0, labels=("gpu",), agents=("ada",), clock=-0.5)


class HostTests(StorePlace):
    """The processes of a host report it; people say what happens to it."""

    def test_a_host_stays_known_when_its_processes_end(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            tx.hosts.tell("a:1:1", "a", 100.0, FACTS)
            tx.hosts.tell("a:2:1", "a", 101.0, FACTS)
            tx.hosts.tell("b:1:1", "b", 102.0, FACTS)
        with store.write({}) as tx:
            tx.hosts.leave("a:1:1")
            assert [(each.owner, each.seen_at) for each in tx.hosts.processes()] == [
                ("a:2:1", 101.0),
                ("b:1:1", 102.0),
            ]
            assert [(each.name, each.seen_at, each.facts) for each in tx.hosts.all()] == [
                ("a", 101.0, FACTS),
                ("b", 102.0, FACTS),
            ]
            assert tx.hosts.remove("a")
            assert not tx.hosts.remove("a")
        with store.read() as view:
            assert [each.name for each in view.hosts.all()] == ["b"]
            assert [each.host for each in view.hosts.processes()] == ["b"]

    def test_who_ends_without_a_word_is_forgotten_in_time(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            tx.hosts.tell("a:1:1", "a", 100.0, FACTS)
            tx.hosts.tell("a:2:1", "a", 161.0, FACTS)
            assert [each.lives(161.0) for each in tx.hosts.processes()] == [False, True]
            tx.hosts.tell("a:3:1", "a", 701.0, FACTS)
            assert [each.owner for each in tx.hosts.processes()] == ["a:2:1", "a:3:1"]

    def test_what_people_say_about_hosts_outlasts_what_hosts_say(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            assert not tx.hosts.drain("a", is_drained=True)
            tx.hosts.tell("a:1:1", "a", 100.0, FACTS)
            assert tx.hosts.drain("a", is_drained=True)
            tx.hosts.tell("a:1:1", "a", 110.0, FACTS)
            assert tx.hosts.wishes() == HostWishes()
            tx.hosts.wish(HostWishes(digest="d"))
            tx.hosts.wish(HostWishes(digest="e", min_version="2"))
        with store.read() as view:
            assert view.hosts.is_drained("a")
            assert not view.hosts.is_drained("nobody")
            assert view.hosts.wishes() == HostWishes(digest="e", min_version="2")

    def test_what_is_given_back_can_be_taken_and_its_holder_is_fenced(
        self, store: OpenStore
    ) -> None:
        (call,) = queued(store, "mail")
        with store.write({}) as tx:
            tx.hosts.tell("dead", "a", 100.0, FACTS)
            ours, other = begin(tx, "n1"), begin(tx, "n1")
            tx.runs.leases.take(ours.run_id, "dead", held := tx.next_token(), 500.0)
            tx.runs.leases.take(other.run_id, "alive", tx.next_token(), 500.0)
            seq = tx.append("noted", "T-1", {}).seq
            tx.dispatches.open(seq, "T-1", None)
            token = tx.next_token()
            assert tx.dispatches.claim_next("dead", token, 500.0, NEVER) == seq
            tx.outbox.compose(7, "mail", 100.0, "text", [call])
            tx.outbox.take(7, "dead", tx.next_token(), 500.0)
            assert due(tx) == []
        with store.write({}) as tx:
            assert tx.hosts.give_back("dead") == 1
            assert tx.hosts.give_back("dead") == 0
        with store.write({}) as tx:
            assert due(tx) == [ours.run_id]
            owner, given_back, until = tx.runs.leases.holder(ours.run_id)
            assert (owner, until) == (None, 0.0)
            assert given_back != held
            assert tx.runs.leases.holder(other.run_id)[0] == "alive"
            # Whoever tells others of it can tell the times apart.
            tx.runs.leases.take(ours.run_id, "dead", tx.next_token(), 500.0)
            assert tx.hosts.give_back("dead") == 1
            assert tx.runs.leases.holder(ours.run_id)[1] not in (held, given_back)
            assert not tx.dispatches.holds(seq, token)
            assert tx.dispatches.claim_next("next", tx.next_token(), 900.0, NEVER) == seq
            sent = tx.outbox.find(7)
            assert sent is not None
            assert (sent.owner, sent.token) == (None, 0)
            assert tx.hosts.processes() == []
