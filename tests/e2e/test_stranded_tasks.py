"""Tasks whose dependencies are met while check-dependency-satisfaction is off."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

NAME = "check-dependency-satisfaction"


def strand(cli: Cli) -> str:
    """A task that waits for nothing any more, and that nobody has made ready."""
    first = cli.add("first")
    second = cli.add("second", "--depends-on", first)
    cli.json("task", "complete", first)
    assert cli.task(second)["state"] == "created"
    return second


def test_switching_the_hook_on_again_makes_them_ready(cli: Cli) -> None:
    cli.json("hook", "disable", NAME)
    second = strand(cli)
    cli.add("another")
    assert cli.task(second)["state"] == "created"
    cli.json("hook", "enable", NAME)
    assert cli.task(second)["state"] == "ready"
    (satisfied,) = cli.events("dependency_satisfied")
    assert satisfied["nodeId"] == second
    assert satisfied["data"] == {"dependentTaskId": second, "completedTaskId": "T-1"}
    assert satisfied["metadata"]["hook"] == NAME


def test_the_next_change_makes_them_ready_once_the_file_says_so(cli: Cli) -> None:
    cli.configure(f"hooks: {{task_completed: [{{name: {NAME}, enabled: false}}]}}\n")
    second = strand(cli)
    cli.configure(f"hooks: {{task_completed: [{{name: {NAME}, enabled: true}}]}}\n")
    assert cli.json("task", "next", "--claim", "--agent", "ada")["id"] == second
    assert [event["nodeId"] for event in cli.events("task_ready")] == ["T-1", second]


def test_a_task_whose_dependency_was_removed_is_ready_as_well(cli: Cli) -> None:
    cli.json("hook", "disable", NAME)
    first = cli.add("first")
    second = cli.add("second", "--depends-on", first)
    cli.json("dep", "remove", second, first)
    assert cli.task(second)["state"] == "created"
    cli.json("hook", "enable", NAME)
    assert cli.task(second)["state"] == "ready"
    assert cli.events("dependency_satisfied") == []


def test_what_still_waits_keeps_waiting(cli: Cli) -> None:
    cli.json("hook", "disable", NAME)
    first, other = cli.add("first"), cli.add("other")
    third = cli.add("third", "--depends-on", first, "--depends-on", other)
    cli.json("task", "complete", first)
    cli.json("hook", "enable", NAME)
    assert cli.task(third)["state"] == "created"
    cli.json("task", "complete", other)
    assert cli.task(third)["state"] == "ready"
