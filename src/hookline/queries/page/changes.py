"""Diffs as the page shows them: files, hunks and lines with their numbers."""

from __future__ import annotations

from typing import Literal

from hookline.queries.page.shown import Shown


class DiffLine(Shown):
    """A line, with its number before and after."""

    kind: Literal["same", "added", "removed"]
    old: int | None
    new: int | None
    text: str


class Hunk(Shown):
    """Lines of a file that are next to each other."""

    header: str
    lines: list[DiffLine]


class DiffFile(Shown):
    """What changes in a file; `hunks` are missing if it is not text, or the diff was cut before."""

    path: str
    old_path: str | None
    status: str
    added: int | None
    removed: int | None
    hunks: list[Hunk]


class DiffPage(Shown):
    """What work changes, from one commit or tree to another; `unknown` is why nobody can tell."""

    older: str | None
    newer: str | None
    files: list[DiffFile]
    added: int
    removed: int
    cut: bool
    unknown: str | None
