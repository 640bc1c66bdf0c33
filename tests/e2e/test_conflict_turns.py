"""What counts as the answer to a conflict: a turn that ended well, and only that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.conflict_rig import BOTH, MINE, TEXT, THEIRS, WANTED, Sides

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


@pytest.fixture
def sides(cli: Cli) -> Sides:
    return Sides(cli)


@pytest.mark.torture
def test_a_turn_that_was_cut_short_answers_nothing(sides: Sides) -> None:
    """Files without markers look the same before and after somebody has decided about them."""
    sides.start("printf 'a\\0b' > picture; echo 1 > gone-there")
    mine = "printf 'a\\0mine' > picture; echo mine > gone-there"
    task = sides.part(mine, theirs="printf 'a\\0theirs' > picture; rm gone-there")
    kill = f'kill -9 "$(cat {sides.box}/victim)"; sleep 5; exit'
    decide = "cat picture~theirs >> picture; rm gone-there"
    sides.turn(f"[ $n = 1 ] && {{ {kill}; }}\n{decide}\n")
    sides.killed_at(task)
    sides.submit(task)
    _, again = sides.prompts(task)
    assert "Look at this:\n\n- `gone-there`: main deleted or renamed it" in again
    assert sides.shown("picture") == "a\0minea\0theirs"
    assert "gone-there" not in sides.git("ls-tree", "--name-only", "main")
    sides.check(task)


def test_an_agent_that_commits_the_merge_cannot_undo_the_base(sides: Sides) -> None:
    """What was undone is put back, and told."""
    sides.start(f"{TEXT}echo hole > other", judge=WANTED)
    task = sides.part(MINE, theirs=f"{THEIRS}echo fixed > other; echo new > added")
    undo = "git checkout -q HEAD -- other; git rm -qf added; git add -A; git commit -qm merged"
    sides.turn(f"[ $n = 1 ] && {{ {BOTH}{undo}; }}\n")
    sides.submit(task)
    _, again = sides.prompts(task)
    assert "- `other`: you undid or changed what came from main. Hookline has restored it" in again
    assert [sides.shown(name) for name in ("other", "added")] == ["fixed", "new"]
    sides.check(task)
