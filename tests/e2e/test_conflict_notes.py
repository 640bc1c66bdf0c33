"""A conflict is checked whatever an agent removes or writes in the git folder of its worktree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.conflict_rig import BOTH, MINE, TEXT, THEIRS, WANTED, Sides

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

OTHER = "echo 'security fix' > other\n"
GONE = 'rm -f "$(git rev-parse --git-dir)/hookline-conflict"\n'
# Another task's conflict, and text that no note of ours is.
FOREIGN = "sed -i 's/T-1/T-9/' \"$(git rev-parse --git-dir)/hookline-conflict\"\n"
# What the base brings is undone, and the merge committed.
COMMITTED = "git checkout -q HEAD -- other; git add -A; git commit -qm merged\n"


@pytest.fixture
def sides(cli: Cli) -> Sides:
    made = Sides(cli)
    made.start(f"{TEXT}echo hole > other\n", judge=WANTED)
    return made


@pytest.mark.examples(1)
@pytest.mark.parametrize("hides", [GONE, FOREIGN])
def test_what_the_base_brings_stays_though_the_note_is_gone(sides: Sides, hides: str) -> None:
    task = sides.part(MINE, theirs=THEIRS + OTHER)
    sides.turn(f"if [ $n = 1 ]; then\n{BOTH}{COMMITTED}{hides}fi\n")
    sides.submit(task)
    assert sides.merges() == [task]
    assert sides.git("show", "main:other", at=sides.main) == "security fix"


def test_markers_are_found_though_the_note_is_gone(sides: Sides) -> None:
    """In a file that neither the gates nor the merged result's test look at."""
    mine, theirs = (f"echo {word} > other\n" for word in ("mine", "theirs"))
    sides.cli.put("wanted.sh", "true\n")
    sides.commit("want less")
    task = sides.part(mine, theirs=theirs)
    sides.turn("git add -A; git commit -qm merged\n" + GONE)
    sides.submit(task, 3)
    assert "markers are left in other" in sides.cli.task(task)["blockReason"]
    assert sides.merges() == []


def test_what_lies_in_place_of_the_note_opens_no_gate(sides: Sides) -> None:
    task = sides.part(MINE, theirs=THEIRS + OTHER)
    place = '"$(git rev-parse --git-dir)/hookline-conflict"'
    sides.turn(f"{BOTH}{COMMITTED}rm -f {place}; mkdir -p {place}/x\n")
    sides.submit(task, 3)
    assert "the note of a conflict cannot be written" in sides.cli.task(task)["blockReason"]
    assert sides.merges() == []
