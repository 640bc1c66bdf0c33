"""Diffs that judge work: no attribute and no setting of the repository hides a line of them.

The work itself can say `*.py -diff`, in a file or by a program that writes .git/info/attributes.
So what counts as binary is told by the bytes of a file alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hookline.adapters.git.door import GitFailed, cut, printable
from hookline.adapters.repository_objects import Objects
from hookline.domain.repository import FileChange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookline.adapters.git.door import Said

# Settings of the repository and of its submodules could leave submodules out.
_DIFF = ("diff", "--ignore-submodules=none", "--src-prefix=a/", "--dst-prefix=b/")
_COUNT = (*_DIFF, "--raw", "--numstat", "--no-renames", "-z")
_DELETED, _OTHER_KIND = "D", "T"
_UNCOUNTED = "-"  # what git takes for binary, whoever says so
# As git itself tells text from other files.
_LOOKED_AT = 8000
_MOST_BYTES = 16 * 1024 * 1024
# So many binary files are told apart; where there are more, all are shown as text.
_MOST_BINARY = 500


# No line of a file begins like these: the diff puts a sign before each.
_PART = re.compile(rb"^(?:diff --git |@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@)", re.MULTILINE)


class _Row(NamedTuple):
    """A file of a diff: what happened to it, and how many lines, as git says it."""

    status: str
    added: str
    removed: str


class Diffing(Objects):
    """Says what work changes."""

    async def changes(self, folder: str, base: str, head: str = "HEAD") -> list[FileChange]:
        """The files that the commits in a folder change, and how many lines of each."""
        span = await self._span(base, head)
        rows = await self._rows(folder, span, head)
        binary = set(await self._binary(folder, span, head, rows))
        shown = {name: row for name, row in rows.items() if name not in binary}
        if any(row.added == _UNCOUNTED for row in shown.values()):
            asked = (*_DIFF, "--text", "--no-renames", "--unified=0", span, *_without(binary))
            lines = _count((await self._compared(folder, span, head, *asked)).out, shown)
        else:
            lines = {name: (int(row.added), int(row.removed)) for name, row in shown.items()}
        return [FileChange(printable(name), *lines.get(name, ())) for name in sorted(rows)]

    async def diff(self, folder: str, base: str, limit: int = 64 * 1024, head: str = "HEAD") -> str:
        """What the commits in a folder change; of a longer diff the beginning and the end."""
        span = await self._span(base, head)
        binary = await self._binary(folder, span, head, await self._rows(folder, span, head))
        asked = (*_DIFF, "--text", span, *_without(binary))
        # Four bytes are the longest character, so that no cut of bytes is shorter than the limit.
        said = await self._compared(folder, span, head, *asked, limit=4 * limit)
        text = said.out
        if binary:
            named = (f":(top,literal){name}" for name in binary)
            text += (await self._compared(folder, span, head, *_DIFF, span, "--", *named)).out
        return cut(text.decode("utf-8", "replace"), limit, more=said.left_out)

    async def _span(self, base: str, head: str) -> str:
        return f"{(await self._known_base(base)).sha}...{head}"

    async def _rows(self, folder: str, span: str, head: str) -> dict[str, _Row]:
        """The files of a diff by their names."""
        said = await self._compared(folder, span, head, *_COUNT, span)
        statuses: dict[str, str] = {}
        rows: dict[str, _Row] = {}
        entries = iter(said.names)
        for entry in entries:
            if entry.startswith(":"):
                statuses[next(entries)] = entry[-1]
            else:
                added, removed, name = entry.split("\t", 2)
                rows[name] = _Row(statuses[name], added, removed)
        return rows

    async def _binary(self, folder: str, span: str, head: str, rows: dict[str, _Row]) -> list[str]:
        """The files that are binary by their bytes; what cannot be looked at counts as text."""
        names = [name for name, row in rows.items() if row.added == _UNCOUNTED]
        gone = [name for name in names if rows[name].status == _DELETED]
        here = [name for name in names if rows[name].status != _DELETED]
        found = await self.contents(folder, head, here, _MOST_BYTES) if here else {}
        if gone:
            fork = await self._fork(folder, span.partition("...")[0], head)
            found |= await self.contents(folder, fork, gone, _MOST_BYTES)
        binary = [name for name in names if b"\0" in found.get(name, b"")[:_LOOKED_AT]]
        return binary if len(binary) <= _MOST_BINARY else []

    async def _compared(
        self, folder: str, span: str, head: str, *asked: str, limit: int | None = None
    ) -> Said:
        said = await self._git(folder, *asked, limit=limit)
        if said.code:
            # Says it, if they have no commit in common.
            await self._fork(folder, span.partition("...")[0], head)
            raise GitFailed("no diff", said)
        return said


def _without(binary: Iterable[str]) -> tuple[str, ...]:
    """Everything but these files, as git is told it."""
    return ("--", ":(top)", *(f":(top,exclude,literal){name}" for name in binary))


def _count(diff: bytes, rows: Mapping[str, _Row]) -> dict[str, tuple[int, int]]:
    """The added and removed lines of a diff without context, whose parts are of these files."""
    # What becomes a link, or is one no more, is removed and added.
    parts = (name for name, row in rows.items() for _ in range(1 + (row.status == _OTHER_KIND)))
    lines = dict.fromkeys(rows, (0, 0))
    for found in _PART.finditer(diff):
        if not found[0].startswith(b"@@"):
            name = next(parts)
            continue
        added, removed = lines[name]
        lines[name] = (added + int(found[2] or 1), removed + int(found[1] or 1))
    return lines
