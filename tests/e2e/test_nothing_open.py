"""A project whose tasks are all finished is not one without tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def test_a_list_without_open_tasks_says_how_to_see_the_finished_ones(cli: Cli) -> None:
    assert "no tasks; `hookline task add GOAL` adds one" in cli("task", "list").stdout
    task = cli.add("do it")
    cli.json("task", "complete", task)
    said = cli("task", "list").stdout
    assert said == "no open tasks; `hookline task list --all` shows the finished ones too\n"
    assert "no tasks;" in cli("task", "list", "--label", "other").stdout
    assert task in cli("task", "list", "--all").stdout
