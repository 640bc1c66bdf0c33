"""What people were told, and what they are still to be told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.announcements import NEEDED, OVER, Announced, fold
from hookline.domain.hooks.records import QUEUED
from hookline.testing.contracts.stores.place import StorePlace, delivery

if TYPE_CHECKING:
    from hookline.ports.store import Store, View
    from hookline.testing.contracts.stores.place import OpenStore


def announced(key: str, *, waits: bool = True) -> dict[str, Any]:
    return {"key": key, "waits": waits}


def folded(view: View) -> dict[str, Announced]:
    known: dict[str, Announced] = {}
    for event in view.log.events():
        fold(known, event)
    return known


def queued(store: Store, *hooks: str) -> list[int]:
    """Calls that wait to be sent; their numbers."""
    with store.write({}) as tx:
        found = []
        for hook in hooks:
            seq = tx.append("noted", "system", {}).seq
            found.append(tx.calls.add_numbered(delivery(seq, hook, status=QUEUED)))
            tx.outbox.put(found[-1], hook)
        return found


class NoticeTests(StorePlace):
    """What is announced follows the log; what is sent is sent whole, one after the other."""

    def test_what_is_announced_is_what_the_log_says(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            first = tx.append(NEEDED, "T-1", announced("one"))
            tx.append(NEEDED, "R-1", announced("told", waits=False))
            second = tx.append(NEEDED, "R-1", announced("two"))
            assert tx.announcements.all() == {
                "one": Announced(first.seq, "T-1"),
                "two": Announced(second.seq, "R-1"),
            }
        with store.write({}) as tx:
            tx.append(OVER, "T-1", {"key": "one"})
            tx.append(OVER, "T-1", {"key": "nobody"})
        with store.read() as view:
            assert view.announcements.all() == {"two": Announced(second.seq, "R-1")} == folded(view)
            assert [view.announcements.is_about(node) for node in ("T-1", "R-1")] == [False, True]

    def test_an_event_is_looked_at_once_whoever_was_killed(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            for seq in (3, 5, 3):
                tx.announcements.look_at(seq)
        with store.write({}) as tx:
            assert tx.announcements.unseen() == [3, 5]
            tx.announcements.seen([3])
        with store.write({}) as tx:
            assert tx.announcements.unseen() == [5]
            assert tx.announcements.dead_holders() == ""
            tx.announcements.keep_dead_holders("R-1:2")
            tx.announcements.keep_dead_holders("R-2:3")
        with store.read() as view:
            assert view.announcements.dead_holders() == "R-2:3"

    def test_a_notification_carries_calls_until_it_is_closed(self, store: OpenStore) -> None:
        first, second, other = queued(store, "mail", "mail", "bell")
        with store.write({}) as tx:
            assert tx.outbox.hooks() == ["mail", "bell"]
            assert tx.outbox.waiting("mail", 1) == [first]
            assert tx.outbox.last("mail") is None
            tx.outbox.compose(7, "mail", 100.0, "text", [first, second])
            assert tx.outbox.hooks() == ["bell"]
            assert tx.outbox.last("mail") == 100.0
        with store.write({}) as tx:
            (found,) = tx.outbox.open()
            assert (found.id, found.hook, found.content, found.failures) == (7, "mail", "text", 0)
            assert tx.outbox.carried(7) == [first, second]
            tx.outbox.take(7, "me", 9, 50.0)
            taken = tx.outbox.find(7)
            assert taken is not None
            assert (taken.owner, taken.token, taken.lease_until) == ("me", 9, 50.0)
            tx.outbox.again(7, 60.0, "no luck")
            again = tx.outbox.find(7)
            assert again is not None
            assert (again.owner, again.failures, again.next_try) == (None, 1, 60.0)
            assert again.error == "no luck"
            tx.outbox.close(7)
        with store.read() as view:
            assert (view.outbox.open(), view.outbox.find(7)) == ([], None)
            assert view.outbox.last("mail") == 100.0
            assert view.outbox.waiting("bell", 9) == [other]
            assert not view.outbox.is_empty()

    def test_what_came_with_a_foreign_store_is_not_sent(self, store: OpenStore) -> None:
        first, _ = queued(store, "mail", "mail")
        with store.write({}) as tx:
            tx.outbox.compose(7, "mail", 100.0, "text", [first])
            tx.outbox.clear()
            assert tx.calls.abandon("foreign") == 2
        with store.read() as view:
            assert view.outbox.is_empty()
            assert [each.status for each in view.calls.calls_of("mail")] == ["skipped", "skipped"]
