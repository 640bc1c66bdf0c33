"""What Hookline began in a worktree and a kill cut short is its own to undo, nobody else's."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import PROGRAM
from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli

GATES = "hooks: {before_submit: [rebase_on_main]}\ngates: {test: 'make test', tries: 0}\n"


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    made = Pipeline(cli)
    made.begin(GATES, remote=False)
    made.turn("true\n")
    return made


def behind(line: Pipeline) -> tuple[str, Path, str]:
    """A task whose work stands on an old base: its id, its git folder, and the base."""
    task = line.cli.add("part 1")
    place = line.by_hand(task)
    line.cli.put("other", "x\n")
    line.commit("other")
    folder = line.git("rev-parse", "--absolute-git-dir", at=place)
    return task, line.cli.root / folder, line.git("rev-parse", "main")


def note(folder: Path, line: Pipeline, task: str, onto: str) -> None:
    """What is written before a rebase of ours."""
    head, branch = line.git("rev-parse", f"hookline/{task}"), f"refs/heads/hookline/{task}"
    (folder / "hookline-rebase").write_text(f"{head}\n{onto}\n{branch}")


def only(line: Pipeline, task: str) -> None:
    """The task is merged, once, without a turn of any agent."""
    result = line.cli("submit", task, "--json")
    assert (result.code, result.json["outcome"]) == (0, "merged"), result.stdout
    assert line.merges() == [task]
    assert not (line.box / task).exists()
    line.check_main()


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    "written",
    [
        "",
        "{onto:.7}",
        pytest.param("{onto}\n", marks=pytest.mark.torture),
        pytest.param(None, marks=pytest.mark.torture),
    ],
)
def test_a_rebase_that_was_killed_while_it_began_is_undone(
    line: Pipeline, written: str | None
) -> None:
    task, folder, onto = behind(line)
    note(folder, line, task, onto)
    state = folder / "rebase-merge"
    state.mkdir()
    if written is not None:
        (state / "onto").write_text(written.format(onto=onto))
        (state / "head-name").write_text("")
    only(line, task)


def test_a_pick_that_was_killed_in_the_middle_is_undone(line: Pipeline) -> None:
    task, folder, onto = behind(line)
    note(folder, line, task, onto)
    head = line.git("rev-parse", f"hookline/{task}")
    line.git("checkout", "--quiet", "--detach", onto, at=line.place(task))
    (folder / "CHERRY_PICK_HEAD").write_text(f"{head}\n")
    (line.place(task) / "log").write_text("half")
    only(line, task)


def test_a_gate_that_was_killed_in_its_rebase_goes_on(line: Pipeline) -> None:
    """Git and its caller die when the base is checked out, and a commit is picked and signed."""
    task, folder, _ = behind(line)
    signer = line.box / "signer"
    signer.write_text(f'#!/bin/sh\nkill -9 "$(cat {line.box}/victim)" $PPID\n')
    signer.chmod(0o755)
    line.git("config", "gpg.program", str(signer))
    line.git("config", "commit.gpgSign", "true")
    begin = f'echo $$ > {line.box}/victim; exec "$@"'
    subprocess.run(
        ("sh", "-c", begin, "sh", *PROGRAM, "submit", task), cwd=line.cli.root, env=line.cli.env
    )
    line.git("config", "commit.gpgSign", "false")
    assert (folder / "rebase-merge").exists()
    only(line, task)


def test_a_rebase_of_somebody_else_is_not_touched(line: Pipeline) -> None:
    task, folder, onto = behind(line)
    note(folder, line, task, line.git("rev-parse", "main~1"))
    place = line.place(task)
    (place / "log").write_text("mine\n")
    line.commit("mine", at=place)
    line.cli.put("log", "theirs\n")
    line.commit("theirs")
    begun = subprocess.run(
        ("git", "rebase", "--quiet", "main"), cwd=place, env=line.cli.env, capture_output=True
    )
    assert begun.returncode != 0
    result = line.cli("submit", task, "--json")
    assert result.code == 1
    assert "in the middle of a rebase" in result.stderr + result.stdout
    assert (folder / "rebase-merge").exists()
    assert onto
