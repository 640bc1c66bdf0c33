"""Which words of a Markdown text are its author's own, and not code, a quotation or a comment.

Follows CommonMark as far as that decides it. Where a renderer and a reader of the plain text
could differ, the words count as quoted. Takes time in proportion to the text, whatever it is.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# Stands for what is left out, so that the words around it do not become neighbours.
CUT = "\0"

_LINE_END = re.compile(r"\r\n|\n|\r")
_BLANKS = re.compile(r"[ \t]*")
_FENCE = re.compile(r"`{3,}+(?=[^`]*$)|~{3,}+")
_HEADING_OR_RULE = re.compile(
    r"#{1,6}(?:[ \t]|$)|(?:=++|-++)[ \t]*+$|([-*_])(?:[ \t]*+\1){2,}+[ \t]*+$"
)
_LIST_ITEM = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?=[ \t]|$)")
_TICKS = re.compile(r"`++")
_INLINE = re.compile(r"\\[\\`<]|`++|<!--")
_CODE_INDENT = 4
_NESTED_ITEMS = 32


def own_words(text: str) -> str:
    """The text with `CUT` in place of all that its author only quotes."""
    reader = _Reader()
    parts: list[str] = []
    for line in _LINE_END.split(text.replace(CUT, " ")):
        parts += reader.read(line)
    return "\n".join([*parts, *reader.finish()])


class _Fence(NamedTuple):
    """A fenced block that is open: its mark, and how far its container is indented."""

    mark: str
    indent: int

    def is_closed_by(self, line: str, start: int, indent: int) -> bool:
        marks = line[start:].rstrip(" \t")
        return (
            indent < self.indent + _CODE_INDENT
            and len(marks) >= len(self.mark)
            and marks == self.mark[0] * len(marks)
        )


class _Reader:
    """Reads a text line by line and gives back its parts as they are finished."""

    def __init__(self) -> None:
        self._paragraph: list[str] = []
        self._items: list[int] = []  # how far the words of each open list item are indented
        self._fence: _Fence | None = None
        self._in_comment = False
        self._in_quotation = False

    def read(self, line: str) -> Iterator[str]:
        """Take the next line; the parts that it finishes."""
        start, indent = _first_word(line, 0)
        if self._fence is not None:
            if self._fence.is_closed_by(line, start, indent):
                self._fence = None
        elif self._in_comment:
            yield from self._comment(line)
        elif start == len(line):
            yield from self.finish()
            yield ""
        else:
            yield from self._begin(line, start, indent)

    def finish(self) -> Iterator[str]:
        """The paragraph that was open."""
        self._in_quotation = False
        if self._paragraph:
            yield _without_code("\n".join(self._paragraph))
            self._paragraph = []

    @property
    def _base(self) -> int:
        return self._items[-1] if self._items else 0

    def _begin(self, line: str, start: int, indent: int) -> Iterator[str]:
        """Find out what begins in this line, within as many list items as it opens."""
        goes_on = bool(self._paragraph) or self._in_quotation
        for _ in range(_NESTED_ITEMS):
            if not goes_on:
                self._leave_items(indent)
            if indent >= self._base + _CODE_INDENT:
                yield from self._indented(line)
                return
            item = _LIST_ITEM.match(line, start)
            if item is None or _HEADING_OR_RULE.match(line, start):
                break
            yield from self._interrupt(indent)
            goes_on = False
            start, indent = self._open_item(line, start, indent, item.end())
        yield from self._block(line, start, indent)

    def _block(self, line: str, start: int, indent: int) -> Iterator[str]:
        if fence := _FENCE.match(line, start):
            yield from self._interrupt(indent)
            self._fence = _Fence(fence[0], self._base)
        elif line.startswith(">", start):
            yield from self._interrupt(indent)
            self._in_quotation = _can_go_on(line[start:].lstrip("> \t"))
        elif line.startswith("<!--", start):
            yield from self._interrupt(indent)
            yield from self._comment(line[start + len("<!") :])
        elif _HEADING_OR_RULE.match(line, start):
            yield from self._interrupt(indent)
            yield _without_code(line[start:])
        elif self._in_quotation:  # a quotation goes on without its mark until a blank line
            yield CUT
        else:
            self._paragraph.append(line[start:])

    def _indented(self, line: str) -> Iterator[str]:
        """So far to the right is code, unless a paragraph goes on."""
        if self._paragraph:
            self._paragraph.append(line)
        else:
            yield CUT

    def _open_item(self, line: str, start: int, indent: int, end: int) -> tuple[int, int]:
        marked = indent + end - start
        first, offset = _first_word(line, end, marked)
        is_code = offset > marked + _CODE_INDENT
        self._items.append(marked + 1 if is_code or first == len(line) else offset)
        return first, offset

    def _interrupt(self, indent: int) -> Iterator[str]:
        yield from self.finish()
        yield CUT
        self._leave_items(indent)

    def _leave_items(self, indent: int) -> None:
        while self._items and indent < self._items[-1]:
            self._items.pop()

    def _comment(self, text: str) -> Iterator[str]:
        yield CUT
        _, end, rest = text.partition("-->")
        self._in_comment = not end
        if rest.strip():
            self._paragraph.append(rest)


def _first_word(line: str, start: int, column: int = 0) -> tuple[int, int]:
    """Where the first word from `start` on begins, as a place in the line and as a column."""
    blanks = _BLANKS.match(line, start)
    assert blanks is not None
    for character in blanks[0]:
        column += 4 - column % 4 if character == "\t" else 1
    return blanks.end(), column


def _can_go_on(words: str) -> bool:
    return bool(words) and not _FENCE.match(words) and not _HEADING_OR_RULE.match(words)


def _without_code(paragraph: str) -> str:
    # A renderer that ends the paragraph earlier would pair backticks within each line.
    hidden = _hidden(paragraph)
    offset = 0
    for line in paragraph.split("\n"):
        hidden += [(offset + start, offset + end) for start, end in _hidden(line)]
        offset += len(line) + 1
    shown: list[str] = []
    place = 0
    for start, end in sorted(hidden):
        if end > place:
            shown += (paragraph[place : max(start, place)], CUT)
            place = end
    return "".join((*shown, paragraph[place:]))


def _hidden(text: str) -> list[tuple[int, int]]:
    """Where code spans and comments stand in a text."""
    if "`" not in text and "<!--" not in text:
        return []
    runs: dict[int, list[int]] = {}
    for run in _TICKS.finditer(text):
        runs.setdefault(len(run[0]), []).append(run.start())
    last_comment = text.rfind("-->")
    found: list[tuple[int, int]] = []
    place = 0
    while opening := _INLINE.search(text, place):
        place = opening.end()
        if opening[0] == "<!--":
            if last_comment >= opening.start() + 2:
                place = text.index("-->", opening.start() + 2) + len("-->")
                found.append((opening.start(), place))
        elif opening[0][0] == "`":
            same = runs.get(len(opening[0]), [])
            closing = bisect_left(same, place)
            if closing < len(same):
                place = same[closing] + len(opening[0])
                found.append((opening.start(), place))
    return found
