"""A hook of git that an agent planted runs in nobody's commit until a person has accepted it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import eventually
from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

GATES = "hooks: {before_submit: []}\ngates: {test: 'true'}\n"
HOOK = "#!/bin/sh\necho {who} >> {box}/ran\n"
ADD = "echo done > $HOOKLINE_TASK_ID.txt"
PLANT = """\
printf '{hook}' > {folder}/pre-commit
chmod +x {folder}/pre-commit
"""
# As a git does that runs the hooks which settings name: the installed one may be older.
NEWER_GIT = """\
#!/bin/sh
case " $* " in *" commit "*)
  [ "$({git} config --get hook.evil.enabled)" = false ] ||
    for line in "$({git} config --get hook.evil.command)"; do sh -c "$line"; done ;;
esac
exec {git} "$@"
"""


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    made = Pipeline(cli)
    made.begin(GATES, remote=False)
    return made


def hook(line: Pipeline, who: str) -> str:
    return HOOK.format(who=who, box=line.box)


def ran(line: Pipeline) -> list[str]:
    found = line.box / "ran"
    return found.read_text().split() if found.exists() else []


def work(line: Pipeline, more: str = "") -> str:
    """A task whose agent leaves its files to be committed, and does this besides."""
    line.turn(f"{ADD}\n{more}")
    task = line.cli.add("a part")
    line.cli("work", "--once")
    return task


@pytest.mark.examples(1)
@pytest.mark.parametrize("place", ["hooks", "core.hooksPath"])
def test_a_planted_hook_runs_only_once_a_person_has_accepted_it(line: Pipeline, place: str) -> None:
    git = line.cli.root / ".git"
    folder = git / "hooks" if place == "hooks" else line.box / "planted"
    folder.mkdir(exist_ok=True)
    plant = PLANT.format(hook=hook(line, "planted").replace("\n", "\\n"), folder=folder)
    if place != "hooks":
        plant += f"git config core.hooksPath {folder}\n"
    task = work(line, plant)
    (told,) = line.cli("attention", "--json").json
    assert (told["id"], told["command"]) == (task, f"hookline submit {task}")
    assert "until then Hookline's git runs no hooks" in told["message"]
    other = work(line)
    assert (line.merges(), ran(line)) == ([other], [])
    # Whoever goes on with the task has looked at it, and wants it.
    assert line.cli("submit", task).code == 0
    assert ran(line) != []


@pytest.mark.torture
def test_a_hook_of_the_person_runs_again_when_the_planted_one_is_gone(line: Pipeline) -> None:
    hooks = line.cli.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-commit").write_text(hook(line, "mine"))
    (hooks / "pre-commit").chmod(0o755)
    first = work(line)
    assert ran(line) == ["mine"]
    plant = PLANT.format(hook=hook(line, "planted").replace("\n", "\\n"), folder=hooks)
    task = work(line, plant)
    second = work(line)
    assert ran(line) == ["mine"]
    (hooks / "pre-commit").write_text(hook(line, "mine"))
    third = work(line)
    assert ran(line) == ["mine", "mine"]
    assert line.merges() == [first, second, third]
    # A person who ends the task has decided, too.
    plant = PLANT.format(hook=hook(line, "kept").replace("\n", "\\n"), folder=hooks)
    last = work(line, plant)
    line.cli.json("task", "cancel", task)
    line.cli.json("task", "cancel", last)
    work(line)
    assert ran(line) == ["mine", "mine", "kept"]


def test_a_hook_planted_during_a_turn_runs_in_no_other_lane(line: Pipeline) -> None:
    """The turn that plants it goes on until the other task was committed."""
    hooks = line.cli.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    plant = PLANT.format(hook=hook(line, "planted").replace("\n", "\\n"), folder=hooks)
    done = f"git --git-dir={line.main} log --format=%s main | grep -q 'part two'"
    wait = f"n=0; until {done} || [ $n = 600 ]; do sleep 0.1; n=$((n + 1)); done"
    planted = line.box / "was-planted"
    line.turn(f"{ADD}\n[ $HOOKLINE_TASK_ID != T-1 ] || {{ {plant}touch {planted}; {wait}; }}\n")
    one = line.cli.add("part one")
    worker = line.cli.start("work", "--once", "--agents", "2")
    eventually(planted.exists, "the planted hook")
    two = line.cli.add("part two")
    worker.communicate(timeout=120)
    assert (line.merges(), ran(line)) == ([two], [])
    assert line.cli.task(one)["state"] == "needs_continuation"


def test_hooks_that_settings_name_are_off_as_well(line: Pipeline) -> None:
    folder = line.box / "bin"
    folder.mkdir()
    shim = folder / "git"
    shim.write_text(NEWER_GIT.format(git=shutil.which("git")))
    shim.chmod(0o755)
    line.cli.env["PATH"] = f"{folder}:{line.cli.env['PATH']}"
    task = work(line, f"git config hook.evil.command 'echo planted >> {line.box}/ran'\n")
    reason = line.cli.task(task)["blockReason"]
    assert "hook.evil.command in config" in reason
    other = work(line)
    assert (line.merges(), ran(line)) == ([other], [])
    assert line.cli("submit", task).code == 0
    assert ran(line) != []
