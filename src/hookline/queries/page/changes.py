"""Diffs as the page shows them: files, hunks and lines with their numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from hookline.domain.text.excerpts import LEFT_OUT
from hookline.queries.page.shown import Shown
from hookline.queries.reports.changes import Change
from hookline.queries.reports.diffs import MAX_DIFF, MAX_ITERATION, compared
from hookline.queries.reports.project import task_report
from hookline.queries.reports.story import chapters, iteration_change

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hookline.app import App
    from hookline.domain.work.repository import FileChange

NOBODY = "nobody has worked on it here"
_FILE = re.compile(r"^diff --git ", re.MULTILINE)
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_KINDS: dict[str, Literal["same", "added", "removed"]] = {
    " ": "same",
    "+": "added",
    "-": "removed",
}
_STATUS = (
    ("new file mode", "added"),
    ("deleted file mode", "removed"),
    ("rename from", "renamed"),
    ("copy from", "copied"),
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "a": "\a", "b": "\b"}
_QUOTED = re.compile(r"\\([0-7]{3}|.)")
# No line of a file begins like this: the diff puts a sign before each.
_CUT = re.compile(rf"^{LEFT_OUT}$", re.MULTILINE)


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


async def task_diff(app: App, task_id: str) -> DiffPage:
    """What a task's work changes."""
    found = task_report(app, task_id).tasks[0].change
    return diff_page(await compared(app, found, MAX_DIFF, task_id))


async def iteration_diff(app: App, run_id: str, chapter: int) -> DiffPage:
    """What one iteration of a session changed."""
    with app.read() as view:
        run = view.runs.find(run_id)
        before, change = None, None
        for number, each in enumerate(chapters(view, run, app.blobs, max(chapter - 2, 0))):
            if number == min(chapter - 1, 1):
                change = iteration_change(each, before)
                break
            before = each.tree or each.base
        task_id = str(run.input["taskId"])
    return diff_page(await compared(app, change, MAX_ITERATION, task_id))


def diff_page(change: Change | None) -> DiffPage:
    """A change as the page shows it."""
    if change is None:
        change = Change(older="", newer="", unknown=NOBODY)
    files = list(_files(change.diff, change.files))
    added, removed = change.lines
    return DiffPage(
        older=change.older or None,
        newer=change.newer or None,
        files=files,
        added=added,
        removed=removed,
        cut=_CUT.search(change.diff) is not None,
        unknown=change.unknown,
    )


def _files(diff: str, changes: Iterable[FileChange]) -> Iterator[DiffFile]:
    """Every file that changes; those that the diff has not are there without lines."""
    parts = {part.path: part for part in map(_file, _FILE.split(diff)[1:])}
    for each in changes:
        part = parts.pop(each.path, None)
        yield DiffFile(
            path=each.path,
            old_path=part.old_path if part is not None else None,
            status=part.status if part is not None else "changed",
            added=each.added,
            removed=each.removed,
            hunks=part.hunks if part is not None else [],
        )


def _file(part: str) -> DiffFile:
    lines = part.split("\n")
    begin = next((n for n, line in enumerate(lines) if line.startswith("@@ ")), len(lines))
    head = lines[:begin]
    new, old = (_named(head, mark) for mark in ("+++ ", "--- "))
    renamed = _after(head, "rename from ") or _after(head, "copy from ")
    last = _unquoted(head[0].rpartition(" b/")[2]) if head else ""
    status = next((word for mark, word in _STATUS if _after(head, mark) is not None), "changed")
    return DiffFile(
        path=new or old or _after(head, "rename to ") or last,
        old_path=renamed,
        status=status,
        added=None,
        removed=None,
        hunks=list(_hunks(lines[begin:])),
    )


def _after(lines: Iterable[str], mark: str) -> str | None:
    found = next((line for line in lines if line.startswith(mark)), None)
    return None if found is None else _unquoted(found.removeprefix(mark).rstrip())


def _named(lines: Iterable[str], mark: str) -> str | None:
    found = _after(lines, mark)
    return None if found in (None, "/dev/null") else found[2:]


def _unquoted(name: str) -> str:
    """A file's name as it is; git quotes those with odd characters."""
    if not (name.startswith('"') and name.endswith('"')):
        return name.rstrip("\t")

    told = bytearray()
    for number, part in enumerate(_QUOTED.split(name[1:-1])):
        if number % 2 == 0:
            told += part.encode()
        elif len(part) == 3:
            told.append(int(part, 8) & 255)
        else:
            told += _ESCAPES.get(part, part).encode()
    return told.decode("utf-8", "replace")


def _hunks(lines: list[str]) -> Iterator[Hunk]:
    header, old, new = "", 0, 0
    found: list[DiffLine] = []
    for line in lines:
        if begin := _HUNK.match(line):
            if header:
                yield Hunk(header=header, lines=found)
            header, found, old, new = line, [], int(begin[1]), int(begin[2])
        elif (kind := _KINDS.get(line[:1])) is not None and header:
            is_old, is_new = kind != "added", kind != "removed"
            places = old if is_old else None, new if is_new else None
            found.append(DiffLine(kind=kind, old=places[0], new=places[1], text=line[1:]))
            old, new = old + is_old, new + is_new
        elif _CUT.fullmatch(line):  # what follows has no known place
            break
    if header:
        yield Hunk(header=header, lines=found)
