"""Repositories in a bad state: each gets a clear message, and loses nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hookline.domain.work.repository import Cleaned, Kept, Merged, RepositoryError
from tests.integration.repository_rig import Place, do


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.begin()
    return made


def problems(place: Place, at: Path | None = None) -> dict[str, str]:
    """Code to message of what stands in the way."""
    state = do(place.repository(at).describe())
    assert all(problem.help for problem in state.problems)
    return {problem.code: problem.message for problem in state.problems}


def test_a_good_repository_has_no_problems(place: Place) -> None:
    place.publish()
    state = do(place.repository().describe())
    assert state.problems == ()
    assert (state.branch, state.head, state.remotes) == ("main", place.main(), ("origin",))
    assert not any((state.detached, state.shallow, state.submodules, state.dirty_count))


def test_no_repository(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.root.mkdir()
    state = do(place.repository().describe())
    assert not state.in_repository
    assert state.blocking is not None
    assert (state.blocking.code, state.blocking.help) == ("no-repository", "run `git init` there")
    with pytest.raises(RepositoryError, match="not in a repository"):
        do(place.repository().worktrees.open("T-1"))


def test_no_git(place: Place) -> None:
    place.env = {**place.env, "PATH": "/nowhere"}
    state = do(place.repository().describe())
    assert state.blocking is not None
    assert state.blocking.code == "no-git"
    with pytest.raises(RepositoryError, match="cannot start git"):
        do(place.repository().bases.branch())


def test_a_bare_repository(place: Place) -> None:
    place.publish()
    assert "has no working tree" in problems(place, place.remote)["bare"]


def test_no_commits(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.git("init", "--quiet", str(place.root), at=tmp_path)
    place.write("work in progress", "x")
    state = do(place.repository().describe())
    assert state.blocking is not None
    assert state.blocking.message == "the repository has no commits yet"
    with pytest.raises(RepositoryError, match="no commits yet") as caught:
        do(place.repository().worktrees.open("T-1"))
    assert caught.value.help == "make a first commit, then try again"
    assert place.status() == ['?? "work in progress"']


def test_nobody_to_commit_as(place: Place) -> None:
    Path(place.env["GIT_CONFIG_GLOBAL"]).write_text("[user]\nuseConfigOnly = true\n")
    assert problems(place)["no-identity"] == "git does not know who commits here"


def test_a_detached_head(place: Place) -> None:
    place.git("switch", "--quiet", "--detach")
    assert problems(place)["detached"] == "no branch is checked out"
    assert do(place.repository().bases.branch()) == "main"
    place.git("branch", "--move", "main", "trunk")
    with pytest.raises(RepositoryError, match="neither main nor master"):
        do(place.repository().bases.branch())
    assert do(place.repository(base="trunk").worktrees.open("T-1")).base == "trunk"


def test_the_base_is_the_configured_then_the_remotes_then_the_current(place: Place) -> None:
    place.git("switch", "--quiet", "--create", "trunk")
    assert do(place.repository().bases.branch()) == "trunk"
    place.publish()
    assert do(place.repository().bases.branch()) == "main"
    assert do(place.repository(base="trunk").bases.branch()) == "trunk"
    with pytest.raises(RepositoryError, match="there is no branch 'gone'"):
        do(place.repository(base="gone").bases.branch())


def test_a_tasks_own_branch_is_never_its_base(place: Place) -> None:
    place.git("switch", "--quiet", "--create", "hookline/T-9")
    assert do(place.repository().bases.branch()) == "main"


def test_a_dirty_tree_is_told_of_and_left_alone(place: Place) -> None:
    place.write("readme", "edited\n")
    place.write("new\nline", "x")
    assert problems(place)["uncommitted"] == "2 uncommitted files, such as readme"
    assert do(place.repository().describe()).dirty == ("readme", "new\nline")
    made = do(place.repository().worktrees.open("T-1"))
    assert Path(made.path, "readme").read_text() == "hello\n"
    assert Path(place.root, "readme").read_text() == "edited\n"


@pytest.mark.parametrize("operation", ["rebase", "merge", "cherry-pick", "revert"])
def test_an_unfinished_operation(place: Place, operation: str) -> None:
    place.git("switch", "--quiet", "--create", "other")
    place.commit("readme", "other's\n")
    place.git("switch", "--quiet", "main")
    place.commit("readme", "first\n")
    place.commit("readme", "second\n")
    target = {"revert": "HEAD^"}.get(operation, "other")
    subprocess.run(("git", operation, target), cwd=place.root, env=place.env, capture_output=True)
    found = problems(place)
    assert found["unfinished"] == f"git is in the middle of a {operation}"
    assert "detached" not in found


def test_a_shallow_clone_says_how_to_deepen_it(place: Place) -> None:
    place.publish()
    for number in range(5):
        place.elsewhere("other", f"{number}\n")
    clone = place.folder / "shallow"
    place.git("clone", "--quiet", "--depth=1", place.remote.as_uri(), str(clone), at=place.folder)
    assert "shallow" in problems(place, clone)
    repository = place.repository(clone)
    made = do(repository.worktrees.open("T-1"))
    place.write("work", "x", at=made.path)
    do(repository.changes.commit_all(made.path, "Work"))
    merged = do(repository.merges.merge("refs/heads/hookline/T-1", "main", "Merge"))
    assert isinstance(merged, Merged)
    assert place.on_main("work") == "x"


def test_histories_that_a_shallow_clone_cannot_compare(place: Place) -> None:
    place.publish()
    place.git("switch", "--quiet", "--create", "side")
    place.commit("side", "s\n")
    place.git("push", "--quiet", "origin", "side")
    for number in range(5):
        place.elsewhere("other", f"{number}\n")
    clone = place.folder / "shallow"
    flags = ("--quiet", "--depth=1", "--no-single-branch")
    place.git("clone", *flags, place.remote.as_uri(), str(clone), at=place.folder)
    made = clone / ".hookline" / "worktrees" / "T-1"
    begin = ("worktree", "add", "--quiet", "-b", "hookline/T-1", str(made), "origin/side")
    place.git(*begin, at=clone)
    tip = place.git("rev-parse", "HEAD", at=made)
    with pytest.raises(RepositoryError, match="no commit in common") as caught:
        do(place.repository(clone).changes.rebase(str(made), "main"))
    assert "git fetch --unshallow" in str(caught.value.help)
    assert place.git("rev-parse", "HEAD", at=made) == tip
    assert place.status(made) == []


def test_an_empty_remote_gets_the_base_with_the_first_merge(place: Place) -> None:
    place.git("init", "--quiet", "--bare", str(place.remote), at=place.folder)
    place.git("remote", "add", "origin", str(place.remote))
    made = do(place.repository().worktrees.open("T-1"))
    assert "could not be asked about main" in made.notices[0]
    place.write("work", "x", at=made.path)
    do(place.repository().changes.commit_all(made.path, "Work"))
    assert isinstance(
        do(place.repository().merges.merge("refs/heads/hookline/T-1", "main", "M")), Merged
    )
    assert place.on_main("work") == "x"


def test_a_configured_remote_that_is_not_there(place: Place) -> None:
    with pytest.raises(RepositoryError, match="there is no remote 'upstream'"):
        do(place.repository(remote="upstream", base="main").worktrees.open("T-1"))


def test_a_remote_that_is_not_to_be_used(place: Place) -> None:
    place.publish()
    made = do(place.repository(remote="").worktrees.open("T-1"))
    place.write("work", "x", at=made.path)
    repository = place.repository(remote="")
    do(repository.changes.commit_all(made.path, "Work"))
    merged = do(repository.merges.merge("refs/heads/hookline/T-1", "main", "M"))
    assert isinstance(merged, Merged)
    assert place.git("rev-parse", "main") == merged.sha
    assert place.main() != merged.sha


def test_a_branch_in_the_way_of_ours(place: Place) -> None:
    place.git("branch", "hookline")
    with pytest.raises(RepositoryError, match="hookline/T-1 cannot be made") as caught:
        do(place.repository().worktrees.open("T-1"))
    assert "rename a branch that is called 'hookline'" in str(caught.value.help)


def test_a_checkout_hook_that_fails_is_quoted_and_the_next_attempt_is_fresh(place: Place) -> None:
    place.hook("post-checkout", "echo 'cannot prepare' >&2; exit 1")
    with pytest.raises(RepositoryError, match="cannot prepare"):
        do(place.repository().worktrees.open("T-1"))
    place.hook("post-checkout", "touch prepared")
    made = do(place.repository().worktrees.open("T-1"))
    assert Path(made.path, "prepared").exists()


@pytest.fixture
def nested(place: Place) -> Place:
    """A repository with a submodule, and a remote for each of the two."""
    library = place.folder / "library"
    place.git("init", "--quiet", str(library), at=place.folder)
    place.commit("code", "v1\n", at=library)
    place.git("submodule", "--quiet", "add", str(library), "lib")
    place.git("commit", "--quiet", "--message", "Use the library")
    place.publish()
    return place


def test_submodules_are_there_in_a_worktree_and_in_a_merge(nested: Place) -> None:
    repository = nested.repository()
    assert do(repository.describe()).submodules
    made = do(repository.worktrees.open("T-1"))
    assert made.notices == ()
    assert Path(made.path, "lib", "code").read_text() == "v1\n"
    nested.write("work", "x", at=made.path)
    do(repository.changes.commit_all(made.path, "Work"))
    nested.elsewhere("other", "x\n")
    do(repository.changes.rebase(made.path, "main"))
    assert nested.status(made.path) == []
    assert isinstance(do(repository.merges.merge("refs/heads/hookline/T-1", "main", "M")), Merged)
    assert do(repository.worktrees.clean("T-1")) == Cleaned("T-1", True)


def test_unpushed_commits_in_a_submodule_are_unsaved(nested: Place) -> None:
    repository = nested.repository()
    made = do(repository.worktrees.open("T-1"))
    nested.commit("code", "v2\n", at=Path(made.path, "lib"))
    do(repository.changes.commit_all(made.path, "Use v2"))
    do(repository.pushes.push(made.path, "hookline/T-1"))
    kept = do(repository.worktrees.clean("T-1"))
    assert kept == Kept("T-1", ("commits in submodules that are not pushed",))
    assert Path(made.path, "lib", "code").read_text() == "v2\n"


def test_a_submodule_that_cannot_be_had_is_a_notice(nested: Place) -> None:
    (nested.folder / "library").rename(nested.folder / "away")
    nested.lose(nested.root / ".git" / "modules")
    made = do(nested.repository().worktrees.open("T-1"))
    assert "submodules could not be updated" in made.notices[0]


def test_nothing_is_fetched_from_an_address_that_only_the_work_names(nested: Place) -> None:
    """Whoever takes the work over, or judges it, has rights that its agent may not have."""
    secret = nested.folder / "secret"
    nested.git("clone", "--quiet", str(nested.folder / "library"), str(secret))
    nested.commit("code", "secret\n", at=secret)
    made = do(nested.repository().worktrees.open("T-1"))
    lib = Path(made.path, "lib")
    nested.git("fetch", "--quiet", str(secret), at=lib)
    nested.git("checkout", "--quiet", "FETCH_HEAD", at=lib)
    nested.git("config", "--file", ".gitmodules", "submodule.lib.url", str(secret), at=made.path)
    nested.git("commit", "--quiet", "--all", "--message", "Read it", at=made.path)
    nested.git("worktree", "remove", "--force", made.path)
    nested.git("config", "--unset", "submodule.lib.url")
    made = do(nested.repository().worktrees.open("T-1"))
    assert made.notices == (
        "the submodule lib is not fetched: the base does not have it, or from another address",
    )
    assert list(Path(made.path, "lib").iterdir()) == []
    found = do(nested.repository().findings.committed(made.folder, "main", 0))
    assert [(each.kind, each.path) for each in found] == [("new-submodule", "lib")]


def test_submodules_of_a_commit_that_the_base_does_not_have_are_not_fetched(nested: Place) -> None:
    library, inner = nested.folder / "library", nested.folder / "inner"
    nested.git("clone", "--quiet", str(library), str(inner))
    nested.git("submodule", "--quiet", "add", str(inner), "inner", at=library)
    nested.git("commit", "--quiet", "--message", "Use more", at=library)
    made = do(nested.repository().worktrees.open("T-1"))
    nested.git("pull", "--quiet", "origin", "HEAD", at=Path(made.path, "lib"))
    nested.git("commit", "--quiet", "--all", "--message", "Use the newest", at=made.path)
    nested.git("worktree", "remove", "--force", made.path)
    made = do(nested.repository().worktrees.open("T-1"))
    lib = Path(made.path, "lib")
    assert made.notices == ()
    assert (lib / ".gitmodules").exists()
    assert list((lib / "inner").iterdir()) == []


def test_a_lock_file_that_is_not_ours_is_named_and_stays(place: Place) -> None:
    made = do(place.repository().worktrees.open("T-1"))
    place.write("work", "x", at=made.path)
    lock = place.root / ".git" / "worktrees" / "T-1" / "index.lock"
    lock.touch()
    with pytest.raises(RepositoryError, match=r"index\.lock"):
        do(place.repository().changes.commit_all(made.path, "Work"))
    assert lock.exists()
    lock.unlink()
    assert do(place.repository().changes.commit_all(made.path, "Work"))
