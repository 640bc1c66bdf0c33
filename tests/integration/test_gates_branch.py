"""The gates rebase_on_main and create_pr, on real repositories with a bare remote and without."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.forges.local import LocalForge
from hookline.domain.work.forge import ForgeTemporary
from hookline.errors import HookFailure
from tests.integration.gates_rig import BRANCH, Desk
from tests.integration.repository_rig import Place

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.domain.work.forge import PullRequest


@pytest.fixture(params=["no remote", "remote"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    return begun(tmp_path, remote=request.param == "remote")


@pytest.fixture
def shared(tmp_path: Path) -> Desk:
    return begun(tmp_path, remote=True)


def begun(folder: Path, *, remote: bool) -> Desk:
    place = Place(folder)
    place.begin()
    if remote:
        place.publish()
    return Desk(place)


def pulls(desk: Desk) -> list[Path]:
    return sorted((desk.place.root / ".hookline" / "pulls").glob("*.json"))


# rebase_on_main


def test_work_on_the_newest_base_has_nothing_to_do(desk: Desk) -> None:
    head = desk.work()
    answer = desk.ask("rebase_on_main")
    assert answer.status == "success"
    assert answer.message == "already based on the newest main"
    assert answer.context == {"rebased": False, "head": head}


def test_work_is_moved_onto_a_base_that_went_on(desk: Desk) -> None:
    desk.work("mine", "one\n")
    newest = desk.place.elsewhere("theirs", "two\n")
    answer = desk.ask("rebase_on_main")
    assert answer.status == "success"
    assert answer.context == {"rebased": True, "head": desk.head}
    assert desk.git("rev-parse", "HEAD~1") == newest
    assert (desk.tree / "mine").read_text() == "one\n"
    again = desk.ask("rebase_on_main")
    assert again.context == {"rebased": False, "head": desk.head}


def test_a_conflict_leaves_the_tree_clean_and_tells_both_sides(desk: Desk) -> None:
    head = desk.work("greeting", "hello from the task\n")
    newest = desk.place.elsewhere("greeting", "hello from main\n")
    answer = desk.ask("rebase_on_main")
    assert answer.status == "failure"
    assert answer.message == "conflict with main in greeting"
    prompt = answer.remediation_prompt or ""
    assert f"git rebase {newest[:12]}" in prompt
    assert "Hookline then merges main into your files and asks you" in prompt
    mine, theirs = prompt.index("hello from the task"), prompt.index("hello from main")
    assert prompt.index("your side:") < mine < prompt.index("--- main:") < theirs
    assert desk.head == head
    assert desk.place.status(desk.tree) == []
    assert desk.git("symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"


def test_a_conflict_that_the_agent_resolves_passes_on_the_second_round(desk: Desk) -> None:
    desk.work("greeting", "hello from the task\n")
    newest = desk.place.elsewhere("greeting", "hello from main\n")
    assert desk.ask("rebase_on_main").status == "failure"
    with pytest.raises(AssertionError, match="CONFLICT"):
        desk.git("rebase", newest)
    desk.place.write("greeting", "hello from main and the task\n", at=desk.tree)
    desk.git("add", "greeting")
    desk.git("-c", "core.editor=true", "rebase", "--continue")
    answer = desk.ask("rebase_on_main")
    assert answer.context == {"rebased": False, "head": desk.head}
    assert desk.git("rev-parse", "HEAD~1") == newest


def test_many_conflicts_make_a_bounded_prompt(desk: Desk) -> None:
    for number in range(40):
        desk.place.write(f"file{number}", f"task {number}\n" * 2000, at=desk.tree)
        desk.place.write(f"file{number}", f"main {number}\n" * 2000)
    desk.git("add", "--all")
    desk.git("commit", "--quiet", "--message", "many")
    desk.place.git("add", "--all")
    desk.place.git("commit", "--quiet", "--message", "many too")
    if desk.place.remote.exists():
        desk.place.git("push", "--quiet")
    prompt = desk.ask("rebase_on_main").remediation_prompt or ""
    assert all(f"File file{number}\n" in prompt for number in range(40))
    assert len(prompt.encode()) < 80_000


def test_uncommitted_files_are_for_the_agent_to_commit(desk: Desk) -> None:
    desk.work()
    desk.place.elsewhere("theirs", "two\n")
    desk.place.write("left over", "x\n", at=desk.tree)
    answer = desk.ask("rebase_on_main")
    assert answer.status == "failure"
    assert "left over" in (answer.remediation_prompt or "")
    assert (desk.tree / "left over").read_text() == "x\n"


def test_a_rebase_of_the_agent_s_own_is_not_ended_for_it(desk: Desk) -> None:
    desk.work("greeting", "task\n")
    newest = desk.place.elsewhere("greeting", "main\n")
    desk.ask("rebase_on_main")  # brings the newest base
    with pytest.raises(AssertionError, match="CONFLICT"):
        desk.git("rebase", newest)
    answer = desk.ask("rebase_on_main")
    assert answer.status == "failure"
    assert "git rebase --abort" in (answer.remediation_prompt or "")
    assert "UU greeting" in desk.place.status(desk.tree) or "AA greeting" in desk.place.status(
        desk.tree
    )


@pytest.mark.parametrize("gate", ["rebase_on_main", "create_pr", "secrets", "human"])
def test_another_branch_in_the_worktree_is_not_judged(desk: Desk, gate: str) -> None:
    desk.work()
    desk.git("checkout", "--quiet", "-b", "elsewhere")
    answer = desk.ask(gate)
    assert answer.status == "failure"
    assert answer.message == f"the worktree has branch elsewhere checked out, not {BRANCH}"
    assert BRANCH in (answer.remediation_prompt or "")
    desk.git("checkout", "--quiet", "--detach")
    assert "no branch" in desk.ask(gate).message


def test_a_worktree_that_is_gone_is_a_failure_and_not_the_project_s_folder(desk: Desk) -> None:
    desk.place.lose(desk.tree)
    with pytest.raises(HookFailure, match="is gone"):
        desk.ask("run_tests", "true")


# create_pr


def test_a_pull_request_is_opened_once_and_found_again(desk: Desk) -> None:
    head = desk.work("hello.py", "print('hello')\n")
    answer = desk.ask("create_pr")
    assert answer.status == "success"
    assert answer.context["pr_number"] == 1
    assert answer.context["pr_url"].startswith("file://")
    assert answer.context["head"] == head
    desk.work("more", "x\n")
    assert desk.ask("create_pr").context["pr_number"] == 1
    (only,) = pulls(desk)
    record = json.loads(only.read_text())
    assert (record["branch"], record["base"], record["title"]) == (BRANCH, "main", "Greet people")
    assert "Say hello to everybody." in record["body"]
    assert "- hello.py" in record["body"]
    assert f"- {head[:12]} hello.py is print('hello')" in record["body"]
    assert "author" in record["body"]


def test_the_branch_is_pushed_and_pushed_again_after_a_rebase(shared: Desk) -> None:
    shared.work()
    shared.ask("create_pr")
    assert shared.place.git("rev-parse", BRANCH, at=shared.place.remote) == shared.head
    shared.place.elsewhere("theirs", "two\n")
    assert shared.ask("rebase_on_main").context["rebased"] is True
    assert shared.ask("create_pr").status == "success"
    assert shared.place.git("rev-parse", BRANCH, at=shared.place.remote) == shared.head
    assert len(pulls(shared)) == 1


def test_commits_of_others_on_the_branch_are_not_pushed_over(shared: Desk) -> None:
    shared.work()
    shared.ask("create_pr")
    clone = shared.place.colleague()
    shared.place.git("checkout", "--quiet", BRANCH, at=clone)
    theirs = shared.place.commit("theirs", "kept\n", at=clone)
    shared.place.git("push", "--quiet", "origin", BRANCH, at=clone)
    shared.git("commit", "--quiet", "--amend", "--message", "again")
    answer = shared.ask("create_pr")
    assert answer.status == "failure"
    assert "from someone else" in answer.message
    assert answer.remediation_prompt is None, "a person brings them into the work"
    assert shared.place.git("rev-parse", BRANCH, at=shared.place.remote) == theirs


def test_a_rule_of_the_remote_is_told_to_the_agent(shared: Desk) -> None:
    shared.work()
    shared.place.hook(
        "pre-receive", "echo 'commit messages need a ticket' >&2; exit 1", at=shared.place.remote
    )
    answer = shared.ask("create_pr")
    assert answer.status == "failure"
    assert "commit messages need a ticket" in (answer.remediation_prompt or "")
    assert pulls(shared) == []


def test_a_remote_that_does_not_answer_is_nothing_for_an_agent(shared: Desk) -> None:
    shared.work()
    shared.place.lose(shared.place.remote)
    answer = shared.ask("create_pr")
    assert (answer.status, answer.remediation_prompt) == ("failure", None)
    assert "origin does not answer" in answer.message


def test_without_commits_there_is_no_pull_request(desk: Desk) -> None:
    answer = desk.ask("create_pr")
    assert (answer.status, answer.remediation_prompt) == ("failure", None)
    assert pulls(desk) == []


def test_work_that_is_merged_directly_has_no_pull_request(desk: Desk) -> None:
    desk.work()
    desk.extra = {"skip_pr": True}
    assert desk.ask("create_pr").status == "skip"
    assert pulls(desk) == []


def test_a_trial_changes_nothing(shared: Desk) -> None:
    head = shared.work()
    shared.place.elsewhere("theirs", "two\n")
    shared.extra = {"trial": True}
    assert shared.ask("rebase_on_main").status == "skip"
    assert shared.ask("create_pr").status == "skip"
    assert shared.head == head
    assert pulls(shared) == []
    assert shared.place.git("branch", "--list", BRANCH, at=shared.place.remote) == ""


class Busy(LocalForge):
    """A forge that takes no requests for now."""

    async def open_pull_request(self, branch: str, base: str, title: str, body: str) -> PullRequest:
        raise ForgeTemporary("the rate limit is reached")


def test_a_forge_that_is_busy_is_asked_again_later(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.begin()
    desk = Desk(place, Busy(str(tmp_path / "pulls")))
    desk.work()
    answer = desk.ask("create_pr")
    assert (answer.status, answer.message) == ("pending", "the rate limit is reached")
    assert answer.retry_after == 30
    assert answer.context == {"waitsFor": "forge"}


def test_without_a_repository_the_gate_fails_closed(tmp_path: Path) -> None:
    desk = begun(tmp_path, remote=False)
    desk.repository = None  # type: ignore[assignment]
    with pytest.raises(HookFailure, match="needs a git repository"):
        desk.ask("rebase_on_main")
