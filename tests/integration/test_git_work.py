"""What an agent did to a folder, read by a real git from real repositories."""

from __future__ import annotations

import asyncio
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.git.work import GitWork
from hookline.adapters.processes.process import LocalProcesses

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.domain.work.repository import WorkState, WorkTree


class Folder:
    """A repository, and what GitWork says about it."""

    def __init__(self, folder: Path) -> None:
        self.top = folder / "project"
        self.top.mkdir()
        self.root = self.top
        self.processes = LocalProcesses(str(folder / "blobs"))
        self.objects = folder / "objects"
        self.work = GitWork(self.processes, os.environ, str(self.objects))

    def git(self, *args: str) -> str:
        """Run git in the repository."""
        who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        done = subprocess.run(
            ("git", *who, *args), cwd=self.top, check=True, capture_output=True, text=True
        )
        return done.stdout

    def begin(self, **files: str) -> None:
        """A repository with these files in its first commit."""
        self.git("init", "-q")
        for name, text in files.items():
            (self.top / name).write_text(text)
        self.commit("begin")

    def commit(self, message: str) -> None:
        """Commit everything."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def state(self) -> WorkState:
        """The state as it is now."""
        return asyncio.run(self.work.state(str(self.root)))

    def since(self, before: WorkState) -> list[str]:
        """The files that changed since a state."""
        return asyncio.run(self.work.between(str(self.root), before, self.state()))

    def tree(self, base: str | None = None) -> WorkTree:
        """The content as a tree."""
        return asyncio.run(self.work.tree(str(self.root), base))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_outside_of_a_repository_nothing_is_known(folder: Folder) -> None:
    state = folder.state()
    assert not state.in_repository
    assert state.fingerprint is None
    assert not folder.tree().in_repository


def test_edits_new_files_and_deletions_are_changes(folder: Folder) -> None:
    folder.begin(a="1", b="1", c="1")
    before = folder.state()
    (folder.top / "a").write_text("2")
    (folder.top / "b").unlink()
    (folder.top / "new file").write_text("x")
    assert folder.since(before) == ["a", "b", "new file"]
    assert folder.state().fingerprint != before.fingerprint


def test_the_same_content_is_the_same_state_whenever_it_was_written(folder: Folder) -> None:
    folder.begin(a="1")
    (folder.top / "a").write_text("one")
    (folder.top / "new").write_text("one")
    first = folder.state()
    (folder.top / "a").write_text("two")
    second = folder.state()
    (folder.top / "a").write_text("one")
    (folder.top / "new").unlink()
    (folder.top / "new").write_text("one")
    third = folder.state()
    assert first.fingerprint == third.fingerprint != second.fingerprint
    assert folder.since(first) == []


def test_the_right_to_run_and_the_target_of_a_link_are_content(folder: Folder) -> None:
    folder.begin(a="1")
    (folder.top / "tool").write_text("x")
    (folder.top / "link").symlink_to("a")
    before = folder.state()
    (folder.top / "tool").chmod(0o755)
    (folder.top / "link").unlink()
    (folder.top / "link").symlink_to("b")
    assert folder.since(before) == ["link", "tool"]


def test_a_file_that_cannot_be_read_is_no_reason_to_fail(folder: Folder) -> None:
    folder.begin()
    os.mkfifo(folder.top / "pipe")
    (folder.top / "sub").mkdir()
    (folder.top / "big").write_bytes(b"x" * 5_000_000)
    assert folder.state().in_repository


def test_a_commit_of_what_was_edited_before_changes_no_file(folder: Folder) -> None:
    folder.begin(a="1", b="1")
    (folder.top / "a").write_text("2")
    before = folder.state()
    (folder.top / "b").write_text("2")
    folder.commit("both")
    assert "b" in folder.since(before)


def test_commits_that_lead_back_are_the_same_state(folder: Folder) -> None:
    folder.begin(file="one\n")
    states = [folder.state()]
    for text in ("two\n", "one\n"):
        (folder.top / "file").write_text(text)
        folder.commit(text)
        states.append(folder.state())
    before, between, after = (state.fingerprint for state in states)
    assert before == after != between
    assert len({state.commit for state in states}) == 3


def test_the_first_commit_is_compared_with_nothing(folder: Folder) -> None:
    folder.git("init", "-q")
    before = folder.state()
    (folder.top / "a").write_text("1")
    folder.commit("begin")
    assert folder.since(before) == ["a"]


def test_a_file_that_was_edited_and_then_committed_with_more_is_a_change(folder: Folder) -> None:
    folder.begin(a="1")
    (folder.top / "a").write_text("2")
    before = folder.state()
    (folder.top / "a").write_text("3")
    folder.commit("more")
    assert folder.since(before) == ["a"]


def test_a_project_in_a_folder_of_a_repository_is_seen(folder: Folder) -> None:
    (folder.top / "part").mkdir()
    (folder.top / "part" / "a").write_text("1")
    folder.begin()
    folder.root = folder.top / "part"
    (folder.root / "a").write_text("2")
    before = folder.state()
    (folder.root / "a").write_text("3")
    assert folder.since(before) == ["a"]
    base = folder.tree().tree
    (folder.root / "a").write_text("4")
    assert folder.tree(base).changed_files == 1


def test_names_with_marks_of_all_kinds(folder: Folder) -> None:
    folder.begin()
    before = folder.state()
    names = sorted(["a b", "ä", "x\ny", "-n", "'q'", '"d"', "1 2 3 4 5 6 7 8 9"])
    for name in names:
        (folder.top / name).write_text("x")
    assert folder.since(before) == names


def test_ignored_files_are_nobodys_work(folder: Folder) -> None:
    folder.begin(**{".gitignore": "*.log\n"})
    before = folder.state()
    (folder.top / "a.log").write_text("x")
    assert folder.state().fingerprint == before.fingerprint


def test_looking_takes_no_lock(folder: Folder) -> None:
    folder.begin(a="1")
    (folder.top / "a").write_text("2")
    lock = folder.top / ".git" / "index.lock"
    lock.touch()
    assert list(folder.state().stamps) == ["a"]
    assert lock.exists()
    found = asyncio.run(folder.work.changed_files(str(folder.top)))
    assert found == ["a"]


def test_foreign_git_variables_lead_nowhere_else(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder.begin(a="1")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    folder.work = GitWork(folder.processes, os.environ, str(folder.objects))
    assert folder.state().in_repository


def test_a_tree_leaves_the_repository_as_it_is(folder: Folder) -> None:
    folder.begin(a="1")
    (folder.top / "a").write_text("2")
    (folder.top / "new").write_text("x")
    status = folder.git("status", "--porcelain")
    objects = folder.git("count-objects")
    base = folder.tree()
    assert (base.in_repository, base.diff_hash, base.changed_files) == (True, None, 0)
    (folder.top / "new").write_text("y")
    done = folder.tree(base.tree)
    assert done.changed_files == 1
    assert done.diff_hash
    assert folder.git("status", "--porcelain") == status
    assert folder.git("count-objects") == objects


def test_work_that_was_undone_is_no_difference(folder: Folder) -> None:
    folder.begin(a="1")
    base = folder.tree().tree
    (folder.top / "a").write_text("2")
    assert folder.tree(base).diff_hash
    (folder.top / "a").write_text("1")
    undone = folder.tree(base)
    assert (undone.diff_hash, undone.changed_files) == (None, 0)


def test_an_edit_in_the_second_of_the_last_commit_is_seen_later(folder: Folder) -> None:
    folder.begin(a="1")
    folder.git("config", "core.trustctime", "false")
    base = folder.tree().tree
    file, index = folder.top / "a", folder.top / ".git" / "index"
    os.utime(file, (1000, 1000))
    folder.git("update-index", "--refresh")
    file.write_text("2")
    for path in (file, index):
        os.utime(path, (1000, 1000))
    assert folder.tree(base).changed_files == 1


def test_commits_do_not_hide_what_was_done(folder: Folder) -> None:
    folder.begin(a="1")
    base = folder.tree().tree
    (folder.top / "a").write_text("2")
    edited = folder.tree(base)
    folder.commit("done")
    assert folder.tree(base) == edited
