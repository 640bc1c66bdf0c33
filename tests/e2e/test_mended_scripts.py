"""A script of a gate that is changed on main while a task is under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

JUDGE = "{name: judge, command: sh tools/judge.sh}"


def _begin(cli: Cli, first: str = "") -> tuple[Pipeline, str]:
    """A project whose gate lets nothing pass, and a task."""
    line = Pipeline(cli)
    cli.put("tools/judge.sh", "exit 1\n")
    gates = "gates: {test: 'true'}\n"
    line.begin(f"hooks: {{before_submit: [{first}{JUDGE}]}}\n{gates}", remote=False)
    return line, cli.add("a part")


def _mend(line: Pipeline) -> None:
    """The project's gate works again, and a person trusts it."""
    line.cli.put("tools/judge.sh", "exit 0\n")
    line.commit("mend it")
    line.cli.json("trust", "--yes")


@pytest.mark.parametrize("first", ["", "rebase_on_main, "])
def test_the_work_follows_and_nobody_is_asked(cli: Cli, first: str) -> None:
    line, task = _begin(cli, first)
    line.by_hand(task)
    _mend(line)
    assert cli("submit", task, "--json").json["outcome"] == "merged"
    assert line.merges() == [task]
    assert not (line.box / task).exists()


def test_an_agent_is_asked_only_about_a_conflict(cli: Cli) -> None:
    line, task = _begin(cli)
    line.by_hand(task)
    with (cli.root / "log").open("a") as log:
        log.write("other\n")
    cli.put("parts/other", "by a person\n")
    _mend(line)
    assert cli("submit", task, "--json", "--agent", "bot").json["outcome"] == "merged"
    (asked,) = line.prompts(task)
    assert "Leave no marker line" in asked
    assert line.parts() == {task, "other"}
    line.check_main()


def test_a_script_that_the_task_changed_is_its_own_affair(cli: Cli) -> None:
    line, task = _begin(cli)
    place = line.by_hand(task)
    (place / "tools" / "judge.sh").write_text("echo mine; exit 0\n")
    line.commit("my judge", at=place)
    head = line.git("rev-parse", "HEAD", at=place)
    _mend(line)
    result = cli("submit", task, "--json")
    assert result.json["outcome"] == "sent_back"
    assert "If the task changed it, undo that there" in result.json["reason"]
    assert line.git("rev-parse", "HEAD", at=place) == head
