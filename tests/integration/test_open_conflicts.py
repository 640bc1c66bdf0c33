"""Conflicts that lie open in the files of a worktree: of names, kinds of files and submodules."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookline.domain.work.repository import Merged, OpenConflict, Rebased
from hookline.hooks.builtin.gates.conflict_prompts import resolve_prompt
from tests.integration.repository_rig import Place, do
from tests.prompts.snapshots import check_prompt


def opened(place: Place, path: str) -> OpenConflict:
    found = do(place.repository().conflicts.open(path, "main"))
    assert isinstance(found, OpenConflict)
    # Asked again, as after a crash, it is the same.
    assert do(place.repository().conflicts.open(path, "main")) == found
    return found


def closed(place: Place, path: str) -> str:
    """The conflict is resolved; the commit that stands on the base."""
    repository = place.repository()
    found = do(repository.conflicts.find(path, "main"))
    assert found is not None
    assert found.is_resolved, found
    assert do(repository.conflicts.close(path)) is None
    assert place.git("rev-parse", "HEAD~1", at=path) == place.main()
    assert place.git("status", "--porcelain", at=path) == ""
    assert do(repository.conflicts.find(path, "main")) is None
    return place.git("rev-parse", "HEAD", at=path)


def test_a_file_and_a_folder_of_one_name(place: Place) -> None:
    place.commit("thing", "one\n")
    if place.remote.exists():
        place.git("push", "--quiet")
    made = do(place.repository().worktrees.open("T-1"))
    place.write("thing", "mine\n", at=made.path)
    do(place.repository().changes.commit_all(made.path, "mine"))
    (place.root / "thing").unlink()
    place.write("thing/inside", "theirs\n")
    place.git("add", "--all")
    place.git("commit", "--quiet", "--message", "a folder")
    if place.remote.exists():
        place.git("push", "--quiet")
    found = opened(place, made.path)
    assert [(file.path, file.kind) for file in found.files] == [("thing~HEAD", "deleted-by-base")]
    (Path(made.path) / "thing~HEAD").rename(Path(made.path) / "thing" / "mine")
    closed(place, made.path)
    listed = place.git("ls-tree", "-r", "--name-only", "HEAD", "thing", at=made.path)
    assert listed.split() == ["thing/inside", "thing/mine"]


def test_a_file_that_became_a_link(place: Place) -> None:
    made = do(place.repository().worktrees.open("T-1"))
    (Path(made.path) / "thing").symlink_to("readme")
    do(place.repository().changes.commit_all(made.path, "a link"))
    place.elsewhere("thing", "theirs\n")
    found = opened(place, made.path)
    kinds = {file.path.partition("~")[0]: file.kind for file in found.files}
    assert set(kinds) == {"thing"}
    check_prompt("part-conflict-names", resolve_prompt("main", found))
    for file in found.files:
        (Path(made.path) / file.path).unlink()
    place.write("thing", "both\n", at=made.path)
    closed(place, made.path)
    assert place.git("show", "HEAD:thing", at=made.path) == "both"


def test_commits_of_a_submodule_that_went_apart(tmp_path: Path) -> None:
    """The base's commit is taken, and is what lies in the folder."""
    library = Place(tmp_path, "library")
    library.begin()
    place = Place(tmp_path)
    place.begin()
    place.git("submodule", "--quiet", "add", str(library.root), "lib")
    place.git("commit", "--quiet", "--message", "with a library")
    made = do(place.repository().worktrees.open("T-1"))
    tips = {}
    for side in ("mine", "theirs"):
        library.git("switch", "--quiet", "--create", side, "main")
        tips[side] = library.commit(side, f"{side}\n")
        at = Path(made.path if side == "mine" else place.root)
        library.git("fetch", "--quiet", str(library.root), side, at=at / "lib")
        library.git("checkout", "--quiet", tips[side], at=at / "lib")
        place.git("commit", "--quiet", "--all", "--message", f"{side} of the library", at=at)
    found = opened(place, made.path)
    (file,) = found.files
    assert (file.path, file.kind) == ("lib", "submodule")
    assert (file.ours, file.theirs) == (tips["mine"], tips["theirs"])
    undecided = do(place.repository().conflicts.find(made.path, "main", answered=False))
    assert undecided is not None
    assert undecided.undecided
    check_prompt("part-conflict-submodule", resolve_prompt("main", found))
    assert (Path(made.path) / "lib" / "theirs").exists()
    place.write("made-to-fit", "x\n", at=made.path)
    head = closed(place, made.path)
    assert place.git("rev-parse", f"{head}:lib", at=made.path) == tips["theirs"]


def test_work_that_only_its_commits_keep_from_the_base_needs_nobody(place: Place) -> None:
    """Where a later commit takes back what conflicts, both sides fit together as a whole."""
    place.elsewhere("list", "one\n")
    made = do(place.repository().worktrees.open("T-1"))
    for text in ("mine\n", "one\n"):
        place.write("list", text, at=made.path)
        place.write(f"new-{text.strip()}", text, at=made.path)
        do(place.repository().changes.commit_all(made.path, text.strip()))
    newest = place.elsewhere("list", "theirs\n")
    moved = do(place.repository().conflicts.open(made.path, "main"))
    assert isinstance(moved, Rebased)
    assert place.git("rev-parse", "HEAD", "HEAD~1", at=made.path) == f"{moved.head}\n{newest}"
    assert place.git("show", "HEAD:list", at=made.path) == "theirs"
    assert place.git("log", "-1", "--format=%B", at=made.path) == "mine\n\none"


@pytest.mark.examples(1)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_lines_that_look_like_markers_count_only_beyond_those_of_the_sides(
    place: Place, ends: str
) -> None:
    own = ["Usage", "=======", "<<<<<<< HEAD", "=======", ">>>>>>> topic", ""]
    text = ends.join(own)
    place.git("config", "core.autocrlf", "false")
    place.elsewhere("guide", f"{text}end{ends}")
    made = do(place.repository().worktrees.open("T-1"))
    title = ends.join(["Changes", "=======", ""])
    place.write("guide", f"{text}{title}mine{ends}", at=made.path)
    do(place.repository().changes.commit_all(made.path, "mine"))
    place.elsewhere("guide", f"{text}{title}theirs{ends}")
    opened(place, made.path)
    repository = place.repository()
    written = (Path(made.path) / "guide").read_bytes().decode()
    found = do(repository.conflicts.find(made.path, "main"))
    assert found is not None
    (left,) = found.markers
    lines = written.split(ends)
    assert {lines[number - 1][:7] for number in left.lines} >= {">>>>>>>", "<<<<<<<"}
    both = f"{text}{title}mine{ends}{title}theirs{ends}"
    (Path(made.path) / "guide").write_bytes(both.replace(title, title, 1).encode())
    closed(place, made.path)


def test_a_conflict_that_nobody_goes_on_with_is_undone_when_work_begins_again(place: Place) -> None:
    made = do(place.repository().worktrees.open("T-1"))
    place.write("list", "mine\n", at=made.path)
    head = do(place.repository().changes.commit_all(made.path, "mine"))
    place.elsewhere("list", "theirs\n")
    opened(place, made.path)
    place.write("list", "half\n", at=made.path)
    assert do(place.repository().worktrees.open("T-1")).head == head
    assert place.git("status", "--porcelain", at=made.path) == ""
    rescued = place.git("for-each-ref", "--format=%(refname)", "refs/hookline/rescued")
    assert place.git("show", f"{rescued}:list") == "half"
    assert do(place.repository().conflicts.find(made.path, "main")) is None


def test_work_with_a_merge_of_the_agent_s_own_is_merged_by_a_rebase(place: Place) -> None:
    """A rebase drops merges, and with them what was resolved there."""
    made = do(place.repository().worktrees.open("T-1"))
    place.write("list", "mine\n", at=made.path)
    do(place.repository().changes.commit_all(made.path, "mine"))
    newest = place.elsewhere("list", "theirs\n")
    place.git("fetch", "--quiet", "--all", at=made.path)
    with pytest.raises(AssertionError, match="CONFLICT"):
        place.git("merge", newest, at=made.path)
    place.write("list", "both\n", at=made.path)
    place.git("commit", "--quiet", "--all", "--no-edit", at=made.path)
    merged = do(place.repository().merges.merge("refs/heads/hookline/T-1", "main", "M", "rebase"))
    assert isinstance(merged, Merged)
    assert place.git("log", "-1", "--format=%P %s", merged.sha) == f"{newest} mine"
    assert place.on_main("list") == "both"
