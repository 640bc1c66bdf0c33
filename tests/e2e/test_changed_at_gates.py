"""What `changed()` in the condition of a gate looks at: all that the work changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli

POINTS = ("before_submit", "after_submit", "before_merge", "after_merge")


def gates(first: str = "") -> str:
    """At each point a gate for work on src, which notes that it ran, and one for work on docs."""
    lines = ["hooks:"]
    for point in POINTS:
        notes = f"echo {point} >> $HOOKLINE_PROJECT/../ran"
        lines += [f"  {point}:", *([f"    - {first}"] if first and point == POINTS[0] else ())]
        lines += [f"    - {{name: {point}-src, command: '{notes}', when: \"changed('src/**')\"}}"]
        lines += [f"    - {{name: {point}-docs, command: 'false', when: \"changed('docs/**')\"}}"]
    return "\n".join([*lines, ""])


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    cli.put("src/old", "1\n2\n3\n4\n")
    cli.put("src/other", "other\n")
    return Pipeline(cli)


def ran(cli: Cli) -> list[str]:
    found = cli.root.parent / "ran"
    return found.read_text().split() if found.exists() else []


def do(line: Pipeline, act: str) -> tuple[str, Path]:
    """A task whose agent does something in its worktree."""
    line.turn(f"work\n{act}\n")
    return line.cli.add("a part"), line.place("T-1")


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    "act",
    [
        "echo new > src/new",
        "git rm -q src/old",
        "mkdir lib; git mv src/old lib/old",
        "git mv log src/log; git commit -qam moved; git mv src/log log; echo 5 >> src/old",
        "echo more >> src/old; git commit -qam edited; echo x > other",
        "echo more >> src/old; git add --all; c=$(git commit-tree -m x -p HEAD $(git write-tree));"
        " git update-ref HEAD $c; git update-ref refs/remotes/origin/main $c; echo x > other",
    ],
)
def test_a_gate_sees_what_was_committed(line: Pipeline, cli: Cli, act: str) -> None:
    line.begin(gates() + "gates: {test: 'true'}\n")
    do(line, act)
    line.worker()
    assert ran(cli) == list(POINTS)


@pytest.mark.examples(1)
@pytest.mark.parametrize("method", ["squash", "rebase"])
def test_a_gate_sees_it_however_it_is_merged(line: Pipeline, cli: Cli, method: str) -> None:
    line.begin(gates() + f"gates: {{test: 'true', method: {method}}}\n", remote=False)
    do(line, "git rm -q src/old; git commit -qm removed; echo x > other")
    line.worker()
    assert ran(cli) == list(POINTS)


def test_a_gate_is_skipped_where_the_work_changes_nothing_of_its_own(
    line: Pipeline, cli: Cli
) -> None:
    line.begin(gates("rebase_on_main") + "gates: {test: 'true'}\n")
    elsewhere = cli.root.parent / "other"
    line.git("clone", "--quiet", str(line.remote), str(elsewhere))
    (elsewhere / "src" / "other").write_text("of somebody else\n")
    line.commit("other", at=elsewhere)
    do(line, f"git -C {elsewhere} push -q origin main")
    line.worker()
    assert (ran(cli), len(line.merges())) == ([], 1)


def test_a_person_s_own_branch_is_compared_with_its_base(line: Pipeline, cli: Cli) -> None:
    line.begin(gates() + "gates: {test: 'true'}\n")
    cli.add("a part")
    line.git("switch", "--quiet", "--create", "mine")
    cli.put("src/new", "new\n")
    line.commit("new")
    assert cli("submit", "T-1").code == 0
    assert ran(cli) == list(POINTS)


def test_a_gate_fails_where_nothing_can_be_compared(line: Pipeline, cli: Cli) -> None:
    index = "$(git rev-parse --git-dir)/index"
    spoils = f"{{name: spoils, command: 'rm {index}; mkdir {index}'}}"
    line.begin(gates(spoils) + "gates: {test: 'true'}\n")
    task, _ = do(line, "true")
    line.worker(code=4)
    assert cli.task(task)["state"] != "completed"
    assert "git's index" in cli.task(task)["blockReason"]
    assert "cannot be read" in cli.task(task)["blockReason"]
