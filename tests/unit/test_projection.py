"""What each event means for the graph, and that a fold of the log alone rebuilds it."""

from __future__ import annotations

from typing import Any

import pytest

from hookline.domain.events import STATE_BEARING
from hookline.domain.projection import UPDATABLE, Fold, changes
from hookline.domain.tasks import Task
from hookline.testing import event

NOW = "2026-01-17T12:00:00.000Z"
UNCLAIMED = {"claim_agent": None, "claim_token": None}

# event type, its data, the columns it sets
MEANINGS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "task_created",
        {"goal": "g", "deliverables": ["d"], "labels": ["l"], "priority": 0},
        {
            "state": "created",
            "goal": "g",
            "labels": ("l",),
            "priority": 0,
            "type": None,
            "desired_deliverables": ("d",),
            "parent": None,
            "notes": (),
            "changes": None,
            "created_at": NOW,
        },
    ),
    ("task_ready", {}, {"state": "ready"}),
    ("task_claimed", {"agent": "a", "token": 7}, {"claim_agent": "a", "claim_token": 7}),
    (
        "task_released",
        {"agent": "a", "reason": None, "state": "ready"},
        {"state": "ready", **UNCLAIMED},
    ),
    ("task_started", {"context": {}}, {"state": "active", "started_at": NOW}),
    ("task_started", {"startedAt": "then"}, {"state": "active", "started_at": "then"}),
    (
        "task_updated",
        {"changes": {"goal": "h", "labels": ["x"], "prUrl": None, "turnsUsed": 3}},
        {"goal": "h", "labels": ("x",), "pr_url": None, "turns_used": 3},
    ),
    (
        "task_blocked",
        {"reason": "r", "requiredKnowledge": ["k"]},
        {"state": "blocked", "block_reason": "r", "required_knowledge": ("k",), **UNCLAIMED},
    ),
    (
        "task_unblocked",
        {"state": "created"},
        {"state": "created", "block_reason": None, "required_knowledge": ()},
    ),
    ("task_submitted", {"result": "r"}, {"state": "submitted", "result": "r"}),
    (
        "task_needs_continuation",
        {"reason": "r"},
        {"state": "needs_continuation", "block_reason": "r", **UNCLAIMED},
    ),
    (
        "task_completed",
        {"result": "r", "artifacts": ["a"]},
        {
            "state": "completed",
            "result": "r",
            "artifacts": ("a",),
            "completed_at": NOW,
            "block_reason": None,
            **UNCLAIMED,
        },
    ),
    ("task_failed", {"error": "e"}, {"state": "failed", "result": "e", **UNCLAIMED}),
    ("task_cancelled", {"reason": "r"}, {"state": "cancelled", **UNCLAIMED}),
    ("task_deleted", {"edgesRemoved": 0}, {}),
    ("dependency_added", {"fromId": "T-1", "toId": "T-2", "edgeType": "depends_on"}, {}),
    ("dependency_added", {"toId": "T-2", "state": "created"}, {"state": "created"}),
    ("dependency_removed", {"fromId": "T-1", "toId": "T-2"}, {}),
]


@pytest.mark.parametrize(("event_type", "data", "columns"), MEANINGS)
def test_an_event_sets_these_columns_and_no_others(
    event_type: str, data: dict[str, Any], columns: dict[str, Any]
) -> None:
    before = repr(data)
    assert changes(event_type, data, NOW) == columns
    assert repr(data) == before


def test_every_state_bearing_event_has_a_meaning() -> None:
    assert {event_type for event_type, _, _ in MEANINGS} == STATE_BEARING


def test_what_can_be_updated_is_named_as_on_the_wire() -> None:
    wire = dict(zip(Task.__struct_fields__, Task.__struct_encode_fields__, strict=True))
    assert {column: wire[column] for column in UPDATABLE} == UPDATABLE


def folded(*events: tuple[str, str, dict[str, Any]]) -> Fold:
    return Fold().add_all(
        event(kind, node, data, seq=n) for n, (kind, node, data) in enumerate(events)
    )


def created(node: str, **more: Any) -> tuple[str, str, dict[str, Any]]:
    return ("task_created", node, {"goal": node, **more})


def depends(source: str, target: str) -> tuple[str, str, dict[str, Any]]:
    return (
        "dependency_added",
        source,
        {"fromId": source, "toId": target, "edgeType": "depends_on"},
    )


def test_a_fold_follows_a_task_through_its_life() -> None:
    fold = folded(
        created("T-1"),
        ("task_ready", "T-1", {}),
        ("task_claimed", "T-1", {"agent": "a", "token": 1}),
        ("task_started", "T-1", {"context": {}}),
        ("task_completed", "T-1", {"result": "r"}),
    )
    task = fold.tasks["T-1"]
    assert (task["state"], task["result"], task["claim_agent"]) == ("completed", "r", None)


def test_a_fold_keeps_edges_of_both_types() -> None:
    fold = folded(created("T-1"), created("T-2", parentTaskId="T-1"), depends("T-2", "T-1"))
    assert fold.edges == {("T-2", "spawned_by", "T-1"), ("T-2", "depends_on", "T-1")}


def test_a_removed_dependency_leaves_the_other_edge() -> None:
    fold = folded(
        created("T-1"),
        created("T-2", parentTaskId="T-1"),
        depends("T-2", "T-1"),
        ("dependency_removed", "T-2", {"fromId": "T-2", "toId": "T-1"}),
    )
    assert fold.edges == {("T-2", "spawned_by", "T-1")}


def test_a_deleted_task_takes_its_edges_along() -> None:
    fold = folded(
        *(created(node) for node in ("T-1", "T-2", "T-3")),
        depends("T-2", "T-1"),
        depends("T-3", "T-2"),
        depends("T-3", "T-1"),
        ("task_deleted", "T-2", {"edgesRemoved": 2, "dependents": ["T-3"]}),
    )
    assert set(fold.tasks) == {"T-1", "T-3"}
    assert fold.edges == {("T-3", "depends_on", "T-1")}
    assert fold.unmet("T-3") == 1


@pytest.mark.parametrize(
    ("ending", "unmet"),
    [("task_completed", 0), ("task_cancelled", 0), ("task_failed", 1), ("task_submitted", 1)],
)
def test_only_completed_and_cancelled_dependencies_are_met(ending: str, unmet: int) -> None:
    fold = folded(created("T-1"), created("T-2"), depends("T-2", "T-1"), (ending, "T-1", {}))
    assert fold.unmet("T-2") == unmet
    assert fold.unmet("T-1") == 0


def test_events_that_bear_no_state_change_nothing() -> None:
    fold = folded(created("T-1"))
    before = (repr(fold.tasks), set(fold.edges))
    for kind in ("dependency_satisfied", "agent_metrics", "hook_error", "deployed"):
        fold.add(event(kind, "T-1", {"state": "completed", "goal": "x"}))
    assert (repr(fold.tasks), fold.edges) == before
