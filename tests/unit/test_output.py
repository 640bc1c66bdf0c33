"""Lines of lists on a narrow terminal."""

from __future__ import annotations

import pytest

from hookline.surfaces.cli.output import wrapped


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("short", ["short"]),
        ("T-1  one two three four five", ["T-1  one two three", "     four five"]),
        ("T-1  one two  three four", ["T-1  one two  three", "     four"]),
        ("  key   value and more of it", ["  key   value and", "     more of it"]),
        ("a /a/word/longer/than/the/width b", ["a /a/word/longer/than/the/width", "     b"]),
        ("", [""]),
    ],
)
def test_a_line_breaks_at_words_and_goes_on_below(text: str, lines: list[str]) -> None:
    assert wrapped(text, 20, 5).split("\n") == lines
