"""A diff as HTML: a part for each file, long ones folded, with added and removed lines coloured."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hookline.domain.text.terminal import plural
from hookline.surfaces.cli.reports.page import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.queries.reports.changes import Change

# A file with more lines is folded.
SHOWN_LINES = 60
_FILE = re.compile(r"^diff --git ", re.MULTILINE)
_CLASSES = {"+": "add", "-": "del", "@": "hunk"}
# The lines before the first hunk: names and modes, which the title has already.
_HEADERS = ("index ", "--- ", "+++ ")


class _File(NamedTuple):
    name: str
    lines: list[str]

    @property
    def counts(self) -> tuple[int, int]:
        """How many lines are added and removed here."""
        marks = [line[:1] for line in self.lines]
        return marks.count("+"), marks.count("-")


def diff_html(change: Change, title: str) -> str:
    """What changed; or why that is not known any more."""
    if change.unknown is not None:
        return f'<p class="unknown">Changes: {text(change.unknown)}.</p>\n'
    if not change.files:
        return f'<p class="unknown">{text(title)}: no file differs.</p>\n'
    added, removed = change.lines
    counts = f"{plural(len(change.files), 'file')}, {_counts(added, removed)}"
    files = "".join(_file(each) for each in _files(change.diff))
    summary = f"<summary>{text(title)} <small>{counts}</small></summary>"
    return f'<details class="diff" open>{summary}\n{files}</details>\n'


def _files(diff: str) -> Iterator[_File]:
    for part in _FILE.split(diff)[1:]:
        names, *lines = part.split("\n")
        kept = [line for line in _without_headers(lines) if line]
        yield _File(names.rpartition(" b/")[2].rstrip('"') or names, kept)


def _without_headers(lines: list[str]) -> list[str]:
    begin = next((n for n, line in enumerate(lines) if line.startswith("@@")), len(lines))
    return [line for line in lines[:begin] if not line.startswith(_HEADERS)] + lines[begin:]


def _file(file: _File) -> str:
    opened = " open" if len(file.lines) <= SHOWN_LINES else ""
    summary = f"<code>{text(file.name)}</code> <small>{_counts(*file.counts)}</small>"
    lines = "".join(_line(line) for line in file.lines)
    return f"<details{opened}><summary>{summary}</summary><pre>{lines}</pre></details>\n"


def _line(line: str) -> str:
    kind = _CLASSES.get(line[:1])
    shown = text(line)
    # Each is its own block, so that its colour reaches the edge.
    return f'<span class="{kind}">{shown}</span>' if kind else f"<span>{shown}</span>"


def _counts(added: int, removed: int) -> str:
    return f'<span class="added">+{added}</span> <span class="removed">-{removed}</span>'
