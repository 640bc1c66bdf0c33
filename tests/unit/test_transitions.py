"""The one table of transitions, cell by cell, and the verbs that follow it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookline.adapters.store.sqlite import SqliteStore
from hookline.domain.events import STATE_BEARING
from hookline.domain.tasks import (
    OPEN,
    SETTLED,
    STATES,
    TRANSITIONS,
    Task,
    check_transition,
    task_id,
    task_number,
)
from hookline.errors import IllegalTransition, UnknownTask
from hookline.tasks import claims, verbs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hookline.ports.store import Transaction

SHOWN = {"created": "not ready", "needs_continuation": "sent back"}
# For each verb, the states in which it may be used; everywhere else it is refused.
ALLOWED = {
    "ready": "created",
    "start": "ready needs_continuation",
    "release": "created ready active needs_continuation",
    "block": "created ready active needs_continuation submitted",
    "unblock": "blocked",
    "submit": "ready active needs_continuation",
    "continue": "ready active needs_continuation submitted",
    "complete": "ready active needs_continuation submitted",
    "fail": "created ready active blocked submitted needs_continuation",
    "cancel": "created ready active blocked submitted needs_continuation failed",
}
USE: dict[str, Callable[[Transaction, str], Any]] = {
    "ready": verbs.make_ready,
    "start": verbs.start,
    "release": claims.release,
    "block": lambda tx, task: verbs.block(tx, task, reason="stuck"),
    "unblock": verbs.unblock,
    "submit": verbs.submit,
    "continue": lambda tx, task: verbs.send_back(tx, task, reason="not yet"),
    "complete": verbs.complete,
    "fail": verbs.fail,
    "cancel": verbs.cancel,
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(str(tmp_path / "store.db"))
    yield opened
    opened.close()


def in_state(tx: Transaction, state: str) -> str:
    """A task that was brought into a state by verbs alone."""
    if state == "created":
        return verbs.add(tx, "task", depends_on=[verbs.add(tx, "first").id]).id
    task = verbs.add(tx, "task").id
    steps = {
        "ready": [],
        "active": ["start"],
        "blocked": ["block"],
        "submitted": ["start", "submit"],
        "needs_continuation": ["start", "submit", "continue"],
        "completed": ["complete"],
        "failed": ["fail"],
        "cancelled": ["cancel"],
    }
    for step in steps[state]:
        USE[step](tx, task)
    assert tx.graph.task(task).state == state
    return task


def task_in(state: str) -> Task:
    return Task(id="T-1", goal="g", state=state)


def test_the_states_are_these() -> None:
    assert " ".join(STATES) == (
        "created ready active blocked submitted needs_continuation completed failed cancelled"
    )
    assert set(STATES) - OPEN == {"completed", "failed", "cancelled"}
    assert sorted(SETTLED) == ["cancelled", "completed"]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("verb", ALLOWED)
def test_each_verb_is_allowed_in_these_states_and_refused_in_all_others(
    verb: str, state: str
) -> None:
    if state in ALLOWED[verb].split():
        assert check_transition(task_in(state), verb) == TRANSITIONS[verb][2]
    else:
        with pytest.raises(
            IllegalTransition, match=f"cannot {verb} T-1: it is {SHOWN.get(state, state)}"
        ):
            check_transition(task_in(state), verb)


def test_the_table_is_whole() -> None:
    assert set(TRANSITIONS) == set(ALLOWED)
    for sources, targets, event_type in TRANSITIONS.values():
        assert sources <= set(STATES)
        assert set(targets) <= set(STATES)
        assert event_type in STATE_BEARING


def claimed_and_waiting(tx: Transaction) -> str:
    """A task that was claimed, and then found to depend on another."""
    other, task = verbs.add(tx, "other").id, verbs.add(tx, "task").id
    claims.claim(tx, task, "me")
    verbs.link(tx, task, other)
    return task


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("verb", USE)
def test_the_verbs_do_what_the_table_says(store: SqliteStore, verb: str, state: str) -> None:
    with store.write({}) as tx:
        task = in_state(tx, state)
        if verb == "release" and state in ("ready", "needs_continuation"):
            claims.claim(tx, task, "me")
        if verb == "release" and state == "created":
            task = claimed_and_waiting(tx)
        if verb == "ready" and state == "created":
            verbs.unlink(tx, task, tx.graph.task(task).depends_on[0])
        before = len(tx.events)
        if state not in ALLOWED[verb].split():
            with pytest.raises(IllegalTransition):
                USE[verb](tx, task)
            assert len(tx.events) == before
        else:
            USE[verb](tx, task)
            assert [event.type for event in tx.events[before:]] == [TRANSITIONS[verb][2]]
            assert tx.graph.task(task).state in TRANSITIONS[verb][1]


def test_a_refusal_says_what_is_possible() -> None:
    with pytest.raises(IllegalTransition) as caught:
        check_transition(task_in("blocked"), "start")
    assert caught.value.help == "a task that is blocked allows: unblock, fail, cancel"
    with pytest.raises(IllegalTransition) as caught:
        check_transition(task_in("completed"), "start")
    assert caught.value.help == "completed is final; add a new task instead"


# Where a verb has two targets, unmet dependencies choose.


@pytest.mark.parametrize("state", ["active", "blocked"])
def test_a_task_goes_back_to_waiting_where_a_dependency_is_unmet(
    store: SqliteStore, state: str
) -> None:
    back = {"active": "release", "blocked": "unblock"}[state]
    with store.write({}) as tx:
        free, bound = in_state(tx, state), in_state(tx, state)
        verbs.link(tx, bound, verbs.add(tx, "first").id)
        assert USE[back](tx, free).state == "ready"
        assert USE[back](tx, bound).state == "created"


def test_a_ready_task_is_taken_back_by_an_unmet_dependency_alone(store: SqliteStore) -> None:
    with store.write({}) as tx:
        first, done = verbs.add(tx, "first").id, in_state(tx, "completed")
        for target, state in ((done, "ready"), (first, "created")):
            task = verbs.add(tx, "task").id
            verbs.link(tx, task, target)
            assert tx.graph.task(task).state == state


def test_a_task_with_unmet_dependencies_is_not_made_ready(store: SqliteStore) -> None:
    with store.write({}) as tx:
        task = in_state(tx, "created")
        with pytest.raises(IllegalTransition, match="still waits for 1 of its dependencies"):
            verbs.make_ready(tx, task)


# Ids.


@pytest.mark.parametrize("text", ["T-12", "t-12", "12"])
def test_a_task_id_is_read_as_people_write_it(text: str) -> None:
    assert task_number(text) == 12
    assert task_id(12) == "T-12"


@pytest.mark.parametrize("text", ["", "T-", "T12", "T-1x", "-1", "T--1", "١٢", "1" * 16, "T-1 "])
def test_anything_else_is_no_task_id(text: str) -> None:
    with pytest.raises(UnknownTask, match="is not a task id"):
        task_number(text)
