"""What steers git, changed by a program of the work that Hookline runs: a person looks first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

TESTS = "for t in test_*.sh; do test ! -e ./$t || sh ./$t || exit 1; done"
GATE = f"hooks: {{before_submit: [{{run_tests: '{TESTS}'}}]}}\ngates: {{test: none}}\n"
COMMAND = f"hooks: {{before_merge: [{{command: '{TESTS}'}}]}}\ngates: {{test: none}}\n"
MERGED = f"gates: {{test: '{TESTS}'}}\n"
RULE = f"gates: {{test: none}}\nvalidation: [{{name: tests, type: command, command: '{TESTS}'}}]\n"
PLANT = "mkdir -p {git}/hooks; echo 'touch {box}/sprung' > {git}/hooks/pre-commit\n"


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    ("configuration", "when"),
    [
        (GATE, "while gates ran"),
        (COMMAND, "while gates ran"),
        (MERGED, "while the merged result was tested"),
        (RULE, "while the agent worked"),
    ],
)
def test_what_a_test_of_the_work_plants_in_git_waits_for_a_person(
    line: Pipeline, configuration: str, when: str
) -> None:
    line.begin(configuration, remote=False)
    git = line.cli.root / ".git"
    plant = PLANT.format(git=git, box=line.box)
    line.turn(f'work\ncat > test_x.sh <<"X"\n{plant}X\n')
    task = line.cli.add("a part")
    line.cli("work", "--once")
    (found,) = (each for each in line.cli("attention", "--json").json if each["id"] == task)
    assert (
        f"files in .git that control git were changed {when}: hooks/pre-commit" in found["message"]
    )
    assert found["command"] == f"hookline submit {task}"
    assert line.merges() == []
    # They undo it, or leave it: what is there before the next try is theirs.
    line.cli("submit", task)
    assert line.merges() == [task]
