"""Merging into a base that others move too: it never breaks, and nothing of anybody's is lost."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hookline.domain.work.repository import (
    BaseMoved,
    MergeConflict,
    Merged,
    Prepared,
    Rebased,
    Refused,
    RepositoryError,
)
from tests.integration.repository_rig import Place, do

HEAD = "refs/heads/hookline/T-1"


def worked(place: Place, name: str = "work", text: str = "done\n", task: str = "T-1") -> str:
    made = do(place.repository().worktrees.open(task))
    place.write(name, text, at=made.path)
    do(place.repository().changes.commit_all(made.path, f"{name} of {task}"))
    return made.path


def merge(place: Place, method: Any = "merge", head: str = HEAD) -> Any:
    return do(place.repository().merges.merge(head, "main", "Merge T-1", method))


@pytest.mark.examples(2)
@pytest.mark.parametrize(("method", "parents"), [("merge", 2), ("squash", 1), ("rebase", 1)])
def test_work_is_merged_once_however_often_it_is_asked_for(
    place: Place, method: Any, parents: int
) -> None:
    worked(place)
    theirs = place.elsewhere("other", "theirs\n")
    merged = merge(place, method)
    assert isinstance(merged, Merged)
    assert merged.sha == place.main()
    assert place.git("rev-parse", f"{merged.sha}^@").split()[0] == theirs
    assert len(place.git("rev-parse", f"{merged.sha}^@").split()) == parents
    assert (place.on_main("work"), place.on_main("other")) == ("done", "theirs")
    place.elsewhere("later", "x\n")
    assert merge(place, method).sha == merged.sha
    assert place.on_main("later") == "x"


@pytest.mark.examples(2)
@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_the_whole_way_again_after_a_crash_finds_the_same_merge(place: Place, method: Any) -> None:
    path = worked(place)
    place.elsewhere("other", "theirs\n")
    repository = place.repository()
    rebased = do(repository.changes.rebase(path, "main"))
    assert isinstance(rebased, Rebased)
    merged = merge(place, method)
    place.elsewhere("later", "x\n")
    again = do(repository.changes.rebase(path, "main"))
    assert again == Rebased(False, rebased.head, place.main(), rebased.head)
    assert merge(place, method).sha == merged.sha


def test_the_message_of_a_merge_is_the_one_given(place: Place) -> None:
    worked(place)
    message = "Merge T-1: ünï\n\n# not a comment\n" + "long " * 60_000
    do(place.repository().merges.merge(HEAD, "main", message))
    assert place.git("log", "-1", "--format=%B", place.main()) == message.strip()


def test_a_merge_leaves_no_trace_but_the_merge(place: Place) -> None:
    path = worked(place)
    merge(place)
    assert place.status() == []
    assert Path(place.root, "work").read_text() == "done\n"
    assert sorted(each.name for each in Path(path).parent.iterdir()) == [".gitignore", "T-1"]
    assert len(place.git("worktree", "list", "--porcelain").split("\n\n")) == 2


def test_work_that_others_merged_by_hand_is_found(place: Place) -> None:
    worked(place)
    if place.remote.exists():
        place.git("push", "--quiet", "origin", HEAD)
        clone = place.colleague()
        place.git("merge", "--quiet", "--no-ff", "-m", "by hand", "origin/hookline/T-1", at=clone)
        place.git("push", "--quiet", at=clone)
    else:
        place.git("merge", "--quiet", "--no-ff", "-m", "by hand", HEAD)
    by_hand = place.main()
    place.elsewhere("later", "x\n")
    assert merge(place) == Merged(by_hand, "main")


def test_work_that_was_fast_forwarded_is_found(place: Place) -> None:
    worked(place)
    tip = place.git("rev-parse", HEAD)
    if place.remote.exists():
        place.git("push", "--quiet", "origin", f"{HEAD}:refs/heads/main")
    else:
        place.git("merge", "--quiet", "--ff-only", HEAD)
    assert merge(place) == Merged(tip, "main")
    place.elsewhere("later", "x\n")
    assert merge(place) == Merged(tip, "main")


def test_work_whose_content_the_base_has_is_squashed_to_nothing(place: Place) -> None:
    worked(place)
    same = place.elsewhere("work", "done\n")
    assert merge(place, "squash").sha == same
    assert place.main() == same


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_a_conflict_moves_nothing_and_tells_both_sides(place: Place, method: Any) -> None:
    worked(place, "readme", "ours\n")
    theirs = place.elsewhere("readme", "theirs\n")
    conflict = merge(place, method)
    assert isinstance(conflict, MergeConflict)
    assert [(f.path, f.ours, f.theirs) for f in conflict.files] == [("readme", "ours", "theirs")]
    assert place.main() == theirs
    assert place.status() == []


def test_the_result_is_tested_before_it_lands(place: Place) -> None:
    worked(place)
    place.elsewhere("other", "theirs\n")
    before = place.main()
    repository = place.repository()
    prepared = do(repository.merges.prepare(HEAD, "main", "Merge T-1"))
    assert isinstance(prepared, Prepared)
    assert place.main() == before

    async def look() -> tuple[str, list[str]]:
        async with repository.scratch(prepared.sha, prepared.base_head) as path:
            return path, sorted(each.name for each in Path(path).iterdir())

    path, names = do(look())
    assert names == [".git", "other", "readme", "work"]
    assert not Path(path).exists()
    assert do(repository.merges.land(prepared)) == Merged(prepared.sha, "main")
    assert place.main() == prepared.sha
    assert do(repository.merges.land(prepared)) == Merged(prepared.sha, "main")


def test_a_result_that_a_crash_left_is_built_again_the_same(place: Place) -> None:
    worked(place)
    first, second = (
        do(place.repository().merges.prepare(HEAD, "main", "Merge T-1")) for _ in range(2)
    )
    assert isinstance(first, Prepared)
    assert isinstance(second, Prepared)
    shown = [place.git("show", "-s", "--format=%T %P %B", each.sha) for each in (first, second)]
    assert shown[0] == shown[1]


def test_a_base_that_moved_since_is_not_overwritten(place: Place) -> None:
    worked(place)
    repository = place.repository()
    prepared = do(repository.merges.prepare(HEAD, "main", "Merge T-1"))
    assert isinstance(prepared, Prepared)
    theirs = place.elsewhere("other", "theirs\n")
    assert do(repository.merges.land(prepared)) == BaseMoved("main", prepared.base_head, theirs)
    assert place.main() == theirs
    assert isinstance(merge(place), Merged)
    assert (place.on_main("work"), place.on_main("other")) == ("done", "theirs")


# The main checkout


def test_edits_of_other_files_survive_a_merge(place: Place) -> None:
    worked(place)
    place.write("readme", "edited\n")
    place.write("notes", "mine\n")
    assert merge(place) == Merged(place.main(), "main")
    assert place.status() == ["M readme", "?? notes"]
    assert Path(place.root, "work").read_text() == "done\n"


@pytest.mark.parametrize("name", ["readme", "fresh"])
def test_conflicting_edits_refuse_a_merge_here_before_anything_moved(
    alone: Place, name: str
) -> None:
    worked(alone, name, "task's\n")
    before = alone.main()
    alone.write(name, "mine\n")
    refused = merge(alone)
    assert isinstance(refused, Refused)
    assert refused.kind == "local-edits"
    assert name in refused.reason
    assert alone.main() == before
    assert Path(alone.root, name).read_text() == "mine\n"
    Path(alone.root, name).unlink()
    alone.git("checkout", "--quiet", ".")
    assert isinstance(merge(alone), Merged)


def test_conflicting_edits_do_not_hold_up_the_remote(shared: Place) -> None:
    worked(shared, "readme", "task's\n")
    shared.write("readme", "mine\n")
    merged = merge(shared)
    assert isinstance(merged, Merged)
    assert "was not updated" in merged.notices[0]
    assert shared.on_main("readme") == "task's"
    assert Path(shared.root, "readme").read_text() == "mine\n"


def test_our_own_base_catches_up_with_a_push_after_which_we_died(shared: Place) -> None:
    worked(shared)
    repository = shared.repository()
    prepared = do(repository.merges.prepare(HEAD, "main", "Merge T-1"))
    assert isinstance(prepared, Prepared)
    shared.git("push", "--quiet", "origin", f"{prepared.sha}:refs/heads/main")
    assert do(repository.merges.land(prepared)) == Merged(prepared.sha, "main")
    assert shared.git("rev-parse", "main") == prepared.sha
    assert Path(shared.root, "work").read_text() == "done\n"
    assert shared.status() == []


def test_the_whole_way_again_brings_our_own_base_along(shared: Place) -> None:
    worked(shared)
    old = shared.git("rev-parse", "main")
    merged = merge(shared)
    shared.git("reset", "--quiet", "--hard", old)
    assert merge(shared).sha == merged.sha == shared.git("rev-parse", "main")


def test_commits_of_ours_that_nobody_has_stay_out_of_the_merge(shared: Place) -> None:
    private = shared.commit("private", "x\n")
    worked(shared)
    assert isinstance(merge(shared), Merged)
    assert shared.git("rev-parse", "main") == private
    assert "private" not in shared.git("ls-tree", "--name-only", "main", at=shared.remote)


def test_a_base_that_is_checked_out_nowhere_moves_alone(place: Place) -> None:
    worked(place)
    place.git("switch", "--quiet", "--create", "mine")
    merged = merge(place)
    assert place.git("rev-parse", "main") == merged.sha == place.main()
    assert not Path(place.root, "work").exists()
    assert place.status() == []


def test_a_step_that_a_crash_cut_short_is_finished(alone: Place) -> None:
    worked(alone, "one", "1\n")
    path = worked(alone, "two", "2\n")
    alone.write("readme", "changed\n", at=path)
    do(alone.repository().changes.commit_all(path, "Change"))
    # Git had written some of the files when it was killed, and neither its index nor the branch.
    alone.write("one", "1\n")
    alone.write("readme", "changed\n")
    assert isinstance(merge(alone), Merged)
    assert alone.status() == []
    assert (alone.on_main("two"), alone.on_main("readme")) == ("2", "changed")


def test_a_step_in_which_git_itself_was_killed_is_finished(alone: Place) -> None:
    """A filter kills git when it writes the second file; the first is then cut in half."""
    alone.git("config", "filter.deadly.smudge", 'if [ -e .deadly ]; then kill -9 "$PPID"; fi; cat')
    alone.write(".git/info/exclude", ".deadly\n")
    path = worked(alone, ".gitattributes", "b* filter=deadly\n")
    for name in ("a", "b", "c"):
        alone.write(name, f"{name}\n" * 1000, at=path)
    do(alone.repository().changes.commit_all(path, "Three"))
    before = alone.main()
    alone.write(".deadly", "")
    with pytest.raises(RepositoryError, match="was killed"):
        merge(alone)
    assert alone.main() == before
    assert Path(alone.root, "a").read_text() == "a\n" * 1000
    alone.write("a", "a\n" * 500)
    Path(alone.root, ".deadly").unlink()
    alone.write("notes", "mine\n")
    assert isinstance(merge(alone), Merged)
    assert alone.status() == ["?? notes"]
    assert [alone.on_main(name) for name in "abc"] == [
        (f"{name}\n" * 1000).strip() for name in "abc"
    ]


def test_a_base_in_the_middle_of_a_rebase_is_left_alone(alone: Place) -> None:
    worked(alone)
    alone.git("branch", "other")
    alone.commit("readme", "main's\n")
    alone.git("switch", "--quiet", "other")
    alone.commit("readme", "other's\n")
    alone.git("switch", "--quiet", "main")
    subprocess.run(("git", "rebase", "other"), cwd=alone.root, env=alone.env, capture_output=True)
    before = alone.main()
    refused = merge(alone)
    assert isinstance(refused, Refused)
    assert "rebase" in refused.reason
    assert alone.main() == before


# Remotes that say no, and races


def test_a_protected_base_refuses_with_its_own_words(shared: Place) -> None:
    worked(shared)
    before = shared.main()
    shared.hook("pre-receive", "echo 'main is protected' >&2; exit 1", at=shared.remote)
    refused = merge(shared)
    assert isinstance(refused, Refused)
    assert refused.kind == "rejected"
    assert "main is protected" in refused.output
    assert shared.main() == before
    assert shared.git("rev-parse", "main") == before
    (shared.remote / "hooks" / "pre-receive").unlink()
    assert isinstance(merge(shared), Merged)


def test_an_unreachable_remote_moves_nothing(shared: Place) -> None:
    worked(shared)
    before = shared.git("rev-parse", "main")
    shared.remote.rename(shared.folder / "away")
    refused = merge(shared)
    assert isinstance(refused, Refused)
    assert shared.git("rev-parse", "main") == before


@pytest.mark.torture
def test_two_clones_that_race_merge_each_work_once(shared: Place) -> None:
    """Both land what they prepared on the same base; one is told, and goes again."""
    clone = shared.colleague()
    ours, theirs = shared.repository(), shared.repository(clone)

    async def race() -> list[list[Any]]:
        async def one(repository: Any, task: str) -> list[Any]:
            made = await repository.worktrees.open(task)
            shared.write(task, task, at=made.path)
            await repository.changes.commit_all(made.path, task)
            found: list[Any] = []
            while not found or not isinstance(found[-1], Merged):
                assert len(found) < 20
                found.append(
                    await repository.merges.merge(f"refs/heads/hookline/{task}", "main", task)
                )
            return found

        tasks = ("T-1", "T-2", "T-3")
        return await asyncio.gather(
            *(one(ours, task) for task in tasks), *(one(theirs, f"X-{task}") for task in tasks)
        )

    outcomes = do(race())
    assert all(isinstance(each, BaseMoved | Merged) for found in outcomes for each in found)
    for task in ("T-1", "T-2", "T-3", "X-T-1", "X-T-2", "X-T-3"):
        assert shared.on_main(task) == task
    subjects = shared.git("log", "--first-parent", "--format=%s", "main", at=shared.remote)
    assert sorted(subjects.splitlines()[:-1]) == sorted(
        ["T-1", "T-2", "T-3", "X-T-1", "X-T-2", "X-T-3"]
    )


@pytest.mark.parametrize("hostile", ["--exec=touch x", "-f", "no such", "x\ny", ""])
def test_a_hostile_head_is_no_option(shared: Place, hostile: str) -> None:
    with pytest.raises(RepositoryError, match="there is no commit"):
        merge(shared, head=hostile)
