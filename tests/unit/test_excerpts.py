"""Excerpts of long outputs show their end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hookline.domain.text.excerpts import MAX_BYTES, MAX_LINES, both_ends, excerpt


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


def test_a_line_has_no_rulers_and_no_parts_of_words() -> None:
    said = f"{'=' * 70}\nFAIL: test_total\n{'-' * 70}\nAssertionError: 1 != 12\n----\nFAILED"
    assert both_ends(said, 100) == "FAIL: test_total AssertionError: 1 != 12 FAILED"
    assert both_ends(said, 30) == "FAIL: … 1 != 12 FAILED"
    assert both_ends("a --option=1 -- b", 100) == "a --option=1 -- b"
    assert both_ends("x" * 50, 10) == "xxx … xxxx"
