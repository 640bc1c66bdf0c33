"""Work that was sent back: whoever goes on with it knows why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

SIGNED = "{name: signed, command: 'cat signed || { echo it is not signed; exit 1; }'}"
GATED = f"gates: {{tries: 1}}\ntask_types: {{part: {{hooks: {{before_submit: [{SIGNED}]}}}}}}\n"
PLAIN = "gates: {tries: 1}\ntask_types: {part: {hooks: {before_submit: [rebase_on_main]}}}\n"


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def test_the_first_prompt_has_the_gate_its_output_and_the_attempts(
    line: Pipeline, cli: Cli
) -> None:
    line.begin(GATED)
    line.turn(
        'cp .hookline/task.md "$here/task-$n.md"\n'
        'case $n in 1) work ;; 2) echo "I did not find the pen." ;;\n'
        "  3) echo 'One more look.'; exit ;; *) echo me > signed ;; esac\n"
    )
    task = cli.add("a part\n\nWith care.", "--type", "part")
    assert line.worker(code=4)["sentBack"] == [task]
    assert cli("run", "--task", task).code == 0
    first, mended, again, last = line.prompts(task)
    assert "Sent back" not in first + mended
    for told in (again, (line.box / "task-3.md").read_text()):
        assert "signed: " in told
        assert "it is not signed" in told
        assert "I did not find the pen." in told
    assert again.index("With care.") < again.index("it is not signed")
    assert "what was found" not in last  # once is enough
    assert "Sent back" not in (line.box / "task-1.md").read_text()
    assert cli("submit", task).code == 0
    assert line.merges() == [task]


@pytest.mark.torture
def test_the_conflict_and_earlier_submissions_are_told(line: Pipeline, cli: Cli) -> None:
    line.begin(PLAIN)
    line.turn("echo 'I do not know how.'\n")
    task = cli.add("a part", "--type", "part")
    line.by_hand(task)
    line.push_aside("other")
    for _ in range(2):
        assert cli("submit", task, "--agent", "bot").code == 3
    assert cli("run", "--task", task).code == 0
    told = line.prompts(task)[-1]
    assert "rebase_on_main: conflict with main in log" in told
    assert f"File log\n--- your side:\n{task}\n--- main:\nother\n" in told
    assert "\nBefore that: rebase_on_main: conflict with main in log" in told
    first, second = cli.events("task_needs_continuation")
    assert first["data"]["gate"] == second["data"]["gate"] == "rebase_on_main"
    line.turn("resolve\n")
    assert cli("submit", task).code == 0
    assert line.parts() == {"other", task}


@pytest.mark.torture
def test_a_pull_request_does_not_tell_what_was_sent_back(line: Pipeline, cli: Cli) -> None:
    line.begin(f"hooks: {{before_submit: [{SIGNED}, create_pr]}}\ngates: {{tries: 0}}\n")
    task = cli.add("a part\n\nWith care.")
    place = line.by_hand(task)
    assert cli("submit", task).code == 3
    (place / "signed").write_text("me\n")
    assert cli("submit", task).code == 0
    (pull,) = line.pulls()
    assert "With care." in pull["body"]
    # The gate's command is told as what passed; that it failed before is not.
    assert not [word for word in ("sent back", "exited", "rejected") if word in pull["body"]]


def test_a_template_of_your_own_is_told_as_well(line: Pipeline, cli: Cli) -> None:
    cli.put("own.md", "Do {{goal}} as you like.\n")
    line.begin(GATED + "session: {prompt: own.md}\n")
    line.turn('[ "$n" = 1 ] && work\n')
    task = cli.add("a part", "--type", "part")
    assert line.worker(code=4)["sentBack"] == [task]
    assert cli("run", "--task", task).code == 0
    again = line.prompts(task)[-1]
    assert again.startswith("Do a part as you like.")
    assert "it is not signed" in again
