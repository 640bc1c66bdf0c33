"""A script of a gate that is changed on main while a task is under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


@pytest.mark.parametrize("rebases", [False, True])
def test_what_is_told_helps(cli: Cli, rebases: bool) -> None:
    line = Pipeline(cli)
    cli.put("tools/judge.sh", "exit 1\n")
    first = "rebase_on_main, " if rebases else ""
    judge = "{name: judge, command: sh tools/judge.sh}"
    line.begin(
        f"hooks: {{before_submit: [{first}{judge}]}}\ngates: {{test: 'true'}}\n", remote=False
    )
    task = cli.add("a part")
    place = line.by_hand(task)
    cli.put("tools/judge.sh", "exit 0\n")
    line.commit("mend it")
    cli.json("trust", "--yes")
    result = cli("submit", task, "--json")
    if not rebases:
        assert result.json["outcome"] == "sent_back"
        assert "if the project did, rebase the task's branch" in result.json["reason"]
        line.git("rebase", "--quiet", "main", at=place)
        result = cli("submit", task, "--json")
    assert result.json["outcome"] == "merged"
