"""What an agent plants in git, for a task that begins later or to hide what its own work holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

TYPES = """\
task_types:
  strict: {hooks: {before_submit: [{name: clean, command: "! test -e evil"}]}}
  loose: {hooks: {before_submit: []}}
gates: {test: none, max_file: 1 KB}
"""


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    made = Pipeline(cli)
    made.begin(TYPES, remote=False)
    return made


def test_commits_on_the_branch_of_a_task_that_has_not_begun(line: Pipeline) -> None:
    first = line.cli.add("a part", "--type", "strict")
    other = line.cli.add("another part", "--type", "loose", "--depends-on", first)
    line.turn(
        f'work; [ "$HOOKLINE_TASK_ID" = {first} ] || return 0\n'
        "git switch -q -c aside; touch evil; git add evil; git commit -q -m evil\n"
        f"git branch hookline/{other}; git switch -q hookline/{first}; git branch -q -D aside\n"
    )
    done = line.cli("work", "--once")
    assert line.merges() == [first]
    found = f"hookline/{other} has commits from before any work on the task"
    assert found in done.stdout + done.stderr
    assert "evil" not in line.git("ls-tree", "--name-only", "main")
    # A person who has looked at them lets it begin.
    line.git("branch", "-m", f"hookline/{other}", "looked-at")
    assert line.cli("work", "--once").code == 0
    assert line.merges() == [first, other]


def test_a_setting_does_not_send_work_into_another_branch(line: Pipeline) -> None:
    first = line.cli.add("a part", "--type", "strict")
    other = line.cli.add("another part", "--type", "strict", "--depends-on", first)
    line.git("branch", "release")
    before = line.git("rev-parse", "release")
    plant = [f"git config branch.hookline/{each}.hooklineBase release" for each in (first, other)]
    line.turn("work\n" + "\n".join(plant))
    assert line.cli("run", "--task", first).code == 0
    assert line.cli("submit", first).code == 0
    assert line.cli("work", "--once").code == 0
    assert line.merges() == [first, other]
    assert line.git("rev-parse", "release") == before
