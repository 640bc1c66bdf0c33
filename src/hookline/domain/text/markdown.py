"""Which words of a Markdown text are its author's own, and not code, a quotation or a comment.

Where a renderer and a reader of the plain text could differ, the words count as quoted. Takes time
in proportion to the text, whatever it is.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Stands for what is left out, so that the words around it do not become neighbours.
CUT = "\0"

_BLOCKS = ("blockquote", "code", "fence", "heading", "hr", "lheading", "list", "html_block")
_TICKS = re.compile(r"`++")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_INLINE = re.compile(r"\\[\\`<]|`++|<!--")


def own_words(text: str) -> str:
    """The text with `CUT` in place of all that its author only quotes."""
    return "\n".join(_own(text, _BLOCKS))


@cache
def _parser(blocks: tuple[str, ...]) -> MarkdownIt:
    from markdown_it import MarkdownIt  # few texts hold a promise

    parser = MarkdownIt("zero", {"html": True}).enable(blocks)
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _own(text: str, blocks: tuple[str, ...]) -> Iterator[str]:
    lines = text.splitlines()
    quotations = 0
    for token in _parser(blocks).parse(text):
        quotations += token.nesting * token.type.startswith("blockquote")
        if quotations:
            yield CUT
        elif token.type == "inline":
            yield _without_code(token.content)
        elif token.type == "html_block":
            for number, part in enumerate(_COMMENT.split(token.content)):
                yield from ([CUT] if number else [])
                yield from _own(part, _BLOCKS[:-1])
        elif not token.type.startswith("paragraph"):
            yield CUT
        if not quotations and _is_open(token, lines):
            return  # its list item ends, but a reader of the plain text sees it continue


def _is_open(token: Token, lines: list[str]) -> bool:
    if token.type == "html_block":
        return token.content.rfind("<!--") > token.content.rfind("-->")
    if token.type != "fence" or token.map is None:
        return False
    first, after = token.map
    return after - first < 2 or not lines[after - 1].rstrip().endswith(token.markup)


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
    """Where code spans and comments are in a text."""
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
