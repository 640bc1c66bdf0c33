"""What clones of a project that share a store know of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.work.places import WorkCopy, WorkPlace
from hookline.tasks import verbs
from hookline.testing.contracts.stores.place import StorePlace

if TYPE_CHECKING:
    from hookline.testing.contracts.stores.place import OpenStore

NAME = "0123456789abcdef" * 4
COPY = WorkCopy(tip="1" * 40, files="2" * 40, tree="3" * 40, blob=NAME, left_out=(".env", "\0"))


class CloneTests(StorePlace):
    """Where work is, and pull requests that no forge keeps."""

    def test_where_work_is_is_replaced_and_forgotten(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            first, second = (verbs.add(tx, goal).id for goal in ("one", "two"))
            tx.work_places.set(first, WorkPlace(holder="a"))
            tx.work_places.set(second, WorkPlace(holder="a"))
            moved = WorkPlace(holder="b", copy=COPY, was="a", conversations={"c": "a"})
            tx.work_places.set(first, moved)
        with store.read() as view:
            assert view.work_places.find(first) == moved
            assert view.work_places.find("T-99") is None
            assert view.work_places.all() == {first: moved, second: WorkPlace(holder="a")}
            assert view.work_places.over() == {}
        with store.write({}) as tx:
            verbs.cancel(tx, first)
            assert tx.work_places.over() == {first: moved}
            tx.work_places.remove(first)
            assert tx.work_places.over() == {}

    def test_a_copy_is_needed_until_its_task_is_over(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            task = verbs.add(tx, "one").id
            tx.work_places.set(task, WorkPlace(holder="a").with_copy(COPY))
            assert NAME in tx.details.blobs_but_of((), ())
            verbs.cancel(tx, task)
            assert NAME not in tx.details.blobs_but_of((), ())

    def test_the_newest_open_pull_request_of_a_branch_is_found(self, store: OpenStore) -> None:
        with store.write({}) as tx:
            pulls = tx.pull_requests
            assert (pulls.last(), pulls.read(1), pulls.open_of("b", "main")) == (0, None, None)
            for number, branch in ((1, "b"), (2, "b"), (3, "c")):
                pulls.write(number, branch, "main", is_open=True, record=f"record {number}")
            assert (pulls.last(), pulls.read(3)) == (3, "record 3")
            assert pulls.open_of("b", "main") == "record 2"
            pulls.write(2, "b", "main", is_open=False, record="merged")
        with store.read() as view:
            assert view.pull_requests.open_of("b", "main") == "record 1"
            assert view.pull_requests.read(2) == "merged"
            assert view.pull_requests.open_of("b", "other") is None
