"""States whose names are not plain have the same words on every surface."""

from __future__ import annotations

import re
from pathlib import Path

from hookline.domain.tasks import STATES, WORDS, shown_state

PAGE = Path(__file__).parents[2] / "web" / "src" / "ui" / "status.tsx"


def test_no_state_is_shown_as_programs_know_it() -> None:
    shown = [shown_state(state) for state in STATES]
    assert len(set(shown)) == len(shown)
    assert not any("_" in words for words in shown)
    assert WORDS.keys() <= set(STATES)


def test_the_page_has_the_same_words() -> None:
    (listed,) = re.findall(r"WORDS: Record<string, string> = \{(.*)\}", PAGE.read_text())
    there = dict(re.findall(r'(\w+): "([^"]*)"', listed))
    assert {state: there[state] for state in WORDS} == WORDS
