"""Promises in random text: none comes out of code, none is lost among harmless words."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from hookline.domain.sessions.promises import PROMISES, find_promises
from hookline.domain.text.markdown import CUT, own_words

promises = st.sampled_from(PROMISES).map("<promise>{}</promise>".format)
# Words that cannot begin or end anything in Markdown.
words = st.text(st.sampled_from("abc .,é\n"), max_size=30)
marks = st.text(st.sampled_from("`~<>!-*#\\ \t\nab12.)|"), max_size=60)


@given(words, promises, words)
def test_among_plain_words_a_promise_is_found(before: str, promise: str, after: str) -> None:
    indented = before.rsplit("\n", 1)[-1].startswith("    ")
    text = f"{before}{promise}{after}"
    if not indented:
        assert [found.content for found in find_promises(text)] == [promise]


@given(words, promises, st.integers(1, 40), words)
def test_no_promise_comes_out_of_a_code_span(
    before: str, promise: str, ticks: int, after: str
) -> None:
    mark = "`" * ticks
    text = f"x {before.strip()} {mark} {promise} {mark} {after}"
    assert find_promises(text) == []


@given(marks, promises, st.sampled_from("`~"), st.integers(3, 40), words)
def test_no_promise_comes_out_of_a_fence(
    inside: str, promise: str, mark: str, length: int, after: str
) -> None:
    content = inside.replace(mark, "x")
    fence = mark * length
    assert find_promises(f"{fence}\n{content}\n{promise}\n{content}\n{fence}\n{after}") == []
    assert find_promises(f"{fence}\n{content}\n{promise}\n{after}") == []


@given(promises, marks)
def test_no_promise_comes_out_of_a_quotation(promise: str, marked: str) -> None:
    line = marked.replace("\n", " ")
    assert find_promises(f"> {promise} {line}") == []


@given(st.lists(st.one_of(marks, words, promises), max_size=12).map("".join))
def test_own_words_are_a_part_of_the_text(text: str) -> None:
    rest = text.replace("\r", "\n")
    for part in own_words(text).replace(CUT, "\n").split("\n"):
        assert part.strip() in rest


@settings(max_examples=20)
@given(st.text(st.sampled_from("`~<!->-*\\ \t\n1."), min_size=1, max_size=6))
def test_endless_marks_are_read_to_their_end(unit: str) -> None:
    """Anything but linear time would outlast the test's own time limit."""
    text = f"{unit * (200_000 // len(unit))}\n<promise>"
    assert find_promises(text) == []
