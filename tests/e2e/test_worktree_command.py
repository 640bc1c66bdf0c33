"""`hookline worktree` as a person types it: what is listed, what is removed, and what is kept."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.git.repository.git_repository import GitRepository
from hookline.adapters.processes.process import LocalProcesses

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


def git(cli: Cli, *args: str, at: Path | None = None) -> str:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    done = subprocess.run(
        ("git", *who, *args), cwd=at or cli.root, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def project(cli: Cli) -> Cli:
    """A project with a repository and one task."""
    git(cli, "init", "--quiet", "--initial-branch=main")
    cli.put("readme", "hello\n")
    cli.add("Do it")
    git(cli, "add", "readme")
    git(cli, "commit", "--quiet", "--message", "First")
    return cli


def begin(cli: Cli, task: str = "T-1") -> Path:
    """A worktree, made as the flows make it."""
    folder = cli.root / ".hookline"
    repository = GitRepository(
        LocalProcesses(str(folder / "blobs")), str(cli.root), str(folder), os.environ
    )
    return Path(asyncio.run(repository.worktrees.open(task)).path)


def test_without_worktrees_there_is_nothing_to_list_or_to_clean(project: Cli) -> None:
    assert project("worktree", "list").stdout == "no task has a worktree\n"
    assert project("worktree", "clean").stdout == "no task has a worktree\n"
    assert project.json("worktree", "list") == []
    assert project.json("worktree", "clean") == []


def test_list_shows_each_worktree_and_what_is_unsaved(project: Cli) -> None:
    path = begin(project)
    begin(project, "T-10")
    (path / "new file").write_text("x")
    rows = project.json("worktree", "list")
    assert [(row["task"], row["branch"], row["base"], row["ahead"]) for row in rows] == [
        ("T-1", "hookline/T-1", "main", 0),
        ("T-10", "hookline/T-10", "main", 0),
    ]
    assert rows[0]["path"] == str(path)
    assert rows[0]["unsaved"] == ["uncommitted files: new file"]
    first, second = project("worktree", "list").stdout.splitlines()
    assert "uncommitted files: new file" in first
    assert "nothing unsaved" in second


def test_clean_removes_what_is_saved_and_keeps_the_rest(project: Cli) -> None:
    kept, gone = begin(project), begin(project, "T-2")
    (kept / "work").write_text("x")
    result = project("worktree", "clean")
    assert (result.code, result.stdout) == (0, "T-2: removed\n")
    assert "kept T-1: uncommitted files: work" in result.stderr
    assert (kept / "work").read_text() == "x"
    assert not gone.exists()
    assert git(project, "branch", "--list", "hookline/*").split()[-1] == "hookline/T-1"


def test_a_named_worktree_with_unsaved_work_is_an_error(project: Cli) -> None:
    path = begin(project)
    (path / "work").write_text("x")
    git(project, "add", "--all", at=path)
    git(project, "commit", "--quiet", "--message", "Work", at=path)
    code, error = project.refused("worktree", "clean", "T-1")
    assert (code, error["code"]) == (1, "repository")
    assert "commits that are neither merged into main nor pushed: 1" in error["message"]
    assert path.exists()
    git(project, "merge", "--quiet", "hookline/T-1")
    assert project.json("worktree", "clean", "1") == [
        {"task": "T-1", "removed": True, "unsaved": [], "rescued": []}
    ]


def test_the_worktree_of_an_active_task_stays(project: Cli) -> None:
    path = begin(project)
    project.json("task", "start", "T-1")
    result = project("worktree", "clean")
    assert "the task is active" in result.stderr
    assert path.exists()


def with_work(project: Cli) -> Path:
    """The worktree of T-1 with a commit and an uncommitted file."""
    path = begin(project)
    (path / "done").write_text("committed")
    git(project, "add", "--all", at=path)
    git(project, "commit", "--quiet", "--message", "Work", at=path)
    (path / "begun").write_text("not committed")
    return path


def test_the_work_of_a_cancelled_task_is_discarded_only_by_name(project: Cli) -> None:
    path = with_work(project)
    assert project.refused("worktree", "clean", "--discard")[0] == 2
    code, error = project.refused("worktree", "clean", "T-1", "--discard")
    assert (code, error["code"]) == (1, "repository")
    assert "T-1: the task is ready; `hookline task cancel T-1` ends it" in error["message"]
    assert "--discard" not in project.refused("worktree", "clean", "T-1")[1]["help"]
    project("task", "cancel", "T-1")
    assert "clean T-1 --discard" in project.refused("worktree", "clean", "T-1")[1]["help"]
    assert (
        "discard it: `hookline worktree clean T-1 --discard`" in project("worktree", "clean").stderr
    )
    assert (path / "begun").exists()


def test_discarded_work_is_named_and_can_be_had_back(project: Cli) -> None:
    path = with_work(project)
    project("task", "cancel", "T-1")
    first, *ways = project("worktree", "clean", "T-1", "--discard").stdout.splitlines()
    assert first == (
        "T-1: discarded: uncommitted files: begun;"
        " commits that are neither merged into main nor pushed: 1"
    )
    assert not path.exists()
    assert git(project, "branch", "--list", "hookline/*") == ""
    for way in ways:
        subprocess.run(way.removeprefix("  to have it back: "), shell=True, cwd=project.root)
    assert git(project, "show", "rescued-T-1:begun") == "not committed"
    assert git(project, "show", "rescued-T-1:done") == "committed"
    assert git(project, "log", "--format=%s", "-1", "rescued-T-1-2") == "Work"
    assert project("worktree", "list").stdout == "no task has a worktree\n"


def test_a_branch_whose_folder_is_gone_is_discarded_too(project: Cli) -> None:
    path = with_work(project)
    project("task", "cancel", "T-1")
    shutil.rmtree(path)
    (found,) = project.json("worktree", "clean", "T-1", "--discard")
    assert found["unsaved"] == ["commits that are neither merged into main nor pushed: 1"]
    assert git(project, "show", f"{found['rescued'][0]}:done") == "committed"
    assert git(project, "branch", "--list", "hookline/*") == ""


def test_what_a_ref_cannot_keep_is_not_discarded(project: Cli) -> None:
    path = with_work(project)
    project("task", "cancel", "T-1")
    inner = path / "inner"
    inner.mkdir()
    git(project, "init", "--quiet", at=inner)
    git(project, "commit", "--quiet", "--allow-empty", "--message", "Inside", at=inner)
    _, error = project.refused("worktree", "clean", "T-1", "--discard")
    assert "another repository in it would be lost: inner" in error["message"]
    assert (inner / ".git").exists()
    assert (path / "begun").exists()


@pytest.mark.parametrize("hostile", ["../T-1", "--force", "T-1;x", "/etc"])
def test_a_hostile_name_is_refused(project: Cli, hostile: str) -> None:
    path = begin(project)
    assert project("worktree", "clean", hostile).code != 0
    assert path.exists()


def test_without_a_repository_the_way_out_is_told(cli: Cli) -> None:
    cli.add("Do it")
    code, error = cli.refused("worktree", "list")
    assert (code, error["code"]) == (1, "repository")
