"""Copies of a task's work, taken in one clone and restored in another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from hookline.domain.work.repository import RepositoryError
from tests.integration.repository_rig import Place, do

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.work.places import Restored, TakenCopy, WorkCopy

TASK = "T-1"


def everything(top: str, names: Sequence[str]) -> list[str]:
    """Every file may leave the worktree."""
    return []


def take(place: Place, known: WorkCopy | None = None, unfit: Any = everything) -> TakenCopy:
    repository = place.repository()
    made = do(repository.worktrees.open(TASK))
    return do(repository.copies.take(made.folder, "main", unfit, known))


def restore(place: Place, taken: TakenCopy, root: Path | None = None) -> Restored:
    clone = place.repository(root or place.colleague())
    return do(clone.copies.restore(TASK, taken.copy, taken.bundle))


@pytest.fixture
def worked(shared: Place) -> Place:
    """A worktree with a commit, a change, a removed file, untracked files and an ignored one."""
    shared.elsewhere("gone", "x\n")
    made = do(shared.repository().worktrees.open(TASK))
    shared.commit("work", "one\n", at=made.path)
    shared.write("readme", "changed\n", at=made.path)
    Path(made.path, "gone").unlink()
    shared.write("new é\nfile", "untracked\n", at=made.path)
    shared.write(".gitignore", "/built\n", at=made.path)
    shared.write("built", "ignored\n", at=made.path)
    Path(made.path, "link").symlink_to("readme")
    Path(made.path, "run").write_text("#!/bin/sh\n")
    Path(made.path, "run").chmod(0o755)
    return shared


def test_another_clone_gets_the_branch_and_the_files_as_they_lie(worked: Place) -> None:
    own = do(worked.repository().worktrees.open(TASK))
    before = worked.git("status", "--porcelain", at=own.path)
    taken = take(worked)
    assert taken.bundle is not None
    assert worked.git("status", "--porcelain", at=own.path) == before
    assert worked.git("for-each-ref", "refs/hookline") == ""
    made = restore(worked, taken).worktree
    assert made.head == own.head == taken.copy.tip
    assert worked.git("status", "--porcelain", at=made.path) == before
    for name in ("readme", "work", "new é\nfile", "run", ".gitignore"):
        there, here = Path(made.path, name), Path(own.path, name)
        assert (there.read_text(), there.stat().st_mode) == (here.read_text(), here.stat().st_mode)
    assert Path(made.path, "link").readlink() == Path("readme")
    assert not Path(made.path, "gone").exists()
    assert not Path(made.path, "built").exists()


def test_what_is_unfit_stays_where_it_is(worked: Place) -> None:
    asked: list[list[str]] = []

    def unfit(top: str, names: Sequence[str]) -> list[str]:
        asked.append(sorted(names))
        return ["new é\nfile"]

    taken = take(worked, unfit=unfit)
    assert asked == [[".gitignore", "link", "new é\nfile", "run"]]
    assert taken.copy.left_out == ("new é\nfile",)
    made = restore(worked, taken).worktree
    assert not Path(made.path, "new é\nfile").exists()
    assert Path(made.path, "run").exists()


def test_nothing_is_bundled_twice(worked: Place) -> None:
    first = take(worked)
    assert take(worked, first.copy).copy is first.copy
    Path(do(worked.repository().worktrees.open(TASK)).path, "run").write_text("other\n")
    assert take(worked, first.copy).copy.tree != first.copy.tree


def test_work_without_changes_needs_no_bundle(shared: Place) -> None:
    taken = take(shared)
    assert taken.bundle is None
    assert restore(shared, taken).worktree.head == shared.main()


def test_an_older_worktree_is_replaced_and_its_files_are_kept(worked: Place) -> None:
    clone = worked.colleague()
    old = do(worked.repository(clone).worktrees.open(TASK))
    worked.commit("stale", "stale\n", at=old.path)
    worked.write("readme", "stale\n", at=old.path)
    worked.write("only here", "stale\n", at=old.path)
    restored = restore(worked, take(worked), clone)
    assert Path(restored.worktree.path, "readme").read_text() == "changed\n"
    assert not Path(restored.worktree.path, "only here").exists()
    names = [worked.git("ls-tree", "-r", "--name-only", ref, at=clone) for ref in restored.rescued]
    assert any("only here" in each for each in names)


def test_a_restore_that_was_cut_is_made_again(worked: Place) -> None:
    taken = take(worked)
    first = restore(worked, taken).worktree
    Path(first.path, ".git").unlink()
    again = restore(worked, taken).worktree
    assert Path(again.path, "readme").read_text() == "changed\n"


def test_a_clone_without_the_base_says_so(worked: Place) -> None:
    taken = take(worked)
    folder = worked.folder / "apart"
    folder.mkdir()
    other = Place(folder)
    other.begin()
    with pytest.raises(RepositoryError) as told:
        restore(worked, taken, other.root)
    assert "cannot be used here" in told.value.message
    assert not (other.root / ".hookline" / "worktrees" / TASK).exists()


def test_a_damaged_bundle_changes_nothing(worked: Place) -> None:
    taken = take(worked)
    assert taken.bundle is not None
    broken = msgspec.structs.replace(taken, bundle=taken.bundle[:-40])
    with pytest.raises(RepositoryError):
        restore(worked, broken)
    assert "T-1" not in worked.git("branch", "--all", at=worked.colleague())


def test_a_merge_under_way_goes_on(worked: Place) -> None:
    own = do(worked.repository().worktrees.open(TASK))
    worked.git("add", "--all", at=own.path)
    worked.git("commit", "--quiet", "-m", "all", at=own.path)
    other = worked.elsewhere("readme", "other\n")
    worked.git("fetch", "--quiet", at=own.path)
    with pytest.raises(AssertionError, match="CONFLICT"):
        worked.git("merge", "origin/main", at=own.path)
    made = restore(worked, take(worked)).worktree
    assert worked.git("rev-parse", "MERGE_HEAD", at=made.path) == other
    assert "<<<<<<<" in Path(made.path, "readme").read_text()


def test_the_project_may_be_a_folder_of_the_repository(shared: Place) -> None:
    shared.commit("apps/web/page", "p\n")
    shared.git("push", "--quiet")
    repository = shared.repository(shared.root / "apps" / "web")
    made = do(repository.worktrees.open(TASK))
    shared.write("new", "n\n", at=made.folder)
    taken = do(repository.copies.take(made.folder, "main", everything, None))
    root = shared.colleague() / "apps" / "web"
    restored = do(shared.repository(root).copies.restore(TASK, taken.copy, taken.bundle))
    assert Path(restored.worktree.folder, "new").read_text() == "n\n"
