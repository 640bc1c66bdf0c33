"""Which checkout git works in: told by us, verified before each act, and never found by git."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from hookline.adapters.git.checkout import BrokenWorktree, NoRepository, checkout_of
from hookline.adapters.git.repository.git_repository import GitRepository
from hookline.adapters.processes.process import LocalProcesses
from hookline.domain.work.repository import Merged, Prepared, Rebased, RepositoryError
from hookline.errors import Untrusted
from tests.integration.repository_rig import Place, do

SPY = """#!/bin/sh
echo "${GIT_DIR-unset} ${GIT_WORK_TREE-unset} $*" >> %s
exec %s "$@"
"""
# How many git processes each act took before git was told where to work, and one more.
MOST = {"worktree": 27, "describe": 9, "commit": 9, "rebase": 20, "push": 12, "land": 23}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path.resolve())
    made.begin()
    return made


class Spied:
    """A repository whose git processes are written down."""

    def __init__(self, place: Place, *, trusted: bool = True) -> None:
        self.log, programs = place.folder / "log", place.folder / "programs"
        programs.mkdir(exist_ok=True)
        (programs / "git").write_text(SPY % (self.log, shutil.which("git")))
        (programs / "git").chmod(0o755)
        env = {**place.env, "PATH": f"{programs}{os.pathsep}{place.env['PATH']}"}
        processes, root = LocalProcesses(str(place.folder / "blobs")), str(place.root)
        self.repository = GitRepository(processes, root, f"{root}/.hookline", env, trusted=trusted)

    def calls(self) -> list[list[str]]:
        """What git was told of its place since the last time, and with what it was called."""
        said = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return [line.split(" ", 2) for line in said]


# Git that writes files or the index, and runs no hook that would inherit the work tree.
HOOKLESS = re.compile(r"(?<!worktree) (add|hash-object|read-tree|reset|stash|update-index) ")


def test_no_act_leaves_git_to_find_its_repository_or_takes_more_processes(place: Place) -> None:
    place.publish()
    spied = Spied(place)
    git, counts = spied.repository, {}

    def count(name: str) -> None:
        calls = spied.calls()
        assert [call for call in calls if not call[0].startswith(f"{place.root}/.git")] == []
        assert [call for call in calls if call[1] == "unset" and HOOKLESS.search(call[2])] == []
        counts[name] = len(calls)

    made = do(git.worktrees.open("T-1"))
    count("worktree")
    do(git.describe(made.folder))
    count("describe")
    place.write("work", "x\n", at=made.path)
    do(git.changes.commit_all(made.folder, "work"))
    count("commit")
    place.elsewhere("other", "x\n")
    rebased = do(git.changes.rebase(made.folder, "main"))
    assert isinstance(rebased, Rebased)
    count("rebase")
    do(git.pushes.push(made.folder, made.branch))
    count("push")
    prepared = do(git.merges.prepare(rebased.head, "main", "m"))
    assert isinstance(prepared, Prepared)
    spied.calls()
    assert isinstance(do(git.merges.land(prepared)), Merged)
    count("land")
    assert {name: counts[name] for name in MOST if counts[name] > MOST[name]} == {}


def test_hooks_of_git_may_work_in_other_repositories(place: Place) -> None:
    """A hook that forgets the repository it is told, as many do, must not change the work tree."""
    elsewhere = Place(place.folder, "elsewhere")
    elsewhere.begin()
    git = place.repository()
    made = do(git.worktrees.open("T-1"))
    head = place.commit("work", "done\n", at=made.path)
    place.hook("post-merge", f"unset GIT_DIR; cd {elsewhere.root} && git reset --quiet --hard")
    elsewhere.write("readme", "edited\n")
    place.write("readme", "mine\n")
    assert isinstance(do(git.merges.merge(head, "main", "T-1")), Merged)
    assert (elsewhere.status(), place.status()) == ([], ["M readme"])


def test_a_forged_note_of_a_merge_is_not_landed(place: Place) -> None:
    git = place.repository()
    made = do(git.worktrees.open("T-1"))
    head = place.commit("work", "done\n", at=made.path)
    place.git("switch", "--quiet", "--detach", "main", at=made.path)
    evil = place.commit("evil", "x\n", at=made.path)
    parents = ("-p", place.main(), "-p", head)
    forged = place.git("commit-tree", *parents, "-m", "x", f"{evil}^{{tree}}", at=made.path)
    place.git("update-ref", f"refs/hookline/merged/{head}", forged)
    place.git("switch", "--quiet", "hookline/T-1", at=made.path)
    assert isinstance(do(git.merges.merge(head, "main", "T-1")), Merged)
    assert place.git("ls-tree", "--name-only", "main").split() == ["readme", "work"]


def test_a_submodule_that_is_tied_to_the_users_repository_is_left_alone(place: Place) -> None:
    part = Place(place.folder, "part")
    part.begin()
    place.git("submodule", "--quiet", "add", str(part.root), "part")
    place.git("commit", "--quiet", "--message", "with a part")
    git = place.repository()
    made = do(git.worktrees.open("T-1"))
    place.commit("work", "x\n", at=made.path)
    place.commit("other", "x\n")
    Path(made.path, "part", ".git").write_text(f"gitdir: {place.root}/.git\n")
    before = place.git("rev-parse", "--symbolic-full-name", "HEAD"), place.main()
    with pytest.raises(RepositoryError):
        do(git.changes.rebase(made.folder, "main"))
    do(git.conflicts.recover(made.folder))
    assert (place.git("rev-parse", "--symbolic-full-name", "HEAD"), place.main()) == before
    assert place.status() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_repository_of_another_user_is_judged_by_git(place: Place) -> None:
    os.chown(place.root / ".git", 12345, 12345)
    blocking = do(place.repository().describe()).blocking
    assert blocking is not None
    assert "dubious ownership" in blocking.message
    place.env["GIT_CONFIG_COUNT"] = "1"
    place.env |= {"GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": str(place.root)}
    assert do(place.repository().describe()).blocking is None


def test_an_untrusted_repository_is_only_looked_at(place: Place) -> None:
    trap = place.write("../trap", f'#!/bin/sh\necho "$0 $*" >> {place.folder}/sprung\ncat\n')
    trap.chmod(0o755)
    made = do(place.repository().worktrees.open("T-1"))
    place.commit("large", "x\n", at=made.path)
    missing = place.git("rev-parse", "HEAD:large", at=made.path)
    place.write("readme", "edited\n")
    place.write(".git/info/attributes", "* filter=a=b diff=x\n")
    for key in ("clean", "smudge", "process"):
        place.git("config", f"filter.a=b.{key}", str(trap))
    place.git("config", "filter.a=b.required", "true")
    for key in ("core.fsmonitor", "core.sshCommand", "diff.x.textconv", "diff.external"):
        place.git("config", key, str(trap))
    # An object that is missing is fetched from here, by the command.
    place.git("config", "core.repositoryFormatVersion", "1")
    place.git("config", "extensions.partialClone", "far")
    place.git("config", "remote.far.url", "ssh://far/repository")
    place.git("config", "remote.far.promisor", "true")
    (place.root / ".git" / "objects" / missing[:2] / missing[2:]).unlink()
    (place.folder / "sprung").unlink(missing_ok=True)
    git = Spied(place, trusted=False).repository
    state = do(git.describe())
    assert state.dirty == ("readme",)
    assert do(git.history.commits(made.folder, "main"))
    with pytest.raises(RepositoryError):
        do(git.history.diff(made.folder, "main"))
    do(git.worktrees.unsaved("T-1"))
    do(git.worktrees.list())
    place.write("more", "x\n", at=made.path)
    with pytest.raises(Untrusted, match="git fetch runs only in a repository that you trust"):
        do(git.worktrees.open("T-2"))
    with pytest.raises(Untrusted, match="git add runs only"):
        do(git.changes.commit_all(made.folder, "x"))
    assert not (place.folder / "sprung").exists(), (place.folder / "sprung").read_text()


def test_what_a_worktree_is_instead_is_told(place: Place) -> None:
    made = Path(do(place.repository().worktrees.open("T-1")).path)
    assert checkout_of(str(made / "deep")).top == str(made)
    (made / ".git").unlink()
    with pytest.raises(BrokenWorktree, match=r"\.git is gone"):
        checkout_of(str(made))
    os.mkfifo(made / ".git")
    with pytest.raises(BrokenWorktree, match="a repository of its own"):
        checkout_of(str(made))
    (place.root / ".git").rename(place.root / "git")
    with pytest.raises(NoRepository):
        checkout_of(str(made))
