"""What must not get into a repository by mistake is found before any gate is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli

NO_GATES = "hooks: {before_submit: []}\n"
SMALL = NO_GATES + "gates: {max_file: 10 KB}\n"
ONCE = NO_GATES + "gates: {tries: 0}\n"


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def test_a_large_file_is_told_to_the_agent_and_never_committed(line: Pipeline, cli: Cli) -> None:
    line.begin(SMALL)
    line.turn(
        'if grep -q "larger than 10 KB" "$box/$n"; then rm -r core.dump\n'
        "else work; head -c 10241 /dev/zero > core.dump; head -c 10240 /dev/zero > fits; fi\n"
    )
    task = cli.add("a part")
    assert line.worker()["merged"] == [task]
    assert "core.dump (10,241 bytes)" in line.prompts(task)[1]
    assert len(line.prompts(task)) == 2
    assert line.git("log", "--all", "--format=%h", "--", "core.dump") == ""
    assert line.git("ls-tree", "--name-only", "main", "fits", at=line.main) == "fits"


def test_a_large_file_in_any_commit_is_found(line: Pipeline, cli: Cli) -> None:
    line.begin(ONCE)
    task = cli.add("a part")
    place = line.by_hand(task)
    (place / "big file").write_bytes(b"0" * (5 * 1024 * 1024 + 1))
    line.commit("by mistake", at=place)
    assert cli("submit", task).code == 3
    assert "big file (5,242,881 bytes) is larger than 5 MB" in cli.task(task)["blockReason"]
    assert line.merges() == []


def test_a_large_file_that_was_taken_out_is_in_no_commit(line: Pipeline, cli: Cli) -> None:
    line.begin(ONCE)
    task = cli.add("a part")
    place = line.by_hand(task)
    (place / "big file").write_bytes(b"0" * (5 * 1024 * 1024 + 1))
    line.commit("by mistake", at=place)
    (place / "big file").unlink()
    (place / "small").write_text("x\n")
    line.commit("out again", at=place)
    assert cli("submit", task).code == 0
    assert line.git("log", "--all", "--format=%h", "--", "big file", at=line.main) == ""
    assert line.git("show", "main:small", at=line.main) == "x"


def test_a_repository_inside_of_the_work(line: Pipeline, cli: Cli) -> None:
    line.begin(ONCE)
    tasks = [cli.add("empty"), cli.add("with a commit"), cli.add("committed")]
    for task in tasks:
        inner = line.by_hand(task, text="\n") / "vendor" / "inner"
        line.git("init", "--quiet", str(inner))
        if task != tasks[0]:
            (inner / "file").write_text("in it\n")
            line.commit("inner", at=inner)
    line.commit("as it is", at=line.place(tasks[2]))
    for task in tasks:
        assert cli("submit", task).code == 3
        reason = cli.task(task)["blockReason"]
        assert "vendor/inner is a repository of its own" in reason, reason
    for task in tasks[:2]:
        assert line.git("ls-tree", "-r", f"hookline/{task}", "vendor") == ""
    assert line.merges() == []


def library(line: Pipeline, cli: Cli) -> Path:
    """A project with a submodule, whose remote the test may look into."""
    line.git("config", "--global", "protocol.file.allow", "always")
    work, remote = cli.root.parent / "library", cli.root.parent / "library.git"
    line.git("init", "--quiet", str(work))
    (work / "lib.sh").write_text("true\n")
    line.commit("a library", at=work)
    line.git("clone", "--quiet", "--bare", str(work), str(remote))
    line.git("init", "--quiet")
    line.git("submodule", "--quiet", "add", str(remote), "lib")
    return remote


@pytest.mark.torture
def test_a_commit_of_a_submodule_that_its_remote_does_not_have(line: Pipeline, cli: Cli) -> None:
    remote = library(line, cli)
    line.begin(NO_GATES)
    # The remote-tracking ref is forged: only the remote itself can say what it has.
    line.turn(
        'if [ "$n" = 1 ]; then work; cd lib && echo false > lib.sh && git commit -qam new\n'
        "git update-ref refs/remotes/origin/main HEAD\n"
        'else grep -q "does not have" "$box/$n" && git -C lib push -q origin HEAD:main; fi\n'
    )
    task = cli.add("a part")
    assert line.worker()["merged"] == [task]
    assert len(line.prompts(task)) == 2
    assert "lib" in line.prompts(task)[1]
    assert line.git("log", "-1", "--format=%s", "main", at=remote) == "new"


def test_findings_are_for_worktrees_and_not_for_your_own_branch(line: Pipeline, cli: Cli) -> None:
    line.begin(SMALL)
    task = cli.add("a part")
    line.work("thing")
    cli.put("core.dump", "0" * 20_000)
    assert cli("submit", task).code == 0
    assert line.git("status", "--porcelain") == "?? core.dump"


def test_a_size_that_cannot_be_read(line: Pipeline, cli: Cli) -> None:
    cli.put("hookline.yaml", "version: 1\ngates: {max_file: huge}\n")
    result = cli("check")
    assert result.code != 0
    assert "'gates.max_file' must be bytes, or a text such as" in result.stdout + result.stderr
