"""A person lets work pass a gate that says no: on record, in the report and in the history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

SIGNED = "{name: signed, command: 'echo it is not signed; exit 1'}"
LAST = "{name: last, command: 'echo asked >> ../../../../last'}"
GATED = f"""\
gates: {{tries: 0}}
task_types: {{part: {{hooks: {{before_submit: [{SIGNED}, {LAST}], before_merge: [human: Well?]}}}}}}
"""
ADA = "Ada <ada@example.org>"


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def test_an_overridden_gate_is_passed_by_and_everybody_can_see_it(line: Pipeline, cli: Cli) -> None:
    line.begin(GATED)
    task = cli.add("a part", "--type", "part")
    assert line.worker(code=4)["sentBack"] == [task]
    made = cli.json("gate", "override", task, "signed", "--reason", "the pen is\nempty")
    assert (made["gate"], made["by"]) == ("signed", ADA)
    assert cli("submit", task).code == 4
    # A gate that waits is passed by as well, and its run hears of it.
    said = cli("gate", "override", task, "human", "--reason", "nobody is here")
    assert said.code == 0
    assert cli("attention").code == 0 or "human" not in cli("attention").stdout
    assert cli("merge", task).code == 0
    assert line.merges() == [task]
    assert (cli.root.parent / "last").read_text() == "asked\n"
    trailers = line.git("log", "-1", "--format=%(trailers:key=Gate-Override,valueonly)", "main")
    assert trailers.splitlines() == [
        f"signed: the pen is empty (by {ADA})",
        f"human: nobody is here (by {ADA})",
    ]
    events = cli.events("gate_overridden")
    assert [each["data"]["hook"].rpartition(":")[2] for each in events] == ["signed", "human"]
    listed = cli("gate", "list", task).stdout
    assert f"overridden by {ADA}: the pen is empty" in listed
    assert "auto-accepted: no gate is configured here" not in listed.split("after_submit")[0]
    report = cli("session", "report", f"{task}-bot", "--output", "-").stdout
    assert "Overridden gates" in report
    assert "nobody is here" in report


def test_only_people_override_and_only_a_gate_that_stands_there(line: Pipeline, cli: Cli) -> None:
    line.begin(GATED)
    task = cli.add("a part", "--type", "part")
    line.by_hand(task)
    for variable in ("HOOKLINE_AGENT", "HOOKLINE_SESSION", "HOOKLINE_HOOK"):
        env = {variable: "bot"}
        result = cli("gate", "override", task, "signed", "--reason", "I like it", env=env)
        assert (result.code, "only a person can" in result.stderr) == (4, True)
    code, error = cli.refused("gate", "override", task, "sign", "--reason", "x")
    assert (code, error["message"]) == (2, f"no gate 'sign' applies to {task}")
    assert cli("gate", "override", task, "signed").code == 2
    assert cli("gate", "override", task, "signed", "--reason", " ").code == 2
    assert cli.events("gate_overridden") == []
    assert cli("submit", task).code == 3


@pytest.mark.torture
def test_an_override_ends_when_somebody_works_on_the_task_again(line: Pipeline, cli: Cli) -> None:
    line.begin(GATED)
    task = cli.add("a part", "--type", "part")
    assert line.worker(code=4)["sentBack"] == [task]
    cli.json("gate", "override", task, "signed", "--reason", "as it is now")
    assert cli("run", "--task", task).code == 0
    assert cli("submit", task).code == 3
    assert "signed" in cli.task(task)["blockReason"]


def test_an_approval_names_the_git_identity(line: Pipeline, cli: Cli) -> None:
    line.begin("hooks: {before_submit: [], before_merge: [human: Well?]}\n")
    task = cli.add("a part")
    line.by_hand(task)
    assert cli("submit", task).code == 4
    assert cli.json("gate", "approve", task, "--comment", "yes")["by"] == ADA
    assert cli("merge", task).code == 0
    assert f"approved by {ADA}: yes" in cli("gate", "list", task).stdout
    (event,) = cli.events("gate_decided")
    assert event["data"]["by"] == ADA
