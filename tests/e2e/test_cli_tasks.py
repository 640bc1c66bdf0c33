"""The task graph through the command line: every verb, every refusal, every way to add."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

FIELDS = (
    *("id", "goal", "state", "labels", "priority", "type", "desiredDeliverables"),
    *("parentTaskId", "dependsOn", "startedAt", "completedAt", "result", "prUrl"),
    *("commitsCount", "turnsUsed", "changes"),
)


# Adding


def test_a_task_has_the_fields_that_scripts_rely_on(cli: Cli) -> None:
    parent = cli.add("parent")
    task = cli.json(
        *("task", "add", "child", "--label", "a", "--label", "b", "--deliverable", "d"),
        *("--priority", "7", "--type", "product", "--parent", parent, "--depends-on", parent),
        *("--note", "remember"),
    )
    assert set(FIELDS) <= set(task)
    assert (task["id"], task["goal"], task["state"]) == ("T-2", "child", "created")
    assert (task["labels"], task["desiredDeliverables"]) == (["a", "b"], ["d"])
    assert (task["priority"], task["type"], task["notes"]) == (7, "product", ["remember"])
    assert (task["parentTaskId"], task["dependsOn"]) == (parent, [parent])
    shown = cli.task("T-2")
    assert (shown.pop("cost") is not None, shown.pop("waits")) == (True, None)
    assert task == shown


def test_a_plain_task_is_ready_at_once_with_priority_2(cli: Cli) -> None:
    task = cli.json("task", "add", "plain")
    assert (task["state"], task["priority"]) == ("ready", 2)


def test_many_tasks_from_json_lines(cli: Cli) -> None:
    lines = [
        {"key": "a", "goal": "first", "labels": ["x"], "priority": 0},
        {"goal": "second", "dependsOn": ["a"]},
    ]
    cli.put("tasks.jsonl", "\n".join(map(json.dumps, lines)))
    first, second = cli.json("task", "add", "--from", "tasks.jsonl")
    assert (first["goal"], first["state"], first["priority"]) == ("first", "ready", 0)
    assert (second["state"], second["dependsOn"]) == ("created", [first["id"]])


def test_many_tasks_from_a_check_list_on_stdin(cli: Cli) -> None:
    tasks = cli.json("task", "add", "-", stdin="- [ ] write it\n- [x] plan it\n")
    assert {task["goal"]: task["state"] for task in tasks} == {
        "write it": "ready",
        "plan it": "completed",
    }


def test_many_tasks_are_added_all_or_none(cli: Cli) -> None:
    lines = '{"goal": "good"}\n{"goal": "bad", "dependsOn": ["T-99"]}\n'
    cli.refused("task", "add", "-", stdin=lines)
    assert cli.json("task", "list", "--all") == []
    assert cli.add("next") == "T-1"


# Verbs


def test_a_task_from_start_to_end(cli: Cli) -> None:
    task = cli.add("work")
    claimed = cli.json("task", "claim", task, "--agent", "a1")
    token = str(claimed["claim"]["token"])
    started = cli.json("task", "start", task, "--token", token)
    assert started["state"] == "active"
    assert started["startedAt"]
    blocked = cli.json("task", "block", task, "--reason", "stuck", "--required-knowledge", "k")
    assert (blocked["state"], blocked["blockReason"]) == ("blocked", "stuck")
    assert blocked["requiredKnowledge"] == ["k"]
    assert cli.json("task", "unblock", task)["state"] == "ready"
    done = cli.json("task", "complete", task, "--result", "r", "--artifact", "f")
    assert (done["state"], done["result"], done["artifacts"]) == ("completed", "r", ["f"])
    assert done["completedAt"]
    assert cli.json("task", "list") == []
    assert [each["id"] for each in cli.json("task", "list", "--all")] == [task]


def test_updating(cli: Cli) -> None:
    task = cli.add("old", "--label", "a")
    new = cli.json("task", "update", task, "--goal", "new", "--priority", "0", "--note", "n")
    assert (new["goal"], new["priority"], new["notes"]) == ("new", 0, ["n"])
    assert new["labels"] == ["a"]
    (event,) = cli.events("task_updated")
    assert event["data"]["changes"] == {"goal": "new", "priority": 0, "notes": ["n"]}


def test_a_claim_is_renewed_and_released(cli: Cli) -> None:
    task = cli.add("work")
    first = cli.json("task", "claim", task, "--agent", "a", "--lease", "1m")["claim"]
    token = str(first["token"])
    renewed = cli.json("task", "claim", task, "--renew", "--token", token, "--lease", "2h")
    assert renewed["claim"]["leaseUntil"] > first["leaseUntil"]
    assert cli.json("task", "ready") == []
    assert cli.json("task", "release", task, "--token", token)["claim"] is None
    assert [each["id"] for each in cli.json("task", "ready")] == [task]


def test_next_gives_the_best_and_claims_it(cli: Cli) -> None:
    cli.add("later", "--priority", "3")
    best = cli.add("now", "--priority", "1")
    assert cli.json("task", "next")["id"] == best
    assert cli.json("task", "next", "--claim")["claim"]["agent"] == "ada"
    assert cli.json("task", "next")["id"] != best


@pytest.mark.parametrize(
    ("verbs", "last"),
    [
        (("complete",), "start"),
        (("complete",), "complete"),
        (("cancel",), "claim"),
        (("start",), "start"),
        ((), "unblock"),
        ((), "release"),
        (("fail",), "complete"),
    ],
)
def test_transitions_that_the_state_does_not_allow(
    cli: Cli, verbs: tuple[str, ...], last: str
) -> None:
    task = cli.add("work")
    for verb in verbs:
        cli.json("task", verb, task)
    before = cli.events()
    code, error = cli.refused("task", last, task)
    assert (code, error["code"]) == (1, "illegal-transition")
    assert cli.events() == before


# Dependencies


def test_a_ready_task_goes_back_and_forth_with_its_dependencies(cli: Cli) -> None:
    first, second = cli.add("first"), cli.add("second")
    cli.json("dep", "add", second, first)
    assert cli.task(second)["state"] == "created"
    cli.json("dep", "remove", second, first)
    assert cli.task(second)["state"] == "ready"


@pytest.mark.parametrize("verb", ["cancel", "delete", "complete"])
def test_what_no_longer_holds_back_promotes(cli: Cli, verb: str) -> None:
    first = cli.add("first")
    second = cli.add("second", "--depends-on", first)
    cli.json("task", verb, first)
    assert cli.task(second)["state"] == "ready"
    assert [event["nodeId"] for event in cli.events("dependency_satisfied")] == [second]


def test_a_failed_dependency_holds_back(cli: Cli) -> None:
    first = cli.add("first")
    second = cli.add("second", "--depends-on", first)
    cli.json("task", "fail", first, "--error", "no way")
    assert cli.task(second)["state"] == "created"


def test_a_cycle_is_refused_and_shown(cli: Cli) -> None:
    first = cli.add("first")
    second = cli.add("second", "--depends-on", first)
    third = cli.add("third", "--depends-on", second)
    code, error = cli.refused("dep", "add", first, third)
    assert (code, error["code"]) == (1, "cycle")
    for task in (first, second, third):
        assert task in error["message"]
    assert cli.refused("dep", "add", first, first)[1]["code"] == "cycle"
    assert cli.task(first)["state"] == "ready"


def test_removing_what_is_not_there(cli: Cli) -> None:
    first, second = cli.add("first"), cli.add("second")
    assert cli.refused("dep", "remove", first, second)[1]["code"] == "unknown-dependency"


# Looking


def test_lists_are_filtered(cli: Cli) -> None:
    cli.add("one", "--label", "a", "--type", "t")
    cli.json("task", "complete", cli.add("two"))
    assert [t["goal"] for t in cli.json("task", "list", "--label", "a")] == ["one"]
    assert [t["goal"] for t in cli.json("task", "list", "--type", "t")] == ["one"]
    assert [t["goal"] for t in cli.json("task", "list", "--state", "completed")] == ["two"]
    assert len(cli.json("task", "list", "--all", "--limit", "1")) == 1


@pytest.mark.parametrize(
    ("form", "mark"), [("terminal", "T-2"), ("mermaid", "flowchart"), ("dot", "digraph")]
)
def test_the_graph_is_drawn(cli: Cli, form: str, mark: str) -> None:
    first = cli.add("first")
    cli.add("second", "--depends-on", first)
    result = cli("task", "graph", "--format", form)
    assert result.code == 0
    assert mark in result.stdout
    drawn = cli.json("task", "graph")
    assert [task["goal"] for task in drawn["tasks"]] == ["first", "second"]
    assert len(drawn["edges"]) == 1


def test_a_project_is_found_from_any_subfolder(cli: Cli) -> None:
    task = cli.add("one")
    deep = cli.root / "src" / "deep"
    deep.mkdir(parents=True)
    cli.root = deep
    assert cli.task(task)["goal"] == "one"


def test_nothing_is_ready_in_an_empty_project(cli: Cli) -> None:
    assert cli.json("task", "list") == []
    assert cli.json("task", "ready") == []
    code, error = cli.refused("task", "next")
    assert (code, error["code"]) == (1, "nothing-ready")


# Commands that are not understood


@pytest.mark.parametrize(
    "words",
    [
        ("no-such-command",),
        ("task", "no-such-verb"),
        ("task", "add", "x", "--no-such-option"),
        ("task", "add", "x", "--priority", "high"),
        ("task", "list", "--state", "no-such-state"),
        ("task", "block", "T-1"),
    ],
)
def test_commands_that_are_not_understood(cli: Cli, words: tuple[str, ...]) -> None:
    code, error = cli.refused(*words)
    assert (code, error["code"]) == (2, "usage")
