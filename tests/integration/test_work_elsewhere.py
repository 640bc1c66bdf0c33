"""Where work went that its branch does not show, in real repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.domain.work.repository import Merged
from tests.integration.repository_rig import Place, do

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.domain.work.forge import MergeMethod


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place(tmp_path)
    found.begin()
    return found


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_what_we_merged_ourselves_is_where_it_belongs(place: Place, method: MergeMethod) -> None:
    repository = place.repository()
    made = do(repository.worktrees.open("T-1"))
    assert made.fresh
    assert not do(repository.worktrees.open("T-1")).fresh
    start = do(repository.history.merge_base(made.folder, "main"))
    assert do(repository.findings.elsewhere(made.folder, "main", start)) is None
    head = place.commit("thing", "new\n", at=made.folder)
    merged = do(repository.merges.merge(head, "main", "a thing", method))
    assert isinstance(merged, Merged)
    assert do(repository.findings.elsewhere(made.folder, "main", start)) is None


def test_what_somebody_else_merged_is_told(place: Place) -> None:
    repository = place.repository()
    made = do(repository.worktrees.open("T-1"))
    head = place.commit("thing", "new\n", at=made.folder)
    place.git("merge", "--quiet", "--ff-only", head)
    seen = do(repository.findings.elsewhere(made.folder, "main", None))
    assert seen is not None
    assert head[:12] in seen.seen
    assert not seen.lost
