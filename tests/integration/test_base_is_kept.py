"""Conflicts whose resolver changes more than the conflict, or leaves markers in odd forms."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hookline.domain.work.repository import OpenConflict
from tests.integration.repository_rig import Place, do

# The work changed `list` and `shared`, the base all of them, and in conflict is `list` only.
SIDES = """\
seq 9 > shared; echo hole > other; echo old > gone; echo '*.log' > .gitignore; echo 1 > list
git add --all; git commit --quiet --message before
"""
MINE = "echo mine > list; sed -i s/9/nine/ shared; git commit --quiet --all --message mine"
THEIRS = """\
echo theirs > list; sed -i s/1/one/ shared; echo fixed > other; git rm --quiet gone
echo feature > new; echo kept > kept.log; mkdir sub; echo x > sub/x
git add --all --force -- list shared other new kept.log sub
git commit --quiet --message theirs
"""
RESOLVED = "printf 'mine\\ntheirs\\n' > list\n"
UNDO = "git checkout -q HEAD -- other; git rm -q -f --ignore-unmatch new kept.log; echo o > gone\n"
COMMIT = "git add --all; git commit --quiet --message merged\n"
ONTO = "onto=$(git rev-parse MERGE_HEAD)\n"


class Both:
    """A worktree in conflict with its base."""

    def __init__(self, folder: Path) -> None:
        self.place = Place(folder)
        self.place.begin()
        self.run(SIDES, self.place.root)
        self.folder = Path(do(self.place.repository().worktrees.open("T-1")).path)

    def run(self, lines: str, at: Path | None = None) -> None:
        """Run shell lines, which must not fail."""
        done = subprocess.run(
            ("sh", "-ec", lines), cwd=at or self.folder, env=self.place.env, capture_output=True
        )
        assert done.returncode == 0, done.stderr

    def open(self, mine: str = MINE, theirs: str = THEIRS) -> None:
        self.run(mine)
        self.run(theirs, self.place.root)
        do(self.place.repository().conflicts.open(str(self.folder), "main"))

    def close(self) -> dict[str, str]:
        """The files of the commit that the resolved conflict becomes, with what is left."""
        repository = self.place.repository()
        found = do(repository.conflicts.find(str(self.folder), "main"))
        assert found is not None
        assert found.is_resolved, found
        assert do(repository.conflicts.close(str(self.folder))) is None
        do(repository.changes.commit_all(str(self.folder), "what is left"))
        names = self.place.git("ls-files", at=self.folder).splitlines()
        return {name: self.place.git("show", f"HEAD:{name}", at=self.folder) for name in names}


@pytest.fixture
def both(tmp_path: Path) -> Both:
    return Both(tmp_path)


@pytest.mark.examples(2)
@pytest.mark.parametrize(
    ("act", "told"),
    [
        (f"{UNDO}{RESOLVED}", {"gone", "kept.log", "new", "other"}),
        (f"{UNDO}{RESOLVED}{COMMIT}", {"gone", "kept.log", "new", "other"}),
        (
            f"{ONTO}{UNDO}{RESOLVED}git add --all; made=$(git commit-tree $(git write-tree)"
            " -p $onto -m x); git merge --abort || true; git reset -q --hard $made",
            {"gone", "kept.log", "new", "other"},
        ),
        (f"{RESOLVED}git show HEAD:other > other; chmod +x other; : > new", {"new", "other"}),
        (f"{RESOLVED}git show HEAD:shared > shared; rm -r sub; ln -s . sub", {"shared", "sub/x"}),
        (f"{RESOLVED}git reset -q; echo more >> shared", set()),
    ],
    ids=["undoes", "commits", "rebases", "changes", "links", "edits its own"],
)
def test_what_only_the_base_changed_is_as_the_merge_has_it(
    both: Both, act: str, told: set[str]
) -> None:
    both.open()
    both.run(act)
    found = do(both.place.repository().conflicts.find(str(both.folder), "main"))
    assert found is not None
    assert set(found.restored) == told
    files = both.close()
    assert "gone" not in files
    wanted = {"list": "mine\ntheirs", "other": "fixed", "new": "feature", "sub/x": "x"}
    assert {name: files[name] for name in wanted} == wanted
    assert files["kept.log"] == "kept"
    assert files["shared"].splitlines()[0] == "one"
    assert ("more" in files["shared"]) is ("more" in act)
    modes = both.place.git("ls-tree", "HEAD", "other", "sub", at=both.folder)
    assert [line.split()[0] for line in modes.splitlines()] == ["100644", "040000"]


def test_a_newer_base_that_the_agent_took_is_what_counts(both: Both) -> None:
    both.open()
    both.run("echo newer > other; git commit --quiet --all --message newer", both.place.root)
    both.run(f"git merge --abort; git merge --quiet main || true\n{RESOLVED}{COMMIT}")
    assert both.close()["other"] == "newer"


@pytest.mark.examples(1)
@pytest.mark.parametrize("size", [7, 3, 20])
def test_markers_are_found_in_every_form(both: Both, size: int) -> None:
    attribute = f"echo '* conflict-marker-size={size}' > .gitattributes; git add .gitattributes\n"
    both.open(f"{attribute}{MINE}")
    repository, file = both.place.repository(), both.folder / "list"
    written = file.read_bytes()
    lines = written.split(b"\n")
    assert lines[0] == b"<" * size + b" HEAD"
    first = do(repository.conflicts.open(str(both.folder), "main"))
    assert isinstance(first, OpenConflict)
    assert first.files[0].kind == "marked"
    forms = {
        "as it was": written,
        "blanks": b" \n".join(lines),
        "indented": b"\n".join(b"\t" + line for line in lines),
        "utf-16": written.decode().encode("utf-16"),
        "nul": written + b"\0",
        "one line": b"mine\n" + b"=" * size + b"\ntheirs\n",
    }
    for form, content in forms.items():
        file.write_bytes(content)
        found = do(repository.conflicts.find(str(both.folder), "main"))
        assert found is not None
        assert [each.path for each in found.markers] == ["list"], form
    both.run(RESOLVED)
    assert both.close()["list"] == "mine\ntheirs"


def test_a_merge_that_was_committed_unresolved_is_undone_with_the_conflict(both: Both) -> None:
    """Else its markers would be the work of whoever goes on with it."""
    both.open()
    head = both.place.git("rev-parse", "HEAD", at=both.folder)
    both.run(COMMIT)
    tip = both.place.git("rev-parse", "HEAD", at=both.folder)
    repository = both.place.repository()
    found = do(repository.conflicts.find(str(both.folder), "main"))
    assert found is not None
    assert found.markers
    assert do(repository.conflicts.drop(str(both.folder))) == f"refs/hookline/rescued/{tip}"
    assert both.place.git("rev-parse", "HEAD", at=both.folder) == head
    assert both.place.git("status", "--porcelain", at=both.folder) == ""
    assert both.place.git("rev-parse", f"refs/hookline/rescued/{tip}") == tip
