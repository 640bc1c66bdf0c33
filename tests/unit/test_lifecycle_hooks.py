"""The built-in hooks on task events as pure functions, and the public fakes they are tried with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookline.domain.hooks.records import Action
from hookline.domain.timestamps import seconds
from hookline.errors import BadInput, UnknownTask
from hookline.hooks.builtin.lifecycle import (
    auto_create_review_task,
    check_dependency_satisfaction,
    lifecycle_hooks,
    track_agent_task_lifecycle,
)
from hookline.testing import Clock, FakeFlows, FakeGraph, FakeLog, context, event

if TYPE_CHECKING:
    from hookline.ports.store import EventLog, GraphView

RESEARCH = {"goal": "Research graph patterns", "labels": ["agent", "research"], "priority": 1}


def test_the_three_stand_where_and_when_they_are_said_to() -> None:
    found = {hook.name: (hook.priority, hook.points) for hook in lifecycle_hooks()}
    assert found == {
        "auto-create-review-task": (10, ("task_completed",)),
        "check-dependency-satisfaction": (
            20,
            ("task_completed", "task_cancelled", "task_deleted", "dependency_removed"),
        ),
        "track-agent-task-lifecycle": (50, ("task_created", "task_started", "task_completed")),
    }
    for hook in lifecycle_hooks():
        assert (hook.kind, hook.layer, hook.enabled) == ("built-in", "built-in", True)
        assert hook.description.endswith(".")


# A review of what an agent did.


def review(**fields: Any) -> list[Action]:
    done = event("task_completed", "task_42", {"result": "Research complete"})
    return auto_create_review_task(done, FakeGraph({"task_42": {**RESEARCH, **fields}}))


def test_an_agents_task_is_reviewed() -> None:
    assert review() == [
        Action(
            "create_task",
            {
                "goal": "Review: Research graph patterns",
                "deliverables": ["Review completed", "Feedback provided"],
                "labels": ["review", "agent", "research"],
                "priority": 1,
                "parentTaskId": "task_42",
            },
        )
    ]


def test_priority_zero_is_kept_and_the_default_is_two() -> None:
    assert review(priority=0)[0].payload["priority"] == 0
    graph = FakeGraph({"T-1": {"labels": ["agent"]}})
    (action,) = auto_create_review_task(event("task_completed", "T-1"), graph)
    assert action.payload["priority"] == 2


@pytest.mark.parametrize("labels", [[], ["research"], ["agent", "review"], ["review"], ["agents"]])
def test_reviews_and_the_tasks_of_people_are_not_reviewed(labels: list[str]) -> None:
    assert review(labels=labels) == []


# Dependents that may go on.


def two_dependencies(first: str, second: str, dependent: str = "created") -> FakeGraph:
    return FakeGraph(
        {
            "task_10": {"state": first},
            "task_15": {"state": second},
            "task_20": {"state": dependent, "dependsOn": ["task_10", "task_15"]},
        }
    )


def promotion(task: str, settled: str) -> list[Action]:
    notice = {
        "type": "dependency_satisfied",
        "nodeId": task,
        "data": {"dependentTaskId": task, "completedTaskId": settled},
    }
    return [
        Action("update_task", {"taskId": task, "action": "transition_to_ready"}),
        Action("log", notice),
    ]


def test_a_dependent_waits_for_its_last_dependency() -> None:
    first = event("task_completed", "task_10")
    graph = two_dependencies("completed", "active")
    assert check_dependency_satisfaction(first, graph) == []
    second = event("task_completed", "task_15")
    graph = two_dependencies("completed", "completed")
    assert check_dependency_satisfaction(second, graph) == promotion("task_20", "task_15")


@pytest.mark.parametrize("other", ["created", "ready", "blocked", "submitted", "failed"])
def test_a_dependency_in_any_other_state_holds_back(other: str) -> None:
    graph = two_dependencies("completed", other)
    assert check_dependency_satisfaction(event("task_completed", "task_10"), graph) == []


@pytest.mark.parametrize("state", ["ready", "active", "blocked", "completed", "cancelled"])
def test_only_a_task_that_waits_is_made_ready(state: str) -> None:
    graph = two_dependencies("completed", "completed", dependent=state)
    assert check_dependency_satisfaction(event("task_completed", "task_10"), graph) == []


def test_a_cancelled_dependency_no_longer_holds_back() -> None:
    graph = two_dependencies("cancelled", "completed")
    given_up = event("task_cancelled", "task_10")
    assert check_dependency_satisfaction(given_up, graph) == promotion("task_20", "task_10")


def test_a_removed_dependency_no_longer_holds_back() -> None:
    removed = event("dependency_removed", "T-2", {"fromId": "T-2", "toId": "T-1"})
    graph = FakeGraph({"T-1": {}, "T-2": {}})
    assert check_dependency_satisfaction(removed, graph) == promotion("T-2", "T-1")


def test_the_dependents_of_a_deleted_task_are_told_by_the_event() -> None:
    deleted = event("task_deleted", "T-1", {"edgesRemoved": 2, "dependents": ["T-2", "T-3"]})
    graph = FakeGraph({"T-2": {}, "T-3": {"dependsOn": ["T-4"]}, "T-4": {}})
    assert check_dependency_satisfaction(deleted, graph) == promotion("T-2", "T-1")
    assert check_dependency_satisfaction(event("task_deleted", "T-1"), graph) == []


def test_several_dependents_are_made_ready_and_children_are_not_among_them() -> None:
    graph = FakeGraph(
        {
            "T-1": {"state": "completed"},
            "T-2": {"dependsOn": ["T-1"]},
            "T-3": {"dependsOn": ["T-1"]},
            "T-4": {"parentTaskId": "T-1"},
        }
    )
    assert check_dependency_satisfaction(event("task_completed", "T-1"), graph) == [
        *promotion("T-2", "T-1"),
        *promotion("T-3", "T-1"),
    ]


# Figures of agents' tasks.


def figures(event_type: str = "task_completed", **fields: Any) -> list[Action]:
    graph = FakeGraph({"task_agent_5": {**RESEARCH, **fields}})
    return track_agent_task_lifecycle(event(event_type, "task_agent_5"), graph)


def test_the_figures_of_an_agents_task_are_logged() -> None:
    assert figures(
        startedAt="2026-01-17T10:00:00Z",
        completedAt="2026-01-17T12:30:00Z",
        desiredDeliverables=["Research doc", "Pattern catalog"],
    ) == [
        Action(
            "log",
            {
                "type": "agent_metrics",
                "nodeId": "task_agent_5",
                "data": {
                    "goal": "Research graph patterns",
                    "labels": ["agent", "research"],
                    "priority": 1,
                    "durationMs": 9_000_000,
                    "deliverables": ["Research doc", "Pattern catalog"],
                },
            },
        )
    ]


def test_a_task_that_was_never_started_has_no_duration() -> None:
    (action,) = figures(completedAt="2026-01-17T12:30:00Z")
    assert action.payload["data"]["durationMs"] is None


def test_only_the_completion_of_an_agents_task_is_logged() -> None:
    assert figures("task_created") == figures("task_started") == []
    assert figures(labels=["research"]) == []


# The fakes.


def test_a_graph_of_dicts_reads_like_the_real_one() -> None:
    graph: GraphView = FakeGraph(
        {
            "T-1": {"state": "completed"},
            "T-2": {"goal": "Test", "dependsOn": ["T-1", "T-3"], "parentTaskId": "T-1"},
            "T-3": {},
        }
    )
    assert (graph.task("T-2").goal, graph.task("T-3").goal) == ("Test", "T-3")
    assert graph.task("T-3").state == "created"
    assert graph.find("T-9") is None
    assert graph.unmet("T-2") == 1
    assert [edge.id for edge in graph.edges_from("T-2")] == [
        *("T-2:depends_on:T-1", "T-2:depends_on:T-3", "T-2:spawned_by:T-1")
    ]
    assert [edge.from_id for edge in graph.edges_to("T-1", "spawned_by")] == ["T-2"]
    with pytest.raises(UnknownTask, match="there is no task T-9"):
        graph.task("T-9")


def test_a_misspelt_field_of_a_fake_task_is_an_error() -> None:
    with pytest.raises(BadInput, match="T-1: a task has no depends_on"):
        FakeGraph({"T-1": {"depends_on": ["T-2"]}})


def test_a_log_of_events_is_read_like_the_real_one() -> None:
    events = [event("a", "T-1", seq=2), event("b", "T-2", seq=1), event("a", "T-2", seq=3)]
    log: EventLog = FakeLog(events)
    assert [each.seq for each in log.events()] == [1, 2, 3]
    assert [each.seq for each in log.events(after=1, types=["a"])] == [2, 3]
    assert [each.seq for each in log.events(node_id="T-2", limit=1)] == [1]
    assert log.find(3) is events[2]
    assert log.find(4) is None


def test_flows_that_a_hook_asks_for_are_remembered() -> None:
    flows = FakeFlows()
    around = context(flows=flows)
    around.flows("deploy", {"to": "staging"})
    assert flows.started == [("deploy", {"to": "staging"})]


def test_a_clock_stands_still_until_it_is_moved() -> None:
    clock = Clock("2026-01-17T12:00:00Z")
    assert clock() == clock() == seconds("2026-01-17T12:00:00Z")
    assert clock.advance(90.5) == clock.now == "2026-01-17T12:01:30.500Z"
