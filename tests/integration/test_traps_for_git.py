"""Traps that an agent can lay in the folders of git that it shares with the user."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.git.checkout import checkout_of
from hookline.adapters.git.repository.worktree_folders import _machine
from hookline.domain.work.repository import Merged, Refused, RepositoryError
from tests.integration.repository_rig import do

if TYPE_CHECKING:
    from tests.integration.repository_rig import Place

TASK = "T-1"


def worked(place: Place, name: str = "new", text: str = "work\n") -> Path:
    """A task's worktree with a commit in it."""
    path = Path(do(place.repository().worktrees.open(TASK)).path)
    place.write(name, text, at=path)
    place.git("add", "--force", name, at=path)
    do(place.repository().changes.commit_all(str(path), "Work"))
    return path


def merge(place: Place, method: str = "merge") -> object:
    head = place.git("rev-parse", f"refs/heads/hookline/{TASK}")
    return do(place.repository().merges.merge(head, "main", "Merge", method))  # type: ignore[arg-type]


@pytest.fixture
def feature(alone: Place) -> Path:
    """Another worktree of the user's, with work that is not committed."""
    path = alone.root.parent / "feature"
    alone.git("worktree", "add", "--quiet", "-b", "feature", str(path))
    (path / "draft").write_text("mine\n")
    return path


def test_a_link_in_the_place_of_a_passing_checkout_leads_nowhere(
    alone: Place, feature: Path
) -> None:
    path = worked(alone)
    left = path.parent / f".scratch-{_machine()}-999999-1-aaaa"
    left.symlink_to(feature)
    assert isinstance(merge(alone, "rebase"), Merged)
    assert (feature / "draft").read_text() == "mine\n"
    assert not left.is_symlink()


def test_a_link_in_the_place_of_a_repaired_worktree_leads_nowhere(
    alone: Place, feature: Path
) -> None:
    path = worked(alone)
    (path.parent / f".fresh-{TASK}").symlink_to(feature)
    (path / ".git").unlink()
    alone.lose(alone.root / ".git/worktrees" / TASK)
    do(alone.repository().worktrees.open(TASK))
    assert (feature / "draft").read_text() == "mine\n"


def test_an_odd_name_beside_the_worktrees_stops_no_merge(alone: Place) -> None:
    path = worked(alone)
    (path.parent / ".scratch-x").mkdir()
    assert isinstance(merge(alone, "rebase"), Merged)


@pytest.mark.parametrize("name", ["secret.env", "build/kept"])
def test_ignored_files_of_the_user_are_not_overwritten(alone: Place, name: str) -> None:
    alone.commit(".gitignore", "secret.env\nbuild\n")
    worked(alone, name.partition("/")[0], "theirs\n")
    place = alone.root / name
    place.parent.mkdir(exist_ok=True)
    place.write_text("mine\n")
    before = alone.main()
    refused = merge(alone)
    assert isinstance(refused, Refused)
    assert name.partition("/")[0] in refused.reason + refused.output
    assert (place.read_text(), alone.main()) == ("mine\n", before)


def test_a_link_in_the_place_of_a_note_is_not_written_through(alone: Place) -> None:
    worked(alone)
    mine = alone.root.parent / "mine.txt"
    mine.write_text("mine\n")
    (alone.root / ".git/hookline-step").symlink_to(mine)
    assert isinstance(merge(alone), Merged)
    assert mine.read_text() == "mine\n"


def test_a_pipe_that_nobody_writes_to_holds_nobody_up(alone: Place) -> None:
    path = worked(alone)
    os.mkfifo(alone.root / ".git/hookline-step")
    assert isinstance(merge(alone), Merged)
    (alone.root / ".git/objects/info").mkdir(exist_ok=True)
    os.mkfifo(alone.root / ".git/objects/info/alternates")
    assert checkout_of(str(path)).top == str(path)


@pytest.mark.parametrize("ends", [("hookline/T-1", "main"), ("main", "hookline/T-1")])
def test_a_branch_that_moves_another_is_refused(alone: Place, ends: tuple[str, str]) -> None:
    path = worked(alone)
    before = alone.main()
    alone.git("symbolic-ref", *(f"refs/heads/{end}" for end in ends))
    now = alone.main()
    alone.write("more", "more\n", at=path)
    with pytest.raises(RepositoryError, match="is a symbolic ref to refs/heads/"):
        do(alone.repository().changes.commit_all(str(path), "More"))
    assert alone.main() == now
    assert alone.git("cat-file", "-t", before) == "commit"


def test_hidden_files_that_are_gone_are_found(alone: Place) -> None:
    path = worked(alone, "evil", "EVIL\n")
    alone.git("update-index", "--skip-worktree", "evil", at=path)
    (path / "evil").unlink()
    found = do(alone.repository().findings.committed(str(path), "main", 1 << 20))
    assert [(each.kind, each.path) for each in found] == [("unwatched", "evil")]


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_a_planted_note_of_a_merge_is_not_believed(alone: Place, method: str) -> None:
    path = worked(alone)
    head = alone.git("rev-parse", "HEAD", at=path)
    alone.git("update-ref", f"refs/hookline/merged/{head}", "main")
    assert isinstance(merge(alone, method), Merged)
    assert alone.on_main("new") == "work"
    # What was really merged is found again.
    before = alone.main()
    assert isinstance(merge(alone, method), Merged)
    assert alone.main() == before


@pytest.mark.parametrize("name", ["refs/heads/main.lock", "index.lock"])
def test_a_lock_in_the_way_is_told_before_anything_moves(alone: Place, name: str) -> None:
    worked(alone)
    (alone.root / ".git" / name).touch()
    refused = merge(alone)
    assert isinstance(refused, Refused)
    assert name in refused.reason
    assert alone.status() == []
    (alone.root / ".git" / name).unlink()
    assert isinstance(merge(alone), Merged)


def test_an_index_that_is_the_users_is_not_written_to(alone: Place) -> None:
    path = worked(alone)
    index = alone.root / ".git/worktrees" / TASK / "index"
    index.unlink()
    index.symlink_to("../../index")
    alone.write("more", "more\n", at=path)
    with pytest.raises(RepositoryError, match="is a link to"):
        do(alone.repository().changes.commit_all(str(path), "More"))
    assert alone.status() == []


def test_a_file_that_was_changed_is_seen_to_be(alone: Place) -> None:
    path = worked(alone, "new", "EVIL\n")
    for setting in (("core.checkStat", "minimal"), ("core.trustctime", "false")):
        alone.git("config", *setting)
    before = (path / "new").stat()
    alone.git("update-index", "--refresh", at=path)
    with (path / "new").open("r+") as file:
        file.write("GOOD")
    os.utime(path / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert list(do(alone.repository().describe(str(path))).dirty) == ["new"]


def test_a_checkout_does_not_become_sparse_by_a_step(alone: Place) -> None:
    alone.commit("kept", "mine\n")
    worked(alone)
    alone.git("config", "core.sparseCheckout", "true")
    (alone.root / ".git/info/sparse-checkout").write_text("/new\n")
    refused = merge(alone)
    assert isinstance(refused, Refused)
    assert "core.sparseCheckout is on" in refused.reason
    assert (alone.root / "kept").read_text() == "mine\n"
    alone.git("sparse-checkout", "set", "--no-cone", "/new", "/readme")  # as its user wants it
    assert isinstance(merge(alone), Merged)
