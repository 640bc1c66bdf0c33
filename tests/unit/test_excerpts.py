"""Excerpts of long outputs show their end."""

from __future__ import annotations

from pathlib import Path

import pytest
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


# What programs really print. Go's is written by its documentation.
@pytest.mark.parametrize(
    ("runner", "name", "wrong"),
    [
        ("node-tap", "not ok 19 - case 7", "8 !== 7"),
        ("node-spec", "✖ case 7", "8 !== 7"),
        ("vitest", "FAIL  vt/sum.test.js > case 7", "AssertionError: expected 8 to be 7"),
        ("jest", "● case 7", "Expected: 7\n    Received: 8"),
        ("cargo", "test tests::case_7 ... FAILED", "left: 8\n right: 7"),
        ("cargo-build", "error: could not compile", "error[E0308]: mismatched types"),
        ("go", "--- FAIL: TestTotal", "cart_test.go:14: total(nil) = 1, want 0"),
        ("pytest", "FAILED py/test_sum.py::test_case_7", "E   assert 8 == 7"),
        (
            "unittest",
            "FAIL: test_other (__main__.T.test_other)",
            "AssertionError: {'a':[93 chars]5",
        ),
    ],
)
def test_what_failed_and_what_was_wrong_is_kept(runner: str, name: str, wrong: str) -> None:
    folder = Path(__file__).parent / "failing_output"
    text = (folder / f"{runner}.txt").read_text("utf-8")
    found = excerpt(text)
    assert name in found
    assert wrong in found
    assert found.splitlines()[-1] == text.rstrip().splitlines()[-1]


def test_many_failures_leave_room_for_the_end() -> None:
    lines = [f"FAILED test_{number}: {'x' * 400}" for number in range(500)]
    found = excerpt("\n".join([*lines, "500 failed"]))
    assert found.startswith("…\nFAILED test_0: x")
    assert found.endswith("\n500 failed")
    assert len(found.encode()) <= MAX_BYTES


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
