"""What steers git for all worktrees: if it changes while an agent works, a person looks first."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import PROGRAM
from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.session_rig import PROMISE, Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

GATES = "hooks: {before_submit: [{run_tests: 'make test'}]}\ngates: {test: 'make test'}\n"
PLANTS = """\
printf '#!/bin/sh\\ntouch {box}/sprung\\n' > {git}/hooks/post-merge; chmod +x {git}/hooks/post-merge
echo '* filter=x' >> {git}/info/attributes
git config filter.x.smudge 'touch {box}/sprung; cat'
echo '{box}' > {git}/objects/info/alternates
"""
NAMED = ["filter.x.smudge in config", "hooks/post-merge", "info/attributes"]


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    made = Pipeline(cli)
    made.begin(GATES, remote=False)
    return made


def script(line: Pipeline, text: str) -> str:
    return text.format(git=line.cli.root / ".git", box=line.box)


def reason(line: Pipeline, task: str) -> dict[str, str]:
    """What attention says about the task."""
    assert line.cli.task(task)["state"] == "needs_continuation"
    found = [each for each in line.cli("attention", "--json").json if each["id"] == task]
    assert len(found) == 1
    return dict(found[0])


def test_work_waits_until_a_person_has_looked_at_what_steers_git(line: Pipeline) -> None:
    task = line.cli.add("part 1")
    line.turn(f"work\n{script(line, PLANTS)}")
    line.cli("work", "--once")
    told = reason(line, task)
    names = ", ".join([*NAMED, "objects/info/alternates"])
    assert (
        f"files in .git that control git were changed while the agent worked: {names}"
        in told["message"]
    )
    assert told["command"] == f"hookline submit {task}"
    assert (line.merges(), (line.box / "sprung").exists()) == ([], False)
    # The person undoes it; what they set themselves, now or before a turn, is theirs.
    (line.cli.root / ".git/hooks/post-merge").unlink()
    (line.cli.root / ".git/info/attributes").unlink()
    (line.cli.root / ".git/objects/info/alternates").unlink()
    line.git("config", "--remove-section", "filter.x")
    line.git("config", "alias.st", "status")
    assert line.cli("submit", task).code == 0
    line.git("config", "alias.ci", "commit")
    # Git itself and its tools write such settings all day, and so do we.
    other = line.cli.add("part 2")
    line.turn("work\ngit branch -q mine\ngit config branch.mine.remote .\n")
    line.cli("work", "--once")
    assert line.merges() == [task, other]


def test_a_turn_that_mends_is_watched_as_well(line: Pipeline) -> None:
    task = line.cli.add("part 1")
    plant = script(line, "echo '*.log' >> {git}/info/exclude")
    line.turn(f'if [ "$n" = 1 ]; then echo broken >> log; else {plant}; fi\n')
    line.cli("work", "--once")
    assert "while the agent worked: info/exclude" in reason(line, task)["message"]


def test_a_turn_that_is_killed_hides_nothing(line: Pipeline) -> None:
    task = line.cli.add("part 1")
    plant = script(line, "git config core.hooksPath {box}; kill -9 $(cat {box}/victim)")
    line.turn(f'if [ "$n" = 1 ]; then {plant}; else work; fi\n')
    begin = f'echo $$ > {line.box}/victim; exec "$@"'
    subprocess.run(
        ("sh", "-c", begin, "sh", *PROGRAM, "work", "--once"),
        cwd=line.cli.root,
        env=line.cli.env,
        capture_output=True,
    )
    line.cli("work", "--once")
    assert "core.hookspath in config" in reason(line, task)["message"]


def test_a_run_whose_work_waits_for_a_person_says_so(cli: Cli) -> None:
    rig = Rig(cli)
    rig.repository()
    rig.turns(f"touch done; git config core.pager less; {PROMISE}")
    rig.configure({})
    done = cli("run", "do it", "--name", "s", "--agent", "bot")
    assert done.code == 4
    why = "files in .git that control git were changed while the agent worked: core.pager in config"
    assert f"T-1 is blocked: {why}" in done.stderr
    assert "`hookline task unblock T-1`" in done.stderr
    assert cli.task("T-1")["state"] == "blocked"
    (ended,) = rig.data("session_ended")
    assert (ended["outcome"], ended["taskHeld"]) == ("completed", why)
    assert cli("session", "attach", "s", "--from-start").code == 4


def test_a_run_in_a_worktree_whose_work_is_sent_back_says_so(line: Pipeline) -> None:
    task = line.cli.add("part 1")
    line.turn("work\ngit config core.pager less$n\n")
    line.cli("work", "--once")
    done = line.cli("run", "--task", task)
    assert done.code == 4
    assert f"{task} is sent back: files in .git that control git were changed" in done.stderr
    assert f"`hookline submit {task}`" in done.stderr
    assert "its gates come next" not in done.stderr
    assert line.cli.task(task)["state"] == "needs_continuation"
