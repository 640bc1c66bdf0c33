"""Repositories that are not as one would wish: a clear message, and nothing is lost."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import FULL, Pipeline

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def git_hook(folder: Path, name: str, script: str) -> Path:
    """A hook of git's own."""
    path = folder / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_no_commits(line: Pipeline, cli: Cli) -> None:
    line.begin()
    task = cli.add("a part")
    shutil.rmtree(cli.root / ".git")
    line.git("init", "--quiet")
    for words in (("work", "--once"), ("submit", task)):
        code, error = cli.refused(*words)
        assert (code, error["code"]) == (1, "repository")
        assert "the repository has no commits yet" in error["message"]
        assert "make a first commit" in error["help"]
    assert cli.task(task)["state"] == "ready"
    assert (cli.root / "log").exists()


@pytest.mark.torture
def test_a_detached_head(line: Pipeline, cli: Cli) -> None:
    line.begin(remote=False)
    line.git("switch", "--quiet", "--detach")
    before = line.git("rev-parse", "HEAD")
    task = cli.add("a part")
    assert line.worker()["merged"] == [task]
    assert line.merges() == [task]
    assert (line.git("rev-parse", "HEAD"), line.git("status", "--porcelain")) == (before, "")
    line.check_main()


@pytest.mark.torture
def test_edits_in_the_way_of_a_merge_without_a_remote(line: Pipeline, cli: Cli) -> None:
    line.begin(remote=False)
    cli.put("log", "a thought of mine\n")
    task = cli.add("a part")
    assert line.worker(code=4)["sentBack"] == [task]
    reason = cli.task(task)["blockReason"]
    assert f"edits in {cli.root} would be overwritten (log)" in reason
    assert (cli.root / "log").read_text() == "a thought of mine\n"
    assert (line.merges(), line.parts(f"hookline/{task}")) == ([], {task})
    line.git("checkout", "--quiet", "log")
    assert cli("submit", task).code == 0
    assert (line.merges(), len(line.pulls())) == ([task], 1)


def test_edits_in_the_way_where_the_merge_is_made_at_a_remote(line: Pipeline, cli: Cli) -> None:
    line.begin()
    cli.put("log", "a thought of mine\n")
    task = cli.add("a part")
    assert line.worker()["merged"] == [task]
    assert (cli.root / "log").read_text() == "a thought of mine\n"
    assert (line.merges(), line.git("rev-parse", "main")) == (
        [task],
        line.git("rev-parse", "main~1", at=line.main),
    )


@pytest.mark.torture
def test_a_hook_of_git_that_refuses_the_commit(line: Pipeline, cli: Cli) -> None:
    line.begin()
    hook = git_hook(cli.root / ".git", "pre-commit", "echo the moon is full >&2; exit 1")
    task = cli.add("a part")
    assert line.worker(code=4)["sentBack"] == [task]
    assert "the moon is full" in cli.task(task)["blockReason"]
    assert "the moon is full" in line.prompts(task)[1]
    assert (line.place(task) / "parts" / task).read_text() == "by bot\n"
    assert (line.merges(), line.pulls()) == ([], [])
    hook.unlink()
    assert cli("submit", task).code == 0
    assert line.merges() == [task]


def test_a_hook_of_git_that_the_agent_can_satisfy(line: Pipeline, cli: Cli) -> None:
    line.begin()
    wanted = "test -f signed || { echo it is not signed >&2; exit 1; }"
    git_hook(cli.root / ".git", "pre-commit", wanted)
    line.turn("work; grep -q 'it is not signed' \"$box/$n\" && touch signed\n")
    task = cli.add("a part")
    assert line.worker()["merged"] == [task]
    assert len(line.prompts(task)) == 2


def test_a_branch_that_is_protected(line: Pipeline, cli: Cli) -> None:
    line.begin()
    protected = "grep -q refs/heads/main && echo main is protected >&2 && exit 1; exit 0"
    hook = git_hook(line.remote, "pre-receive", protected)
    task = cli.add("a part")
    assert line.worker(code=4)["sentBack"] == [task]
    reason = cli.task(task)["blockReason"]
    assert "main was not moved at origin" in reason
    assert "main is protected" in reason
    assert [each["state"] for each in line.pulls()] == ["open"]
    assert (line.merges(), line.parts(f"hookline/{task}", cli.root)) == ([], {task})
    hook.unlink()
    assert cli("submit", task).code == 0
    assert line.merges() == [task]
    assert [each["state"] for each in line.pulls()] == ["merged"]


def test_submodules(line: Pipeline, cli: Cli) -> None:
    line.git("config", "--global", "protocol.file.allow", "always")
    library = cli.root.parent / "library"
    library.mkdir()
    line.git("init", "--quiet", at=library)
    (library / "lib.sh").write_text("true\n")
    line.commit("a library", at=library)
    line.git("init", "--quiet")
    line.git("submodule", "--quiet", "add", str(library), "lib")
    line.begin("hooks: {before_submit: [{command: 'sh lib/lib.sh'}]}\n")
    line.turn("work; sh lib/lib.sh || echo 'the library is missing' > missing\n")
    task = cli.add("a part")
    assert line.worker()["merged"] == [task]
    assert line.git("ls-tree", "main", "lib", "missing", at=line.main).startswith("160000 commit")
    assert not line.place(task).exists()
    assert line.git("status", "--porcelain") == ""


@pytest.mark.torture
def test_a_shallow_clone(line: Pipeline, cli: Cli, tmp_path: Path) -> None:
    line.begin()
    line.push_aside("other", conflicting=False)
    line.git("pull", "--quiet")
    shutil.rmtree(cli.root / ".git")
    copy = tmp_path / "shallow"
    line.git("clone", "--quiet", "--depth", "1", line.remote.as_uri(), str(copy))
    (copy / ".git").rename(cli.root / ".git")
    task = cli.add("a part")
    assert line.worker()["merged"] == [task]
    assert line.merges() == [task]
    line.check_main()


def test_a_shallow_clone_whose_work_cannot_be_compared(
    line: Pipeline, cli: Cli, tmp_path: Path
) -> None:
    line.begin(FULL)
    task = cli.add("a part")
    line.git("switch", "--quiet", "--create", "work")
    cli.put("log", "thing\n")
    cli.put("parts/thing", "by hand\n")
    line.commit("a thing")
    line.git("push", "--quiet", "origin", "work")
    line.push_aside("other", conflicting=False)
    shutil.rmtree(cli.root / ".git")
    copy = tmp_path / "shallow"
    words = ("clone", "--quiet", "--depth", "1", "--no-single-branch")
    line.git(*words, line.remote.as_uri(), str(copy))
    (copy / ".git").rename(cli.root / ".git")
    line.git("checkout", "--quiet", "--force", "work")
    result = cli("submit", task, "--json")
    assert result.code == 3, result
    assert "no commit in common" in result.json["reason"]
    assert "git fetch --unshallow" in result.json["reason"]
    line.git("fetch", "--quiet", "--unshallow")
    assert cli("submit", task).code == 0
    assert line.merges() == [task]
