"""The user's checkout is never worked in by what belongs into the worktree of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e.hostile_rig import Hostile
from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def test_gates_of_a_worktree_that_is_gone_run_nowhere_else(cli: Cli) -> None:
    """A test that the agent wrote can remove the worktree between two gates."""
    line = Pipeline(cli)
    line.begin(
        "hooks: {before_submit: [{command: 'rm -rf ../T-1'}, {command: 'touch ran'}]}\n"
        "gates: {tries: 0}\n"
    )
    task = cli.add("part 1")
    assert cli("work", "--once").code == 4
    assert not (cli.root / "ran").exists()
    assert "is gone" in cli.task(task)["blockReason"]
    assert line.git("status", "--porcelain") == ""


def test_agents_and_hooks_do_not_inherit_the_repository_of_a_hook_of_git(cli: Cli) -> None:
    line = Pipeline(cli)
    line.begin("hooks: {before_submit: [{command: 'env > ../gate; make test'}]}\n")
    line.turn("env > ../agent; work\n")
    task = cli.add("part 1")
    names = {"GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere", "GIT_WORK_TREE": "/nowhere"}
    assert cli("work", "--once", env=names).code == 0
    assert line.merges() == [task]
    for name in ("agent", "gate"):
        seen = (cli.root / ".hookline" / "worktrees" / name).read_text()
        assert "/nowhere" not in seen
        assert "GIT_CONFIG_GLOBAL" in seen


def test_an_untrusted_repository_runs_no_program_of_its_settings(cli: Cli) -> None:
    hostile = Hostile(cli, 1)
    hostile.settle(remote=False)
    place = hostile.by_hand(cli.add("part 0"))
    # Of the same size, so that git has to read it through the filter.
    (place / "log").write_text("T-x\n")
    cli.put("readme", "HELLO\n")
    trap = hostile.box / "trap"
    hostile.git("config", "filter.x.clean", str(trap))
    hostile.git("config", "core.fsmonitor", str(trap))
    cli.put(".gitattributes", "* filter=x\n")
    cli.put("hookline.yaml", f"{(cli.root / 'hookline.yaml').read_text()}# changed\n")
    for command in (("doctor",), ("worktree", "list"), ("worktree", "clean"), ("attention",)):
        cli(*command)
    assert cli("submit", "T-1").code == 2
    assert not (hostile.box / "sprung").exists(), (hostile.box / "sprung").read_text()
