"""What is merged is what git's merge gives, as it was tested: no hook and no edit changes it."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookline.domain.work.repository import Merged, Prepared, Rebased, RepositoryError
from tests.integration.repository_rig import do

if TYPE_CHECKING:
    from tests.integration.repository_rig import Place

TASK, BRANCH = "T-1", "refs/heads/hookline/T-1"
METHODS = ("merge", "squash", "rebase")
# Each of them changes the commit, or the files, of the checkout in which git works.
COMMITS = "echo evil > evil; git add evil; git -c core.hooksPath= commit -qm evil --amend"
HOOKS = {
    "post-checkout": "echo evil > evil",
    "pre-commit": "echo evil > evil; git add evil",
    "pre-merge-commit": "echo evil > evil; git add evil",
    "prepare-commit-msg": "echo evil > evil; git add evil",
    "commit-msg": 'echo changed > "$1"',
    "post-commit": f"[ -e evil ] || {{ {COMMITS}; }}",
    "post-merge": f"[ -e evil ] || {{ {COMMITS}; }}",
    "post-rewrite": f"[ -e evil ] || {{ {COMMITS}; }}",
}


def worked(place: Place, name: str = "work", text: str = "done\n") -> Path:
    path = Path(do(place.repository().worktrees.open(TASK)).path)
    place.commit(name, text, at=path)
    return path


def files_of(place: Place, commit: str) -> list[str]:
    return place.git("ls-tree", "--name-only", "-r", commit).split()


def loose(place: Place, name: str) -> Path:
    sha = place.git("rev-parse", name)
    found = place.root / ".git/objects" / sha[:2] / sha[2:]
    found.chmod(0o644)
    return found


@pytest.mark.parametrize("method", METHODS)
def test_hooks_of_git_have_no_say_in_what_is_merged(alone: Place, method: str) -> None:
    worked(alone)
    alone.elsewhere("other", "x\n")
    head = alone.git("rev-parse", BRANCH)
    for name, script in HOOKS.items():
        alone.hook(name, script)
    repository = alone.repository()
    prepared = do(repository.merges.prepare(head, "main", "Merge", method))  # type: ignore[arg-type]
    assert isinstance(prepared, Prepared)
    assert files_of(alone, prepared.sha) == ["other", "readme", "work"]
    told = "Merge" if method != "rebase" else "work is done"
    assert alone.git("show", "-s", "--format=%s", prepared.sha) == told

    async def tested() -> list[str]:
        async with repository.scratch(prepared.sha, prepared.base_head) as path:
            return sorted(each.name for each in Path(path).iterdir())

    assert do(tested()) == [".git", "other", "readme", "work"]


def test_hooks_of_git_have_no_say_in_a_rebase_of_ours(alone: Place) -> None:
    path = worked(alone)
    alone.elsewhere("other", "x\n")
    start = alone.git("rev-parse", BRANCH)
    for name, script in HOOKS.items():
        alone.hook(name, script)
    rebased = do(alone.repository().changes.rebase(str(path), "main"))
    assert isinstance(rebased, Rebased)
    assert (rebased.start, rebased.same) == (start, True)
    assert files_of(alone, rebased.head) == ["other", "readme", "work"]
    assert alone.status(path) == []


def test_a_rebase_that_gives_other_files_than_a_merge_is_told(alone: Place) -> None:
    """As when somebody adds to it while git works; here the base has taken back what it had."""
    path = worked(alone)
    alone.commit("more", "more\n", at=path)
    alone.elsewhere("other", "x\n")
    alone.git("cherry-pick", f"{BRANCH}~1")
    alone.git("revert", "--no-edit", "HEAD")
    rebased = do(alone.repository().changes.rebase(str(path), "main"))
    assert isinstance(rebased, Rebased)
    assert not rebased.same


def test_a_merge_strategy_that_drops_the_work_is_not_used(alone: Place) -> None:
    worked(alone)
    alone.elsewhere("other", "x\n")
    alone.git("config", "pull.twohead", "ours")
    alone.git("config", "branch.main.mergeOptions", "--strategy=ours")
    assert isinstance(do(alone.repository().merges.merge(BRANCH, "main", "Merge")), Merged)
    assert alone.on_main("work") == "done"


@pytest.mark.parametrize("name", ["work", "readme"])
def test_a_replaced_object_is_found_before_the_result_is_tested(alone: Place, name: str) -> None:
    """Also one that the work does not change: it would be tested in the place of the real one."""
    path = worked(alone)
    file, content = loose(alone, f"{BRANCH}:{name}"), b"blob 5\0EVIL\n"
    kept = file.read_bytes()
    file.write_bytes(zlib.compress(content))
    repository, before = alone.repository(), alone.main()
    if name == "work":
        with pytest.raises(RepositoryError, match=r"damaged or were replaced.*hash mismatch"):
            do(repository.findings.committed(str(path), "main", 0))
    with pytest.raises(RepositoryError, match=r"damaged or were replaced.*hash mismatch"):
        do(repository.merges.prepare(BRANCH, "main", "Merge"))
    assert alone.main() == before
    file.write_bytes(kept)
    assert do(repository.findings.committed(str(path), "main", 1 << 20)) == ()
    assert isinstance(do(repository.merges.merge(BRANCH, "main", "Merge")), Merged)


def test_an_object_that_is_replaced_after_the_tests_is_not_landed(alone: Place) -> None:
    worked(alone)
    repository, before = alone.repository(), alone.main()
    prepared = do(repository.merges.prepare(BRANCH, "main", "Merge"))
    assert isinstance(prepared, Prepared)
    loose(alone, f"{BRANCH}:work").write_bytes(zlib.compress(b"blob 5\0EVIL\n"))
    with pytest.raises(RepositoryError, match="damaged or were replaced"):
        do(repository.merges.land(prepared))
    assert alone.main() == before
    assert not (alone.root / "work").exists()


def test_a_forged_commit_graph_is_not_believed(alone: Place) -> None:
    """It says of a commit that it holds other files than it does."""
    path = worked(alone, "evil", "EVIL\n")
    file = loose(alone, BRANCH)
    kept, good = file.read_bytes(), alone.git("rev-parse", "main^{tree}")
    forged = re.sub(rb"tree \w{40}", b"tree " + good.encode(), zlib.decompress(kept))
    file.write_bytes(zlib.compress(forged))
    alone.git("config", "core.commitGraph", "true")
    alone.git("commit-graph", "write", "--reachable")
    file.write_bytes(kept)
    assert alone.git("diff", "--name-only", "main", BRANCH) == ""
    assert do(alone.repository().history.changed_files(str(path), "main")) == ["evil"]
