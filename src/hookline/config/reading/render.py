"""Problems as people, programs and code hosts read them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from hookline.config.reading.nodes import MAX_BYTES
from hookline.config.reading.problems import ERROR, Problem
from hookline.domain.text.display import spelled
from hookline.domain.text.terminal import width
from hookline.files import read_regular

_COLOURS = {"error": "1;31", "warning": "1;33"}
_GUTTER = "1;34"
_BOLD = "1"
_WIDEST = 160


def render(problems: Sequence[Problem], root: str, *, colour: bool = False) -> str:
    """All problems with their source lines, then a line that counts them."""
    sources = {each.file: _lines(os.path.join(root, each.file)) for each in problems}
    blocks = [_block(each, sources[each.file], colour) for each in problems]
    return "\n\n".join([*blocks, summary(problems)])


def summary(problems: Sequence[Problem]) -> str:
    """`2 errors, 1 warning`."""
    errors, warnings = count(problems)
    parts = [_counted(errors, "error"), _counted(warnings, "warning")]
    return ", ".join(part for part in parts if part) or "no problems"


def count(problems: Sequence[Problem]) -> tuple[int, int]:
    """How many errors and how many warnings."""
    errors = sum(each.severity == ERROR for each in problems)
    return errors, len(problems) - errors


def github(problem: Problem) -> str:
    """The workflow command that shows a problem at its line on GitHub."""
    place = f"file={_escaped(problem.file, ':,')}"
    if problem.line:
        place += f",line={problem.line},col={problem.column}"
    text = problem.message + (f"; {problem.help}" if problem.help else "")
    return f"::{problem.severity} {place},title={_escaped(problem.code, ':,')}::{_escaped(text)}"


def _block(problem: Problem, lines: list[str], colour: bool) -> str:
    def paint(text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if colour else text

    tint = _COLOURS[problem.severity]
    width = len(str(problem.line)) if problem.line else 1
    pad = " " * width
    place = f"{problem.file}:{problem.line}:{problem.column}" if problem.line else problem.file
    out = [
        paint(f"{problem.severity}[{problem.code}]", tint)
        + paint(f": {_safe(problem.message)}", _BOLD),
        f"{pad}{paint('-->', _GUTTER)} {_safe(place)}",
    ]
    bar = paint("|", _GUTTER)
    if 0 < problem.line <= len(lines):
        source, caret = _excerpt(lines[problem.line - 1], problem)
        out += [
            f"{pad} {bar}",
            f"{paint(str(problem.line), _GUTTER)} {bar} {source}".rstrip(),
            f"{pad} {bar} {caret[0]}{paint(caret[1], tint)}",
        ]
    elif problem.consequence:
        out.append(f"{pad} {bar} {paint(_safe(problem.consequence), tint)}")
    if problem.help:
        out.append(f"{pad} {paint('=', _GUTTER)} help: {_safe(problem.help)}")
    return "\n".join(out)


def _excerpt(line: str, problem: Problem) -> tuple[str, tuple[str, str]]:
    """The source line, or the part of a long one around the place, and the markers below it."""
    start = max(problem.column - 1, 0)
    first = max(0, start - _WIDEST // 2) if len(line) > _WIDEST else 0
    shown = line[first : first + _WIDEST]
    before = shown[: start - first]
    marked = shown[start - first : start - first + max(problem.length, 1)]
    carets = "^" * max(width(_safe(marked)), 1)
    below = f"{carets} {_safe(problem.consequence)}".rstrip()
    return _safe(shown), (" " * width(_safe(before)), below)


def _safe(text: str) -> str:
    """A tab becomes a blank so that columns stay true; no control character reaches a terminal."""
    return "".join(map(spelled, text.replace("\t", " ")))


def _escaped(text: str, more: str = "") -> str:
    for char in "%\r\n" + more:
        text = text.replace(char, f"%{ord(char):02X}")
    return text


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}" if number else ""


def _lines(path: str) -> list[str]:
    try:
        text = read_regular(path, MAX_BYTES).decode("utf-8-sig", "replace")
        return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    except OSError:
        return []
