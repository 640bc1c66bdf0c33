"""Worktrees of tasks that are over, and those whose branch is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e.conftest import eventually
from tests.e2e.test_work import Workshop, shop
from tests.e2e.test_worktree_command import begin, git, project

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

__all__ = ["project", "shop"]

IDLE = "agents:\n  ada: {driver: command, command: 'cat > /dev/null; cat ../../../../say'}\n"


def test_a_deleted_branch_hides_no_worktree(project: Cli) -> None:
    first = begin(project)
    begin(project, "T-2")
    git(project, "update-ref", "-d", "refs/heads/hookline/T-1")
    listed = project("worktree", "list")
    assert listed.code == 0
    lines = listed.stdout.splitlines()
    assert lines[0].startswith("T-1      hookline/T-1         its branch is gone; ")
    assert lines[1].startswith("T-2      hookline/T-2         0 commits ahead of main; ")
    rows = project.json("worktree", "list")
    assert [(row["task"], row["ahead"]) for row in rows] == [("T-1", None), ("T-2", 0)]
    # Nothing is known of what was committed there, so it stays; the others are cleaned.
    cleaned = project("worktree", "clean")
    assert (cleaned.code, cleaned.stdout) == (0, "T-2: removed\n")
    assert "kept T-1: " in cleaned.stderr
    assert (first / "readme").exists()


def test_a_worktree_that_cannot_be_looked_at_hides_no_other(project: Cli) -> None:
    git(project, "branch", "gone")
    types = "task_types: {part: {}}\ngates: {base: gone}\n"
    project.configure("agents: {ada: {driver: command, command: 'cat; exit 1'}}\n" + types)
    project.add("a part", "--type", "part")
    project("run", "--task", "T-2")
    project.configure("gates: {base: main}\n")
    begin(project)
    git(project, "branch", "-D", "gone")
    listed = project("worktree", "list")
    assert listed.code == 0
    first, second = listed.stdout.splitlines()
    assert "0 commits ahead of main; nothing unsaved" in first
    assert second.startswith("T-2 ")
    assert "gone" in second
    cleaned = project("worktree", "clean")
    assert cleaned.code == 0
    assert "T-1: removed" in cleaned.stdout
    assert "kept T-2: " in cleaned.stderr


def worktrees(shop: Workshop) -> list[str]:
    folder = shop.cli.root / ".hookline" / "worktrees"
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_the_worktree_of_a_task_that_ends_without_commits_is_removed(shop: Workshop) -> None:
    shop.configure("gates: {without_commits: complete}\n", agents=IDLE)
    shop.cli.add("look at it")
    shop.work()
    assert shop.state("T-1") == "completed"
    assert worktrees(shop) == []
    assert shop.git("branch", "--list", "hookline/*") == ""


def test_worktrees_of_cancelled_tasks_are_removed_unless_work_would_be_lost(
    shop: Workshop,
) -> None:
    shop.configure("gates: {without_commits: complete}\n", agents=IDLE)
    for number in range(1, 5):
        shop.cli.add(f"task {number}")
        path = begin(shop.cli, f"T-{number}")
        shop.cli.json("task", "claim", f"T-{number}", "--agent", "eve")
        if number != 4:
            shop.cli.json("task", "cancel", f"T-{number}")
        if number == 2:
            (path / "unsaved").write_text("x")
        if number == 3:
            (path / "work").write_text("x")
            git(shop.cli, "add", "--all", at=path)
            git(shop.cli, "commit", "--quiet", "--message", "Work", at=path)
    shop.work()
    assert worktrees(shop) == ["T-2", "T-3", "T-4"]
    assert (shop.cli.root / ".hookline/worktrees/T-2/unsaved").exists()


def test_a_worktree_that_is_in_use_stays_whatever_is_said_of_its_task(shop: Workshop) -> None:
    shop.configure()
    shop.hold()
    shop.cli.add("first")
    worker = shop.cli.start("work", "--once", "--json")
    eventually(lambda: shop.has_begun("T-1"), "the turn")
    shop.cli.json("task", "cancel", "T-1")
    cleaned = shop.cli("worktree", "clean")
    assert "kept T-1: the task is active: someone is working there" in cleaned.stderr
    assert worktrees(shop) == ["T-1"]
    shop.let_go()
    worker.communicate(timeout=100)


def test_a_worktree_stays_while_its_work_is_at_a_gate(shop: Workshop) -> None:
    shop.configure("hooks:\n  before_merge: [{human: {question: Ship it?}}]\n")
    remote = shop.outside / "remote.git"
    shop.git("init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    shop.git("remote", "add", "origin", str(remote))
    shop.git("push", "--quiet", "origin", "main")
    shop.cli.add("first")
    shop.work(code=4)
    shop.git("push", "--quiet", "origin", "hookline/T-1")  # so that nothing would be lost
    cleaned = shop.cli("worktree", "clean")
    assert "kept T-1: its work is going through its gates" in cleaned.stderr
    shop.cli.json("gate", "approve", "T-1")
    shop.work()
    assert shop.merges() == ["first"]
    assert worktrees(shop) == []
