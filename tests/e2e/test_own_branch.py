"""Submitting from a branch of your own: what is committed counts, and the checkout stays yours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.gate_rig import Repo

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

REBASED = "hooks: {before_submit: [rebase_on_main]}\ngates: {test: 'test -f thing'}\n"
HUMAN = "hooks: {before_submit: [], before_merge: [{name: boss, human: {}}]}\n"


@pytest.fixture
def repo(cli: Cli) -> Repo:
    return Repo(cli)


def seen(repo: Repo) -> tuple[str, ...]:
    """Everything in the checkout that must stay as it is."""
    asked = (("rev-parse", "HEAD"), ("symbolic-ref", "HEAD"), ("ls-files", "-s"))
    return tuple(repo.git(*each) for each in (*asked, ("status", "--porcelain=v1", "-uall")))


def aside(repo: Repo) -> None:
    """Somebody else's commit on the remote's main."""
    elsewhere = repo.cli.root.parent / "elsewhere"
    repo.git("clone", "--quiet", str(repo.remote), str(elsewhere))
    (elsewhere / "other").write_text("by somebody else\n")
    repo.commit("other", at=elsewhere)
    repo.git("push", "--quiet", "origin", "main", at=elsewhere)


def test_what_is_not_committed_is_named_and_never_added(repo: Repo, cli: Cli) -> None:
    repo.begin(REBASED)
    task = cli.add("Add a thing")
    aside(repo)
    repo.work("thing")
    cli.put(".env.local", "PASSWORD=hunter2\n")
    cli.put("readme", "a draft\n")
    before = seen(repo)
    result = cli("submit", task)
    assert result.code == 0, result.stderr
    assert "not submitted, because not committed: readme, .env.local" in result.stderr
    assert repo.merged() == ["other", "thing"]
    assert repo.git("show", "main:readme", at=repo.remote) == "hello"
    assert seen(repo) == before
    assert (cli.root / ".env.local").read_text() == "PASSWORD=hunter2\n"


def test_programs_are_told_what_was_left_out(repo: Repo, cli: Cli) -> None:
    repo.begin("hooks: {before_submit: []}\n")
    task = cli.add("Add a thing")
    repo.work("thing")
    for number in range(25):
        cli.put(f"note-{number:02}", "mine\n")
    answer = cli.json("submit", task)
    assert (answer["outcome"], answer["uncommittedCount"]) == ("merged", 25)
    assert answer["uncommitted"] == [f"note-{number:02}" for number in range(20)]
    assert len(repo.git("status", "--porcelain").splitlines()) == 25
    said = cli("merge", task).stderr
    assert "note-19 and 5 more" in said


@pytest.mark.parametrize("settings", ["", "gates: {without_commits: park}\n"])
def test_uncommitted_files_alone_are_refused(repo: Repo, cli: Cli, settings: str) -> None:
    repo.begin(settings)
    task = cli.add("Add a thing")
    repo.work()
    cli.put("thing", "not committed\n")
    before = cli.task(task)
    code, error = cli.refused("submit", task)
    assert (code, error["message"]) == (
        1,
        f"work has no commit to submit for {task}, only changes that are not committed: thing",
    )
    assert error["help"].startswith("commit first")
    assert (cli.task(task), repo.runs()) == (before, [])
    assert repo.git("log", "--format=%s") == "begin"


def test_a_task_that_needs_no_commit_is_completed_beside_uncommitted_files(
    repo: Repo, cli: Cli
) -> None:
    repo.begin()
    task = cli.add("Look at it", "--changes", "none")
    repo.work()
    cli.put("notes", "not committed\n")
    assert cli.json("submit", task)["outcome"] == "completed"


def test_another_branch_in_the_checkout_is_not_merged_in_its_place(repo: Repo, cli: Cli) -> None:
    repo.begin(HUMAN)
    task = cli.add("Add a thing")
    repo.work("thing")
    assert cli("submit", task).code == 4
    repo.git("switch", "--quiet", "main")
    repo.work("private", branch="private")
    before = seen(repo)
    cli.json("gate", "approve", task)
    result = cli("merge", task)
    assert (result.code, repo.merged()) == (3, [])
    assert "has private checked out, not work" in cli.task(task)["blockReason"]
    assert seen(repo) == before
    repo.git("switch", "--quiet", "work")
    assert cli("submit", task).code == 4
    cli.json("gate", "approve", task)
    assert cli("merge", task).code == 0
    assert repo.merged() == ["thing"]
