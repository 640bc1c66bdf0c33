"""What an agent reads about a conflict: asked, asked again, and without lines to mark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.conflict_rig import (
    BOTH,
    DECIDED,
    KINDS,
    MINE,
    MY_KINDS,
    TEXT,
    THEIR_KINDS,
    THEIRS,
    Sides,
)
from tests.e2e.conftest import Cli
from tests.prompts.snapshots import check_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


FILES = ("gone-here", "gone-there", "link", "old-name", "my-name", "their-name", "picture", "tool")
THEIR_WORDS = (
    "bring both sides together",
    "sh ./judge.sh",
    *(f"`{name}`" for name in (*FILES, "picture~theirs")),
)


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[Sides]:
    made = Sides(Cli(tmp_path))
    yield made
    made.cli.close()


@pytest.mark.torture
def test_what_is_asked_and_asked_again(sides: Sides, tmp_path: Path) -> None:
    sides.start(TEXT)
    task = sides.part(MINE, theirs=f"{THEIRS}echo new > added")
    first = "sed -i '/^>>>>>>> /d' text"
    second = f"git restore --source=HEAD --staged --worktree added\n{BOTH}"
    sides.turn(f"if [ $n = 1 ]; then {first}\nelif [ $n = 2 ]; then {second}fi\n")
    sides.submit(task)
    asked, again, undone = sides.prompts(task)
    check_prompt("conflict-asked", asked, {str(tmp_path): ""})
    check_prompt("conflict-markers-left", again, {str(tmp_path): ""})
    check_prompt("conflict-undone", undone, {str(tmp_path): ""})


def test_a_turn_that_broke_off_once_no_marker_was_left(sides: Sides, tmp_path: Path) -> None:
    sides.start(TEXT)
    task = sides.part(MINE, theirs=THEIRS)
    sides.turn(f"{BOTH}[ $n != 1 ] || exit 3\n")
    sides.submit(task)
    _, again = sides.prompts(task)
    assert "no marker is left." in again
    check_prompt("conflict-no-markers", again, {str(tmp_path): ""})


def test_what_has_no_lines(sides: Sides, tmp_path: Path) -> None:
    sides.start(KINDS)
    task = sides.part(MY_KINDS, theirs=THEIR_KINDS)
    sides.turn(DECIDED)
    sides.submit(task)
    (prompt,) = sides.prompts(task)
    check_prompt("conflict-kinds", prompt, {str(tmp_path): ""}, THEIR_WORDS)


def test_what_the_next_session_is_told(sides: Sides, tmp_path: Path) -> None:
    sides.start(TEXT)
    task = sides.part(MINE, theirs=THEIRS)
    said = sides.cli("submit", task, "--json")
    assert said.code == 3
    sides.turn("exit 3\n")
    sides.cli("run", "--task", task, "--agent", "bot", "--iterations", "1", "--name", "next")
    told = sides.prompts(task)[-1]
    assert said.json["remediationPrompt"].partition("\n\n")[0] in told
    check_prompt("conflict-found", told, {str(tmp_path): ""}, THEIR_WORDS[:2])
