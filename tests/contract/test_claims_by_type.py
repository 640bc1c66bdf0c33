"""Claiming honours the types of tasks, over every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookline.errors import ClaimRefused, NothingReady
from hookline.tasks import claims, verbs

if TYPE_CHECKING:
    from hookline.testing.contracts.stores.place import OpenStore, Place

NAMED = {"product": ("one", "two"), "hotfix": ("one",)}


def allowed(agent: str, task_type: str | None) -> bool:
    """`product` is for one and two, `hotfix` for one; all else is open."""
    return agent in NAMED.get(task_type or "", (agent,))


def add(store: OpenStore, task_type: str | None, **options: Any) -> str:
    with store.write({}) as tx:
        return verbs.add(tx, "work", task_type=task_type, **options).id


def take_next(store: OpenStore, agent: str) -> str:
    with store.write({}) as tx:
        return claims.claim_next(tx, agent, allowed=allowed).id


def test_an_agent_takes_tasks_of_the_types_that_name_it(store: OpenStore) -> None:
    task = add(store, "hotfix")
    with store.write({}) as tx:
        assert claims.claim(tx, task, "one", allowed=allowed).agent == "one"


def test_an_agent_is_refused_a_type_that_names_others(store: OpenStore) -> None:
    task = add(store, "hotfix")
    refused = pytest.raises(ClaimRefused, match="of the type hotfix, which two may not")
    with refused, store.write({}) as tx:
        claims.claim(tx, task, "two", allowed=allowed)
    with store.read() as view:
        assert view.graph.task(task).claim is None


@pytest.mark.parametrize("task_type", [None, "chore"])
def test_types_that_name_nobody_are_open_to_all(store: OpenStore, task_type: str | None) -> None:
    task = add(store, task_type)
    assert take_next(store, "stranger") == task


def test_without_a_rule_every_type_is_open(store: OpenStore) -> None:
    task = add(store, "hotfix")
    with store.write({}) as tx:
        assert claims.claim_next(tx, "two").id == task


def test_the_next_task_is_the_best_that_the_agent_may_take(store: OpenStore) -> None:
    hotfix = add(store, "hotfix", priority=0)
    low = add(store, "product", priority=3)
    high = add(store, "product", priority=1)
    assert take_next(store, "two") == high
    assert take_next(store, "two") == low
    assert take_next(store, "one") == hotfix


def test_one_task_behind_many_of_others_is_found(store: OpenStore) -> None:
    with store.write({}) as tx:
        for _ in range(300):
            verbs.add(tx, "work", task_type="hotfix", priority=0)
    own = add(store, "product")
    assert take_next(store, "two") == own


def test_ready_tasks_of_others_are_told_from_none_at_all(store: OpenStore) -> None:
    with pytest.raises(NothingReady, match="No task is ready"):
        take_next(store, "two")
    add(store, "hotfix")
    with pytest.raises(NothingReady, match="none of the 1 tasks that are ready"):
        take_next(store, "two")


def test_a_task_whose_lease_ran_out_is_still_for_those_it_names(
    place: Place, store: OpenStore
) -> None:
    task = add(store, "hotfix")
    with store.write({}) as tx:
        claims.claim(tx, task, "one", 60, allowed=allowed)
    place.clock.advance(61)
    with pytest.raises(NothingReady):
        take_next(store, "two")
    assert take_next(store, "one") == task
