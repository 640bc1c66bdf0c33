"""What is remembered of git's answers, or read from its files, is what git says at that moment."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.git.checkout import BrokenWorktree, checkout_of
from hookline.adapters.git.refs import (
    is_missing,
    is_plain_name,
    leads_to,
    read_commit,
    stands_alone,
    steps_between,
)
from hookline.domain.work.repository import RepositoryError
from tests.integration.repository_rig import Place, do

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hookline.adapters.git.repository.git_repository import GitRepository

RECORDER = '#!/bin/sh\necho "$*" >> %s\nexec %s "$@"\n'


class Desk(Place):
    """A project with a task's worktree that was looked at, and git's calls written down."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.begin()
        self.log, programs = folder / "log", folder / "programs"
        programs.mkdir()
        (programs / "git").write_text(RECORDER % (self.log, shutil.which("git")))
        (programs / "git").chmod(0o755)
        plain = self.env
        self.env = {**plain, "PATH": f"{programs}{os.pathsep}{plain['PATH']}"}
        self.git_of_ours: GitRepository = self.repository()
        self.env = plain
        self.path = do(self.git_of_ours.worktrees.open("T-1")).path
        self.other = do(self.git_of_ours.worktrees.open("T-2")).path
        self.commit("work", "done\n", at=self.path)
        self.look()

    def look(self) -> None:
        """Everything that a gate asks before it judges; BrokenWorktree where it must not."""
        do(self.git_of_ours.changes.check(self.path, "hookline/T-1"))
        assert do(self.git_of_ours.describe(self.path)).blocking is None
        assert do(self.git_of_ours.history.commits_ahead(self.path, "main")) == 1

    def calls(self, act: Callable[[], None]) -> list[str]:
        """What was asked of git during an act."""
        self.log.write_text("")
        act()
        return self.log.read_text().splitlines()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_what_did_not_change_is_not_asked_again(desk: Desk) -> None:
    desk.look()
    assert [line for line in desk.calls(desk.look) if " status " not in line] == []
    # What we write for other tasks all the time is looked at once.
    desk.git("config", "branch.hookline/T-9.hooklineBase", "main")
    asked = [line for line in desk.calls(desk.look) if " status " not in line]
    assert len(asked) == 1
    assert "config --null --list" in asked[0]


@pytest.mark.parametrize("seen_before", [False, True])
def test_a_setting_that_sends_git_elsewhere_is_seen_at_once(desk: Desk, seen_before: bool) -> None:
    config = desk.root / ".git" / "config"
    harmless = f"\n[core]\n\thooksPath = {desk.path}/own\n"
    if seen_before:
        config.write_text(config.read_text() + harmless)
        desk.look()
    before, text = config.stat(), config.read_text().replace(harmless, "")
    # In its place, of the same length, with the time of before.
    with config.open("r+") as file:
        file.write(text + harmless.replace(desk.path, desk.other))
        file.truncate()
    os.utime(config, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(BrokenWorktree, match="git's hooks are in a worktree"):
        desk.look()
    config.write_text(text)
    desk.look()
    root = str(desk.root)
    do(desk.git_of_ours.changes.check(root))
    desk.git("config", "core.worktree", desk.other)
    with pytest.raises(BrokenWorktree, match="git does not work in"):
        do(desk.git_of_ours.changes.check(root))
    assert do(desk.git_of_ours.describe(root)).problems[0].code == "bare"
    desk.git("config", "--unset", "core.worktree", at=desk.path)
    do(desk.git_of_ours.changes.check(root))
    desk.git("config", "core.bare", "true")
    with pytest.raises(BrokenWorktree, match="git does not work in"):
        do(desk.git_of_ours.changes.check(root))
    assert do(desk.git_of_ours.describe(root)).bare


@pytest.mark.parametrize("key", ["include.path", "includeIf.gitdir:/.path"])
def test_a_file_that_settings_include_is_seen_to_change(desk: Desk, key: str) -> None:
    included = desk.folder / "more"
    desk.git("config", "--global", key, "more")
    for _ in range(3):
        desk.look()
    included.write_text(f"[core]\n\thooksPath = {desk.other}\n")
    with pytest.raises(BrokenWorktree, match="git's hooks are in a worktree"):
        desk.look()
    included.write_text("[user]\n\temail = other@example.com\n")
    for _ in range(3):
        desk.look()
    included.write_text(f"[core]\n\thooksPath = {desk.other}\n")
    with pytest.raises(BrokenWorktree, match="git's hooks are in a worktree"):
        desk.look()


def test_settings_of_one_worktree_are_seen(desk: Desk) -> None:
    desk.git("config", "extensions.worktreeConfig", "true")
    desk.look()
    desk.git("config", "--worktree", "core.hooksPath", desk.other, at=desk.path)
    with pytest.raises(BrokenWorktree, match="git's hooks are in a worktree"):
        desk.look()


def test_an_identity_that_is_gone_is_missed(desk: Desk) -> None:
    desk.git("config", "user.useConfigOnly", "true")
    desk.git("config", "--global", "--unset", "user.email")
    problems = do(desk.git_of_ours.describe(desk.path)).problems
    assert "no-identity" in [each.code for each in problems]


def test_a_branch_that_becomes_another_name_is_seen(desk: Desk) -> None:
    desk.git("symbolic-ref", "refs/heads/alias", "refs/heads/hookline/T-1")
    with pytest.raises(RepositoryError, match="is a symbolic ref to refs/heads/alias"):
        desk.look()
    desk.git("symbolic-ref", "--delete", "refs/heads/alias")
    desk.look()
    desk.git("pack-refs", "--all")
    desk.look()
    desk.git("update-ref", "-d", "refs/heads/hookline/T-1")
    with pytest.raises(RepositoryError, match="the branch hookline/T-1 is gone"):
        desk.look()


def test_notes_of_ours_move_no_branch_that_they_lead_to(desk: Desk) -> None:
    head, main = desk.git("rev-parse", "HEAD", at=desk.path), desk.main()
    note = f"refs/hookline/merged/{head}"
    desk.git("symbolic-ref", note, "refs/heads/main")
    prepared = do(desk.git_of_ours.merges.prepare(head, "main", "Merge"))
    assert desk.main() == main
    assert desk.git("rev-parse", note) == getattr(prepared, "sha", None)
    desk.git("merge", "--quiet", "--ff-only", head)
    desk.git("symbolic-ref", note, "refs/heads/main")
    do(desk.git_of_ours.worktrees.clean("T-1"))
    assert desk.main() == head
    assert desk.git("for-each-ref", "refs/hookline", "refs/heads/hookline/T-1") == ""


def test_history_that_is_read_from_files_is_that_of_git(desk: Desk) -> None:
    common = checkout_of(str(desk.root)).common
    desk.git("merge", "--quiet", "--no-ff", "--no-edit", "hookline/T-1")
    desk.commit("after", "x\n")
    shas = desk.git("rev-list", "--all").splitlines()
    for newer in shas:
        tree = desk.git("rev-parse", f"{newer}^{{tree}}")
        parents = desk.git("rev-parse", f"{newer}^@").split()
        assert read_commit(common, newer) == (tree, parents)
        for older in shas:
            held = older in desk.git("rev-list", newer).splitlines()
            assert leads_to(common, older, newer) == held
            steps = steps_between(common, older, newer)
            count = desk.git("rev-list", "--count", f"{older}..{newer}")
            assert steps is None or (held and steps == int(count))
    first = desk.git("rev-list", "--max-parents=0", "main")
    assert steps_between(common, first, desk.git("rev-parse", "hookline/T-1")) == 1
    # Where git leaves history out, it is asked.
    (desk.root / ".git" / "shallow").write_text(f"{shas[0]}\n")
    assert not leads_to(common, shas[1], shas[0])
    assert steps_between(common, shas[0], shas[0]) is None


def test_a_ref_that_is_packed_is_not_missing(desk: Desk) -> None:
    at = checkout_of(str(desk.root))
    names = ("refs/heads/main", "refs/heads/hookline/T-1", "refs/heads/hookline/T-11")
    assert [is_missing(at, name) for name in names] == [False, False, True]
    assert stands_alone(at, names[1])
    desk.git("pack-refs", "--all")
    assert [is_missing(at, name) for name in names] == [False, False, True]
    assert not stands_alone(at, names[1])
    assert not is_missing(at, "refs/tags/none")  # git has to tell


@pytest.mark.examples(8)
@pytest.mark.parametrize(
    "name",
    [
        *("main", "a/b", "v1.2", "x_y-z", "feature/T-1.2", "-a", "a..b", "a.lock", "a.lock/b"),
        *("a//b", "/a", "a/", ".a", "a/.b", "a.", "a b", "a~1", "a^", "a:b", "a?b", "a*", "a[b"),
        *("a\\b", "a@{b", "@", "", "a\x7fb", "a\nb", "main\n", "ä", "a.lock.b"),
    ],
)
def test_a_plain_name_is_one_that_git_allows(desk: Desk, name: str) -> None:
    try:
        desk.git("check-ref-format", f"refs/heads/{name}")
    except AssertionError:
        assert not is_plain_name(name)
