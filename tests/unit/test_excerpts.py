"""Excerpts of long outputs show their end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hookline.domain.text.excerpts import MAX_BYTES, MAX_LINES, excerpt


def test_a_short_text_is_told_whole() -> None:
    assert excerpt("one\ntwo\n") == "one\ntwo"


def test_many_lines_keep_their_end_and_say_that_there_was_more() -> None:
    found = excerpt("\n".join(f"line {number}" for number in range(1, 101)))
    assert found.startswith("…\nline 82\n")
    assert found.endswith("\nline 100")
    assert len(found.splitlines()) == 20


def test_one_long_line_keeps_its_end() -> None:
    found = excerpt("x" * 5000 + " E assert 1 == 2")
    assert found.startswith("…\nx")
    assert found.endswith("x E assert 1 == 2")


@given(st.text(st.characters(codec="utf-8") | st.just("\n"), max_size=6000))
def test_excerpts_are_bounded_and_stable(text: str) -> None:
    found = excerpt(text)
    assert len(found.encode()) <= MAX_BYTES
    assert found.count("\n") < MAX_LINES
    assert excerpt(found) == found
