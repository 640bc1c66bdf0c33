"""The building blocks of a page: everything foreign is escaped, nothing is loaded, nothing runs."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hookline.domain.text.excerpts import without_middle
from hookline.domain.text.terminal import size
from hookline.domain.timestamps import local
from hookline.version import __version__

MAX_TEXT = 256 * 1024
# No request leaves the page, and nothing in it runs, whatever it contains.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
HEAD = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
"""
FOOT = "</main>\n</body>\n</html>\n"
_GOOD = frozenset("completed ok passed complete merged success".split())
_BAD = frozenset(
    "failed timeout escalated escalate killed dead failure blocked parked limit".split()
)
_BAD |= {"sent back", "merged untested", "completed unproven"}


OTHER = "other"


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


SHORT, NUMBER, COUNTED, NAME, WIDE = "short", "number", "counted", "name", "wide"


class Column(NamedTuple):
    """A column of a table: `short` is never broken, a `name` rarely, `wide` takes what is left.

    A `number` is set to the right; where a row is a line, one that is `counted` has its name too.
    """

    name: str
    kind: str = ""


def head(title: str) -> str:
    """The page up to its content."""
    with open(os.path.join(os.path.dirname(__file__), "report.css"), encoding="utf-8") as style:
        return HEAD.format(title=text(title), style=style.read(), policy=POLICY)


def foot(now: str) -> str:
    """The end of the page: what made it, and when."""
    return f"<footer><p>Hookline {text(__version__)}, {time(now, day=True)}</p></footer>\n{FOOT}"


def text(value: object) -> str:
    """Foreign text as text, whatever it holds; control characters are made visible."""
    if isinstance(value, Markup):
        return value
    shown = str(value)
    if len(shown) > MAX_TEXT:
        shown = without_middle(shown, MAX_TEXT)
    if not shown.isprintable():
        shown = "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in shown)
    return html.escape(shown)


def time(moment: str | None, *, day: bool = False) -> Markup:
    """A moment in local time; the same in UTC where the pointer rests."""
    if moment is None:
        return Markup("")
    found = local(moment)
    shown = f"{found:%Y-%m-%d %H:%M:%S %Z}" if day else f"{found:%H:%M:%S}"
    utc = text(moment)
    return Markup(f'<time datetime="{utc}" title="{utc}">{text(shown)}</time>')


def code(value: str, shown: str | None = None) -> Markup:
    """A name or a hash, exactly as it is; a shorter form of it shows all where the pointer is."""
    return Markup(f'<code title="{text(value)}">{text(value if shown is None else shown)}</code>')


def words(value: str) -> Markup:
    """A command or a name that may be longer than a line, but breaks only between its words.

    A browser would break it after each hyphen.
    """
    shown = (f'<span class="word">{each}</span>' for each in text(value).split(" "))
    return Markup(f"<span>{' '.join(shown)}</span>")


def folded(title: str, content: str) -> str:
    """A long text behind its title; nothing where it is empty."""
    if not content:
        return ""
    length = size(len(content.encode("utf-8", "replace")))
    return (
        f"<details><summary>{text(title)}"
        f" <small>{length}</small></summary><pre>{text(content)}</pre></details>\n"
    )


def badge(status: str, kind: str | None = None) -> Markup:
    """A word that says how something ended, in the colour of its kind."""
    return Markup(f'<span class="badge {kind or class_of(status)}">{text(status)}</span>')


def class_of(status: str) -> str:
    """Whether a word stands for something good, bad or neither."""
    return "good" if status in _GOOD else "bad" if status in _BAD else OTHER


def section(title: str, content: str) -> str:
    """Content under its title; nothing where there is none."""
    return f"<section>\n<h2>{text(title)}</h2>\n{content}</section>\n" if content else ""


def pairs(rows: Iterable[tuple[str, object]]) -> str:
    """Names and values."""
    shown = "".join(
        f"<dt>{text(name)}</dt><dd>{text(value)}</dd>\n"
        for name, value in rows
        if value not in (None, "")
    )
    return f"<dl>\n{shown}</dl>\n"


def table(columns: Sequence[Column], rows: Iterable[Sequence[object]], kind: str = "") -> str:
    """Rows under heads; on a narrow screen each row is a list of names and values.

    Rows of `lines` are a few words there, those of an `overview` never more than that, and `slim`
    ones are only as wide as they need.
    """
    top = "".join(f'<th class="{each.kind}">{text(each.name)}</th>' for each in columns)
    body = "".join(f"<tr>{_cells(columns, row)}</tr>\n" for row in rows)
    if not body:
        return ""
    heads = f"<thead><tr>{top}</tr></thead>"
    return f'<table class="{kind}">\n{heads}\n<tbody>\n{body}</tbody>\n</table>\n'


def _name(column: Column, cell: object) -> str:
    """What is next to a value on a narrow screen: 2 files, 1 file."""
    is_one = column.kind == COUNTED and cell == 1
    return column.name.removesuffix("s") if is_one else column.name


def _cells(columns: Sequence[Column], row: Sequence[object]) -> str:
    return "".join(
        f'<td class="{each.kind}" data-name="{text(_name(each, cell))}">'
        f"{text('' if cell is None else cell)}</td>"
        for each, cell in zip(columns, row, strict=True)
    )
