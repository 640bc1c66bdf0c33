"""The base branch is chosen once: what is checked out later changes nothing for tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

NO_GATES = "hooks: {before_submit: []}\n"


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def heads(line: Pipeline, *branches: str) -> list[str]:
    return [line.git("rev-parse", f"refs/heads/{name}") for name in branches]


@pytest.mark.torture
def test_the_first_task_chooses_the_base_for_all_that_follow(line: Pipeline, cli: Cli) -> None:
    line.begin(NO_GATES, remote=False)
    line.turn('touch "own-$HOOKLINE_TASK_ID"\n')
    first = cli.add("first")
    assert line.worker()["merged"] == [first]
    (pinned,) = cli.events("base_pinned")
    assert pinned["data"] == {"branch": "main"}
    line.git("switch", "--quiet", "--create", "private")
    before = heads(line, "private")
    second = cli.add("second")
    assert line.worker()["merged"] == [second]
    third = cli.add("third")
    line.git("switch", "--quiet", "--create", "own")
    cli.put("by-hand", "mine\n")
    line.commit("by hand")
    assert "own into main" in cli("submit", third).stderr
    assert line.merges() == [first, second, third]
    assert heads(line, "private") == before
    assert len(cli.events("base_pinned")) == 1


def merge_from_a_private_branch(line: Pipeline, cli: Cli) -> None:
    """Merge a task while a branch of the user's own is checked out."""
    line.git("switch", "--quiet", "--create", "private")
    cli.put("private", "mine\n")
    line.commit("not for main")
    task = cli.add("a part")
    cli.configure(f"{NO_GATES}agents: {{bot: {line.profile}}}\n")
    (line.box / "agent.sh").write_text(
        "cat > /dev/null; touch made; echo '<promise>COMPLETE</promise>'"
    )
    line.has_remote = False
    assert line.worker()["merged"] == [task]


def test_setting_up_a_project_chooses_the_base(line: Pipeline, cli: Cli) -> None:
    line.git("init", "--quiet")
    cli.put(".gitignore", ".hookline/\n")
    line.commit("begin")
    assert cli("init", "--yes").code == 0
    merge_from_a_private_branch(line, cli)
    assert line.git("ls-tree", "--name-only", "main").split() == [".gitignore", "made"]


@pytest.mark.parametrize("by", ["init", "trust"])
def test_setting_up_a_clone_chooses_the_base(line: Pipeline, cli: Cli, by: str) -> None:
    line.git("init", "--quiet")
    cli.put(".gitignore", ".hookline/\n")
    cli.put("hookline.yaml", f"version: 1\n{NO_GATES}")
    line.commit("begin")
    if by == "trust":
        cli.add("noted before anybody looked")
        assert cli.events("base_pinned") == []
    assert cli(by, "--yes").code == 0
    assert [each["data"] for each in cli.events("base_pinned")] == [{"branch": "main"}]
    if by == "trust":
        cli("task", "cancel", "T-1")
    merge_from_a_private_branch(line, cli)
    names = line.git("ls-tree", "--name-only", "main").split()
    assert names == [".gitignore", "hookline.yaml", "made"]


def test_a_base_that_the_configuration_names_counts(line: Pipeline, cli: Cli) -> None:
    line.begin(NO_GATES, remote=False)
    first = cli.add("first")
    assert line.worker()["merged"] == [first]
    line.git("branch", "release", "main~1")
    cli.configure(f"{NO_GATES}gates: {{base: release}}\nagents: {{bot: {line.profile}}}\n")
    second = cli.add("second")
    assert line.worker()["merged"] == [second]
    assert line.parts("release") == {second}
    line.git("branch", "--quiet", "-D", "release")
    cli.add("third")
    refused = cli("work", "--once")
    assert refused.code == 1
    assert "gates: {base: NAME}" in refused.stderr


@pytest.mark.parametrize(("first", "branch"), [("trunk", "trunk"), ("master", "main")])
def test_the_base_is_chosen_before_the_first_commit(
    line: Pipeline, cli: Cli, first: str, branch: str
) -> None:
    line.git("init", "--quiet", "--initial-branch", first)
    cli.put(".gitignore", ".hookline/\n")
    assert cli("init", "--yes").code == 0
    line.git("branch", "--move", branch)  # a branch without commits can still change its name
    line.commit("begin")
    merge_from_a_private_branch(line, cli)
    merged = line.git("ls-tree", "--name-only", branch).split()
    assert ("made" in merged, "private" in merged) == (True, False)
    assert [each["data"] for each in cli.events("base_pinned")][-1] == {"branch": branch}
