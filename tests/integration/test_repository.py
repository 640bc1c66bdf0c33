"""Worktrees, commits, rebases and pushes in real repositories: with a remote and without."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hookline.domain.work.repository import (
    Cleaned,
    Kept,
    Pushed,
    RebaseConflict,
    Rebased,
    Refused,
    RepositoryError,
    Worktree,
)
from hookline.errors import BadInput
from hookline.queries.page.changes import diff_page
from hookline.queries.reports.changes import Change
from tests.integration.repository_rig import Place, do

BRANCH = "hookline/T-1"


def begun(place: Place, task: str = "T-1") -> Worktree:
    return do(place.repository().worktrees.open(task))


def worked(place: Place, name: str = "work", text: str = "done\n", task: str = "T-1") -> Worktree:
    """A task's worktree with one commit in it."""
    made = begun(place, task)
    place.write(name, text, at=made.path)
    assert do(place.repository().changes.commit_all(made.folder, f"{name} of {task}"))
    return made


# Worktrees


def test_a_task_has_a_worktree_and_a_branch_of_its_own_off_the_base(place: Place) -> None:
    made = begun(place)
    assert made.path == str(place.root / ".hookline" / "worktrees" / "T-1")
    assert (made.branch, made.base, made.head) == (BRANCH, "main", place.main())
    assert place.git("branch", "--show-current", at=made.path) == BRANCH
    assert Path(made.path, "readme").read_text() == "hello\n"
    assert place.status() == []


def test_the_worktree_is_found_again_with_what_is_in_it(place: Place) -> None:
    made = worked(place)
    place.write("unfinished", "half", at=made.path)
    place.elsewhere("other", "x\n")
    again = begun(place)
    assert again.path == made.path
    assert again.head == place.git("rev-parse", BRANCH)
    assert Path(made.path, "unfinished").read_text() == "half"
    assert [each.task for each in do(place.repository().worktrees.list())] == ["T-1"]


def test_work_begins_at_what_others_pushed_last(shared: Place) -> None:
    newest = shared.elsewhere("other", "new\n")
    assert begun(shared).head == newest


def test_a_remote_that_does_not_answer_is_a_notice(shared: Place) -> None:
    shared.remote.rename(shared.folder / "away")
    made = begun(shared)
    assert Path(made.path, "readme").exists()
    assert "origin could not be asked about main" in made.notices[0]


def test_the_project_may_be_a_folder_of_the_repository(shared: Place) -> None:
    shared.commit("apps/web/page", "p\n")
    shared.git("push", "--quiet")
    root = shared.root / "apps" / "web"
    made = do(shared.repository(root).worktrees.open("T-1"))
    assert made.folder == str(root / ".hookline" / "worktrees" / "T-1" / "apps" / "web")
    assert Path(made.folder, "page").read_text() == "p\n"


def test_a_lost_folder_comes_back_with_its_commits(place: Place) -> None:
    made = worked(place)
    tip = place.git("rev-parse", BRANCH)
    place.lose(made.path)
    assert do(place.repository().worktrees.list())[0].lost
    again = begun(place)
    assert again.head == tip
    assert Path(again.path, "work").read_text() == "done\n"


def test_a_folder_that_lost_its_ties_keeps_its_files(place: Place) -> None:
    made = worked(place)
    place.write("unfinished", "half", at=made.path)
    place.lose(place.root / ".git" / "worktrees" / "T-1")
    again = begun(place)
    assert "was reconnected" in again.notices[0]
    assert Path(again.path, "unfinished").read_text() == "half"
    assert place.status(again.path) == ["?? unfinished"]
    assert place.git("branch", "--show-current", at=again.path) == BRANCH


def test_a_project_that_was_moved_finds_its_worktrees(place: Place) -> None:
    made = worked(place)
    place.write("unfinished", "half", at=made.path)
    place.root = place.root.rename(place.folder / "moved")
    again = begun(place)
    assert Path(again.path, "unfinished").read_text() == "half"
    assert place.status(again.path) == ["?? unfinished"]


def test_what_an_earlier_attempt_left_half_made_is_made_anew(place: Place) -> None:
    worktrees = place.root / ".hookline" / "worktrees"
    place.write(".hookline/worktrees/.making-T-1", "")
    place.write(".hookline/worktrees/T-1/half", "")
    made = begun(place)
    assert sorted(path.name for path in Path(made.path).iterdir()) == [".git", "readme"]
    assert not (worktrees / ".making-T-1").exists()


def test_the_main_checkout_does_not_take_worktrees_for_its_own_files(place: Place) -> None:
    begun(place)
    place.git("add", "--all")
    assert place.status() == []


def test_a_branch_that_is_checked_out_elsewhere_is_not_torn_away(place: Place) -> None:
    worked(place)
    place.lose(place.root / ".hookline" / "worktrees" / "T-1")
    place.git("worktree", "prune")
    place.git("switch", "--quiet", BRANCH)
    with pytest.raises(RepositoryError, match="cannot be made"):
        begun(place)
    assert place.git("branch", "--show-current") == BRANCH


@pytest.mark.parametrize(
    "hostile",
    [
        "-b",
        "--force",
        "../up",
        "a/b",
        "..",
        ".",
        "",
        "T 1",
        "T-1\n",
        "T\0",
        "@{-1}",
        "x" * 101,
        "é",
    ],
)
def test_a_hostile_task_id_never_reaches_git(shared: Place, hostile: str) -> None:
    before = shared.git("for-each-ref"), sorted(shared.folder.rglob("*"))
    repository = shared.repository()
    for act in (
        repository.worktrees.open,
        repository.worktrees.clean,
        repository.worktrees.unsaved,
    ):
        with pytest.raises(BadInput):
            do(act(hostile))
    assert (shared.git("for-each-ref"), sorted(shared.folder.rglob("*"))) == before


@pytest.mark.parametrize("hostile", ["--upload-pack=x", "a..b", "a b", "-f", "x\n", ""])
def test_a_hostile_base_is_refused(shared: Place, hostile: str) -> None:
    with pytest.raises(RepositoryError, match="cannot be the name of a branch"):
        do(shared.repository(base=hostile or "-").worktrees.open("T-1"))


def test_links_out_of_the_folder_are_not_followed(shared: Place) -> None:
    outside = shared.folder / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    (shared.root / ".hookline" / "worktrees").mkdir(parents=True)
    (shared.root / ".hookline" / "worktrees" / "T-1").symlink_to(outside)
    with pytest.raises(RepositoryError, match="already exists"):
        begun(shared)
    assert [path.name for path in outside.iterdir()] == ["precious"]


_MAKE = """
import asyncio, os, sys
from hookline.adapters.processes.process import LocalProcesses
from hookline.adapters.git.repository.git_repository import GitRepository
root = sys.argv[1]
folder = os.path.join(root, ".hookline")
repository = GitRepository(LocalProcesses(os.path.join(folder, "blobs")), root, folder, os.environ)
for task in sys.argv[2:]:
    print(asyncio.run(repository.worktrees.open(task)).head)
"""


@pytest.mark.examples(1)
def test_processes_that_make_the_same_worktrees_at_once(place: Place) -> None:
    tasks = ("T-1", "T-2", "T-3")
    started = [
        subprocess.Popen(
            (sys.executable, "-c", _MAKE, str(place.root), *order),
            env=place.env,
            stdout=subprocess.PIPE,
            text=True,
        )
        for order in (tasks, tasks[::-1], tasks, tasks[::-1])
    ]
    for process in started:
        out, _ = process.communicate(timeout=60)
        assert (process.returncode, out.split()) == (0, [place.main()] * 3)
    for task in tasks:
        path = place.root / ".hookline" / "worktrees" / task
        assert place.git("branch", "--show-current", at=path) == f"hookline/{task}"
        assert place.status(path) == []


def test_inherited_variables_of_git_do_not_lead_elsewhere(place: Place) -> None:
    own = place.env
    place.env = {**own, "GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere", "GIT_PREFIX": "x"}
    repository = place.repository()
    place.env = own
    assert do(repository.worktrees.open("T-1")).head == place.main()


# Commits and what they change


def test_commit_all_takes_everything_that_is_not_ignored(place: Place) -> None:
    made = begun(place)
    names = ["with space", "ünïcode", "line\nend", "-dash", ":(glob)*"]
    for name in names:
        place.write(name, f"{name}\n", at=made.path)
    place.write(".gitignore", "built\n", at=made.path)
    place.write("built", "b", at=made.path)
    repository = place.repository()
    sha = do(repository.changes.commit_all(made.path, "All\n\n# of it", "Bot <bot@example.org>"))
    assert sha == place.git("rev-parse", "HEAD", at=made.path)
    assert place.git("log", "-1", "--format=%an|%cn|%B", at=made.path) == "Bot|Ada|All\n\n# of it"
    assert do(repository.history.changed_files(made.path, "main")) == sorted([*names, ".gitignore"])
    assert do(repository.changes.commit_all(made.path, "Again")) is None


def test_a_hook_of_git_that_says_no_is_reported_and_the_files_stay(place: Place) -> None:
    made = begun(place)
    place.hook("pre-commit", "echo 'no tabs please' >&2; exit 1")
    place.write("work", "\t", at=made.path)
    with pytest.raises(RepositoryError, match="no tabs please"):
        do(place.repository().changes.commit_all(made.path, "Work"))
    assert place.status(made.path) == ["?? work"]
    place.hook("pre-commit", "exit 0")
    assert do(place.repository().changes.commit_all(made.path, "Work"))


def test_what_work_changes_is_counted_from_where_it_left_the_base(place: Place) -> None:
    fork = place.main()
    made = worked(place)
    place.elsewhere("other", "theirs\n")
    repository = place.repository()
    assert do(repository.history.commits_ahead(made.path, "main")) == 1
    assert do(repository.history.merge_base(made.path, "main")) == fork
    assert do(repository.history.changed_files(made.path, "main")) == ["work"]
    diff = do(repository.history.diff(made.path, "main"))
    assert "+done" in diff
    assert "theirs" not in diff


def test_a_long_diff_keeps_its_beginning_and_its_end(place: Place) -> None:
    text = "first\n" + "x" * 50_000 + "\nlast\n"
    made = worked(place, text=text)
    diff = do(place.repository().history.diff(made.path, "main", 2000))
    assert len(diff) < 2100
    assert "+first" in diff
    assert diff.endswith("+last\n")
    assert "bytes left out" in diff
    assert diff_page(Change(older="main", newer="work", diff=diff)).cut


# Rebase


def test_work_that_stands_on_the_base_needs_no_rebase(place: Place) -> None:
    made = worked(place)
    tip = place.git("rev-parse", BRANCH)
    assert do(place.repository().changes.rebase(made.path, "main")) == Rebased(
        False, tip, place.main(), tip
    )


def test_work_is_moved_onto_what_others_did(place: Place) -> None:
    made = worked(place)
    place.elsewhere("other", "theirs\n")
    moved = do(place.repository().changes.rebase(made.path, "main"))
    assert isinstance(moved, Rebased)
    assert moved.needed
    assert place.git("rev-parse", BRANCH, at=made.path) == moved.head
    assert place.git("rev-parse", f"{BRANCH}^", at=made.path) == place.main()
    assert do(place.repository().changes.rebase(made.path, "main")) == Rebased(
        False, moved.head, place.main(), moved.head
    )


def test_after_a_conflict_all_is_as_before_and_both_sides_are_told(place: Place) -> None:
    place.elsewhere("list", "one\ntwo\nthree\n")
    made = worked(place, "list", "one\nours\nthree\n")
    place.write("extra", "e", at=made.path)
    do(place.repository().changes.commit_all(made.path, "Second"))
    tip = place.git("rev-parse", BRANCH)
    place.elsewhere("list", "one\ntheirs\nthree\n")
    conflict = do(place.repository().changes.rebase(made.path, "main"))
    assert isinstance(conflict, RebaseConflict)
    assert [(f.path, f.ours, f.theirs) for f in conflict.files] == [("list", "ours", "theirs")]
    assert place.git("rev-parse", BRANCH) == tip
    assert place.git("branch", "--show-current", at=made.path) == BRANCH
    assert place.status(made.path) == []
    assert do(place.repository().describe(made.path)).operation is None


def test_a_side_that_removed_the_file_has_none(place: Place) -> None:
    place.elsewhere("list", "one\n")
    made = worked(place, "list", "ours\n")
    at = place.root if not place.remote.exists() else place.colleague()
    place.git("rm", "--quiet", "list", at=at)
    place.git("commit", "--quiet", "--message", "gone", at=at)
    if place.remote.exists():
        place.git("push", "--quiet", at=at)
    conflict = do(place.repository().changes.rebase(made.path, "main"))
    assert isinstance(conflict, RebaseConflict)
    assert [(f.path, f.ours, f.theirs) for f in conflict.files] == [("list", "ours\n", None)]


def test_a_rebase_of_somebody_else_is_left_alone(place: Place) -> None:
    made = worked(place, "readme", "ours\n")
    place.elsewhere("readme", "theirs\n")
    base = "origin/main" if place.remote.exists() else "main"
    if place.remote.exists():
        place.git("fetch", "--quiet")
    subprocess.run(("git", "rebase", base), cwd=made.path, env=place.env, capture_output=True)
    with pytest.raises(RepositoryError, match="in the middle of a rebase"):
        do(place.repository().changes.rebase(made.path, "main"))
    with pytest.raises(RepositoryError, match="in the middle of a rebase"):
        do(place.repository().changes.commit_all(made.path, "x"))
    assert do(place.repository().describe(made.path)).operation == "rebase"


def test_uncommitted_files_stop_a_rebase_before_it_begins(place: Place) -> None:
    made = worked(place)
    place.elsewhere("other", "x\n")
    place.write("unfinished", "half", at=made.path)
    with pytest.raises(RepositoryError, match="committed, such as unfinished"):
        do(place.repository().changes.rebase(made.path, "main"))
    assert Path(made.path, "unfinished").read_text() == "half"


# Push


def test_a_branch_is_pushed_once_and_again_after_our_own_rebase(shared: Place) -> None:
    made = worked(shared)
    repository = shared.repository()
    first = do(repository.pushes.push(made.path, BRANCH))
    assert first == Pushed(BRANCH, "origin", shared.git("rev-parse", BRANCH))
    assert do(repository.pushes.push(made.path, BRANCH)) == first
    shared.elsewhere("other", "x\n")
    moved = do(repository.changes.rebase(made.path, "main"))
    assert isinstance(moved, Rebased)
    assert do(repository.pushes.push(made.path, BRANCH)) == Pushed(BRANCH, "origin", moved.head)
    assert shared.git("rev-parse", BRANCH, at=shared.remote) == moved.head


def test_commits_of_others_on_the_branch_are_never_overwritten(shared: Place) -> None:
    made = worked(shared)
    repository = shared.repository()
    do(repository.pushes.push(made.path, BRANCH))
    clone = shared.colleague()
    shared.git("fetch", "--quiet", at=clone)
    shared.git("switch", "--quiet", BRANCH, at=clone)
    theirs = shared.commit("review", "their fix\n", at=clone)
    shared.git("push", "--quiet", at=clone)
    shared.write("more", "ours", at=made.path)
    do(repository.changes.commit_all(made.path, "More"))
    refused = do(repository.pushes.push(made.path, BRANCH))
    assert isinstance(refused, Refused)
    assert refused.kind == "diverged"
    assert shared.git("rev-parse", BRANCH, at=shared.remote) == theirs


def test_a_push_that_a_crash_cut_off_from_its_record_is_known_as_ours(shared: Place) -> None:
    made = worked(shared)
    tip = shared.git("rev-parse", BRANCH)
    shared.git("update-ref", f"refs/hookline/pushing/{BRANCH}", tip)
    shared.git("push", "--quiet", "origin", BRANCH)
    shared.elsewhere("other", "x\n")
    moved = do(shared.repository().changes.rebase(made.path, "main"))
    assert isinstance(moved, Rebased)
    assert isinstance(do(shared.repository().pushes.push(made.path, BRANCH)), Pushed)
    assert shared.git("rev-parse", BRANCH, at=shared.remote) == moved.head


@pytest.mark.parametrize("side", ["remote", "here"])
def test_a_hook_that_declines_a_push_is_quoted(shared: Place, side: str) -> None:
    made = worked(shared)
    say_no = "echo 'only on tuesdays' >&2; exit 1"
    if side == "remote":
        shared.hook("pre-receive", say_no, at=shared.remote)
    else:
        shared.hook("pre-push", say_no)
    refused = do(shared.repository().pushes.push(made.path, BRANCH))
    assert isinstance(refused, Refused)
    assert refused.kind == "rejected"
    assert "only on tuesdays" in refused.output
    assert shared.git("branch", "--list", BRANCH, at=shared.remote) == ""


def test_a_remote_that_cannot_be_reached_hides_the_password_in_its_address(shared: Place) -> None:
    made = worked(shared)
    shared.git("remote", "set-url", "origin", "http://me:s3cret@127.0.0.1:9/x.git")
    refused = do(shared.repository().pushes.push(made.path, BRANCH))
    assert isinstance(refused, Refused)
    assert refused.kind == "unreachable"
    assert "s3cret" not in repr(refused)
    made = begun(shared)
    assert "s3cret" not in repr(made)


def test_there_must_be_a_remote_to_push_to(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.begin()
    made = worked(place)
    with pytest.raises(RepositoryError, match="no remote"):
        do(place.repository().pushes.push(made.path, BRANCH))
    with pytest.raises(RepositoryError, match="no remote"):
        do(place.repository().pushes.push(made.path, BRANCH, "--receive-pack=touch x"))


# Clean


def test_unsaved_work_is_never_removed(place: Place) -> None:
    made = worked(place)
    kept = do(place.repository().worktrees.clean("T-1"))
    assert kept == Kept("T-1", ("commits that are neither merged into main nor pushed: 1",))
    place.write("untracked file", "x", at=made.path)
    kept = do(place.repository().worktrees.clean("T-1"))
    assert isinstance(kept, Kept)
    assert kept.unsaved[0] == "uncommitted files: untracked file"
    assert Path(made.path, "untracked file").read_text() == "x"


def test_a_detached_commit_is_unsaved_work_too(place: Place) -> None:
    made = begun(place)
    place.git("switch", "--quiet", "--detach", at=made.path)
    place.commit("stray", "x\n", at=made.path)
    assert isinstance(do(place.repository().worktrees.clean("T-1")), Kept)


@pytest.mark.examples(2)
@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_merged_work_is_cleaned_away_with_its_branch(place: Place, method: Any) -> None:
    made = worked(place)
    place.elsewhere("other", "x\n")
    do(place.repository().merges.merge(f"refs/heads/{BRANCH}", "main", "Merge T-1", method))
    assert do(place.repository().worktrees.clean("T-1")) == Cleaned("T-1", True)
    assert not Path(made.path).exists()
    assert place.git("branch", "--list", "hookline/*") == ""
    assert "T-1" not in place.git("worktree", "list")
    assert do(place.repository().worktrees.clean("T-1")) == Cleaned("T-1", False)


@pytest.mark.parametrize("left", ["T-1", ".gone-T-1", None])
def test_a_removal_that_was_killed_is_finished(place: Place, left: str | None) -> None:
    made = worked(place)
    do(place.repository().merges.merge(f"refs/heads/{BRANCH}", "main", "Merge T-1", "merge"))
    folder = Path(made.path)
    if left is None:
        shutil.rmtree(folder)
    else:
        folder.rename(folder.with_name(left))
    do(place.repository().worktrees.clean("T-1"))
    assert [path.name for path in folder.parent.iterdir()] == [".gitignore"]
    assert place.git("branch", "--list", "hookline/*") == ""
    assert "T-1" not in place.git("worktree", "list")


def test_a_locked_worktree_is_kept(place: Place) -> None:
    made = worked(place)
    do(place.repository().merges.merge(f"refs/heads/{BRANCH}", "main", "Merge T-1", "merge"))
    place.git("worktree", "lock", made.path)
    assert do(place.repository().worktrees.clean("T-1")) == Kept("T-1", ("it is locked",))
    assert Path(made.path).is_dir()


def test_pushed_work_may_go_and_its_branch_stays(shared: Place) -> None:
    made = worked(shared)
    do(shared.repository().pushes.push(made.path, BRANCH))
    tip = shared.git("rev-parse", BRANCH)
    assert do(shared.repository().worktrees.clean("T-1")) == Cleaned("T-1", True)
    assert begun(shared).head == tip


def test_a_folder_that_git_knows_nothing_of_is_kept(place: Place) -> None:
    made = begun(place)
    place.write("x", "x", at=made.path)
    place.lose(place.root / ".git" / "worktrees" / "T-1")
    kept = do(place.repository().worktrees.clean("T-1"))
    assert isinstance(kept, Kept)
    assert "no longer a git worktree" in kept.unsaved[0]
    assert Path(made.path, "x").exists()


# Locks


def test_one_act_at_a_time_in_one_worktree(place: Place) -> None:
    made = begun(place)
    repository = place.repository()

    async def both() -> tuple[str | None, str | None]:
        for name in ("a", "b"):
            place.write(name, name, at=made.path)
        return await asyncio.gather(
            repository.changes.commit_all(made.path, "one"),
            repository.changes.commit_all(made.path, "two"),
        )

    found = do(both())
    assert sorted(sha is None for sha in found) == [False, True]
    assert do(repository.history.commits_ahead(made.path, "main")) == 1


def test_the_base_of_a_task_is_remembered(place: Place) -> None:
    place.git("branch", "release")
    if place.remote.exists():
        place.git("push", "--quiet", "origin", "release")
    begun_on = {"T-1": "release"}.get
    made = do(place.repository(begun_on=begun_on).worktrees.open("T-1"))
    assert (made.base, made.head) == ("release", place.git("rev-parse", "release"))
    assert do(place.repository().worktrees.open("T-2")).base == "main"


def test_a_branch_with_commits_is_not_the_beginning_of_a_task(place: Place) -> None:
    made = worked(place)
    place.git("worktree", "remove", "--force", made.path)
    with pytest.raises(RepositoryError, match="commits from before any work on the task"):
        do(place.repository().worktrees.open("T-1", first=True))
    assert not Path(made.path).exists()
    tip = place.git("rev-parse", BRANCH)
    assert do(place.repository().worktrees.open("T-1")).head == tip
