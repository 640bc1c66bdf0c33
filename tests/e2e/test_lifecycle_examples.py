"""The lifecycle hooks' own examples, each with its stated result, through the command line."""

from __future__ import annotations

import json
import os
import pwd
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

OWN_EVENT = "events: [test_event]\nhooks:\n  test_event:\n"
FAILING = """
def failing(event, context):
    raise RuntimeError("Test error")


def succeeding(event, context):
    return [{"type": "log", "payload": {"type": "seen", "nodeId": event.node_id, "data": {}}}]


def confused(event, context):
    return [
        {"type": "create_task", "payload": {"goal": "", "labels": ["odd"]}},
        {"type": "create_task", "payload": {"goal": "the next action"}},
    ]


def impatient(event, context):
    return [
        {
            "type": "execute_workflow",
            "payload": {"workflowId": "heavy-computation", "context": {"deep": True}},
        }
    ]
"""


def only(found: list[dict[str, Any]]) -> dict[str, Any]:
    (one,) = found
    return one


# Reviews


def test_a_completed_agent_task_spawns_its_review(cli: Cli) -> None:
    done = cli.add(
        "Research graph patterns", "--label", "agent", "--label", "research", "--priority", "1"
    )
    cli.json("task", "complete", done, "--result", "Research complete")

    review = only(cli.json("task", "ready"))
    assert review["goal"] == "Review: Research graph patterns"
    assert review["desiredDeliverables"] == ["Review completed", "Feedback provided"]
    assert review["labels"] == ["review", "agent", "research"]
    assert review["priority"] == 1
    assert review["parentTaskId"] == done
    assert cli.json("dep", "list") == [
        {
            "edgeId": f"{review['id']}:spawned_by:{done}",
            "fromId": review["id"],
            "toId": done,
            "edgeType": "spawned_by",
        }
    ]


@pytest.mark.parametrize("labels", [(), ("research",), ("review", "agent")])
def test_other_tasks_get_no_review(cli: Cli, labels: tuple[str, ...]) -> None:
    task = cli.add("Something", *(word for label in labels for word in ("--label", label)))
    cli.json("task", "complete", task)
    assert cli.json("task", "list") == []


def test_a_review_of_a_priority_0_task_has_priority_0(cli: Cli) -> None:
    task = cli.add("Put the fire out", "--label", "agent", "--priority", "0")
    assert cli.task(task)["priority"] == 0
    cli.json("task", "complete", task)
    assert only(cli.json("task", "ready"))["priority"] == 0


def test_priority_0_comes_before_every_other(cli: Cli) -> None:
    for priority in ("2", "1", "0"):
        cli.add(f"priority {priority}", "--priority", priority)
    assert [task["priority"] for task in cli.json("task", "ready")] == [0, 1, 2]


# Dependencies


def test_a_task_is_ready_after_the_last_of_its_dependencies(cli: Cli) -> None:
    first, second = cli.add("task 10"), cli.add("task 15")
    waiting = cli.add("task 20", "--depends-on", first, "--depends-on", second)
    cli.json("task", "start", second)

    cli.json("task", "complete", first)
    assert cli.task(waiting)["state"] == "created"
    assert cli.events("dependency_satisfied") == []
    assert cli.json("task", "ready") == []

    cli.json("task", "complete", second)
    assert cli.task(waiting)["state"] == "ready"
    event = only(cli.events("dependency_satisfied"))
    assert event["nodeId"] == waiting
    assert event["data"] == {"dependentTaskId": waiting, "completedTaskId": second}
    assert [task["id"] for task in cli.json("task", "ready")] == [waiting]


def test_nothing_is_promoted_by_a_hook_that_is_switched_off(cli: Cli) -> None:
    switched_off = {"name": "check-dependency-satisfaction", "enabled": False, "priority": 20}
    cli.put("data/automation-hooks.json", json.dumps({"version": "1.0", "hooks": [switched_off]}))
    cli.json("trust", "--yes")
    first = cli.add("first")
    waiting = cli.add("second", "--depends-on", first)
    cli.json("task", "complete", first)
    assert cli.task(waiting)["state"] == "created"
    assert cli.json("task", "ready") == []
    assert cli.events("dependency_satisfied") == []


def test_the_built_ins_run_by_the_priorities_of_their_file(cli: Cli) -> None:
    hooks = [
        {"name": "track-agent-task-lifecycle", "enabled": True, "priority": 0},
        {"name": "auto-create-review-task", "enabled": True, "priority": 10},
    ]
    cli.put("data/automation-hooks.json", json.dumps({"version": "1.0", "hooks": hooks}))
    cli.json("trust", "--yes")
    cli.json("task", "complete", cli.add("work", "--label", "agent"))
    caused = [e["metadata"]["hook"] for e in cli.events() if "hook" in e["metadata"]]
    assert caused == [
        "track-agent-task-lifecycle",
        "auto-create-review-task",
        "auto-create-review-task",
    ]


# Metrics


def test_the_metrics_of_a_task_that_took_two_and_a_half_hours(cli: Cli) -> None:
    task = cli.add(
        "Research graph patterns",
        *("--label", "agent", "--label", "research", "--priority", "1"),
        *("--deliverable", "Research doc", "--deliverable", "Pattern catalog"),
    )
    cli.json("task", "start", task, "--at", "2026-01-17T10:00:00Z")
    cli.json("task", "complete", task, "--at", "2026-01-17T12:30:00Z")

    event = only(cli.events("agent_metrics"))
    assert event["nodeId"] == task
    assert event["data"] == {
        "goal": "Research graph patterns",
        "labels": ["agent", "research"],
        "priority": 1,
        "durationMs": 9000000,
        "deliverables": ["Research doc", "Pattern catalog"],
    }


def test_a_task_that_was_never_started_has_no_duration(cli: Cli) -> None:
    cli.json("task", "complete", cli.add("quick", "--label", "agent"))
    assert only(cli.events("agent_metrics"))["data"]["durationMs"] is None


# Payloads


def test_the_eight_payloads(cli: Cli) -> None:
    task = cli.add(
        "Write it down", *("--deliverable", "a page", "--label", "docs", "--priority", "3")
    )
    other = cli.add("Read it")
    cli.json("dep", "add", other, task)
    cli.json("task", "start", task, "--context", '{"why": ["asked"]}')
    cli.json(
        *("task", "block", task, "--reason", "no pen"),
        *("--required-knowledge", "where the pens are", "--required-knowledge", "which colour"),
    )
    cli.json("task", "unblock", task)
    cli.json("task", "complete", task, "--result", "done", "--artifact", "page.md")
    cli.json("dep", "remove", other, task)
    cli.json("task", "delete", other)

    found = {event["type"]: event["data"] for event in cli.events() if event["nodeId"] == task}
    assert found["task_created"] == {
        "goal": "Write it down",
        "deliverables": ["a page"],
        "labels": ["docs"],
        "priority": 3,
    }
    assert found["task_started"] == {"context": {"why": ["asked"]}}
    assert found["task_blocked"] == {
        "reason": "no pen",
        "requiredKnowledge": ["where the pens are", "which colour"],
    }
    assert found["task_completed"] == {"result": "done", "artifacts": ["page.md"]}
    found = {event["type"]: event["data"] for event in cli.events() if event["nodeId"] == other}
    edge = {"fromId": other, "toId": task}
    assert found["dependency_added"].items() >= {**edge, "edgeType": "depends_on"}.items()
    assert found["dependency_removed"] == {"edgeId": f"{other}:depends_on:{task}", **edge}
    assert found["dependency_satisfied"] == {"dependentTaskId": other, "completedTaskId": task}
    assert found["task_deleted"] == {"edgesRemoved": 0}


def test_deleting_a_task_counts_the_edges_that_go_with_it(cli: Cli) -> None:
    parent = cli.add("parent")
    middle = cli.add("middle", "--parent", parent, "--depends-on", parent)
    cli.add("last", "--depends-on", middle)
    assert cli.json("task", "delete", middle) == {"id": middle, "edgesRemoved": 3}
    assert only(cli.events("task_deleted"))["data"]["edgesRemoved"] == 3
    assert cli.json("dep", "list") == []


def test_events_have_the_fields_of_the_log(cli: Cli) -> None:
    task = cli.add("one")
    created, ready = cli.events()
    assert list(created) == ["seq", "id", "timestamp", "type", "nodeId", "data", "metadata"]
    assert (created["seq"], ready["seq"]) == (1, 2)
    assert created["id"] < ready["id"]
    assert created["nodeId"] == ready["nodeId"] == task


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"USER": "grace"}, "grace"),
        ({"USER": ""}, pwd.getpwuid(os.getuid()).pw_name),
        ({"USER": "grace", "HOOKLINE_AGENT": "implementer-1"}, "implementer-1"),
    ],
)
def test_events_name_who_triggered_them(cli: Cli, environment: dict[str, str], name: str) -> None:
    cli.json("task", "add", "one", env=environment)
    assert {event["metadata"]["triggeredBy"] for event in cli.events()} == {name}


# Errors


def test_a_failing_hook_beside_a_succeeding_one(cli: Cli) -> None:
    cli.put("lifecycle.py", FAILING)
    cli.configure(
        f"{OWN_EVENT}"
        "    - {name: failing-hook, python: 'lifecycle:failing', priority: 10}\n"
        "    - {name: success-hook, python: 'lifecycle:succeeding', priority: 20}\n"
    )
    result = cli("emit", "test_event", "--data", '{"x": 1}', "--json")
    assert result.code == 0
    assert "failing-hook" in result.stderr

    assert cli.calls("failing-hook") == ["failed"]
    assert cli.calls("success-hook") == ["ok"]
    assert only(cli.events("seen"))["metadata"]["hook"] == "success-hook"
    error = only(cli.events("hook_error"))
    assert error["nodeId"] == "system"
    assert error["data"] == {
        "hookName": "failing-hook",
        "error": "RuntimeError: Test error",
        "originalEvent": result.json,
    }


def test_a_failing_action_is_reported_and_the_next_one_carried_out(cli: Cli) -> None:
    cli.put("lifecycle.py", FAILING)
    cli.configure(f"{OWN_EVENT}    - {{name: odd, python: 'lifecycle:confused'}}\n")
    assert cli("emit", "test_event", "--json").code == 0
    error = only(cli.events("action_error"))
    assert error["nodeId"] == "system"
    assert set(error["data"]) == {"actionType", "error", "payload"}
    assert error["data"]["actionType"] == "create_task"
    assert error["data"]["payload"] == {"goal": "", "labels": ["odd"]}
    assert "goal" in error["data"]["error"]
    assert [task["goal"] for task in cli.json("task", "list")] == ["the next action"]


def test_an_unknown_workflow_is_an_action_error(cli: Cli) -> None:
    cli.put("lifecycle.py", FAILING)
    cli.configure(f"{OWN_EVENT}    - {{name: w, python: 'lifecycle:impatient'}}\n")
    assert cli("emit", "test_event", "--json").code == 0
    assert only(cli.events("action_error"))["data"] == {
        "actionType": "execute_workflow",
        "error": "there is no workflow 'heavy-computation'",
        "payload": {"workflowId": "heavy-computation", "context": {"deep": True}},
    }


def test_hooks_run_by_priority_and_0_is_the_first(cli: Cli) -> None:
    lines = "".join(
        f"    - {{name: p{priority}, command: 'echo p{priority} >> order', priority: {priority}}}\n"
        for priority in (100, 5, 0, 1)
    )
    cli.configure(
        f"hooks:\n  task_created:\n{lines}    - {{name: unset, command: 'echo u >> order'}}\n"
    )
    cli.add("one")
    order = (cli.root / "order").read_text().split()
    assert order == ["p0", "p1", "p5", "p100", "u"]
