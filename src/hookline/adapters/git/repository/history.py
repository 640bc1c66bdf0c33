"""What work is, compared with its base: its commits, its files, and diffs for reviews.

No attribute and no setting of the repository hides a line of those diffs.

The work itself can say `*.py -diff`, in a file or by a program that writes .git/info/attributes.
So what counts as binary is told by the bytes of a file alone.
"""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.adapters.git.door import GitFailed, nul, printable
from hookline.adapters.git.refs import steps_between
from hookline.adapters.git.repository.bases import Bases
from hookline.adapters.git.repository.plumbing import Plumbing
from hookline.domain.text.excerpts import without_middle
from hookline.domain.work.repository import (
    Commit,
    CommitMessage,
    CommitWithParents,
    Comparison,
    FileChange,
    RepositoryError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hookline.adapters.git.door import GitReply

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


class _DiffRow(NamedTuple):
    """A file of a diff: what happened to it, and how many lines, as git says it."""

    status: str
    added: str
    removed: str


class _Span(NamedTuple):
    """What is compared: the ends as git is told them, with the objects of our own if need be."""

    ends: tuple[str, ...]
    older: str
    newer: str
    aside: Mapping[str, str] | None = None

    @property
    def is_fork(self) -> bool:
        """Whether it begins where the newer end left the older one."""
        return len(self.ends) == 1


class History(msgspec.Struct, frozen=True):
    """Says what work adds and changes."""

    _repo: Plumbing
    _bases: Bases

    async def merge_base(self, folder: str, base: str, head: str = "HEAD") -> str:
        return await self._repo.fork(folder, (await self._bases.known(base)).sha, head)

    async def commits_ahead(self, folder: str, base: str, head: str = "HEAD") -> int:
        known = await self._bases.known(base)
        tip = await self._repo.sha(folder, head)
        if tip is None:
            raise RepositoryError(f"there is no commit {head[:80]!r} in {folder}")
        if (steps := steps_between(self._repo.common, known.sha, tip)) is not None:
            return steps
        asked = ("rev-list", "--count", f"{known.sha}..{tip}")
        said = await self._repo.git(folder, *asked, doing="the commits cannot be counted")
        return int(said.text)

    async def commits(self, folder: str, base: str, limit: int = 100) -> list[Commit]:
        known = await self._bases.known(base)
        asked = ("log", "--format=%H %s", "-z", f"--max-count={limit}", f"{known.sha}..HEAD")
        said = await self._repo.git(folder, *asked, doing="no commits to list")
        pairs = [line.partition(" ") for line in said.names]
        return [self._repo.told_commit(sha, subject) for sha, _, subject in reversed(pairs)]

    async def changed_files(self, folder: str, base: str, head: str = "HEAD") -> list[str]:
        fork = await self._repo.fork(folder, (await self._bases.known(base)).sha, head)
        asked = ("diff", "--name-only", "--no-renames", "--ignore-submodules=none", "-z")
        said = await self._repo.git(folder, *asked, fork, head, doing="no diff")
        return sorted(printable(name) for name in said.names)

    async def changed_between(self, older: str, newer: str) -> list[str]:
        asked = ("diff", "--name-only", "--no-renames", "--relative", "-z", older, newer)
        return (await self._repo.ask(*asked, doing="no diff")).names

    async def messages(self, folder: str, base: str, head: str, limit: int) -> dict[str, str]:
        known = await self._bases.known(base)
        asked = ("log", "-z", "--format=%H%n%B", f"{known.sha}..{head}")
        said = await self._repo.git(folder, *asked, limit=limit, doing="no commits to list")
        if said.left_out:
            raise RepositoryError(f"the messages of the commits are longer than {limit} bytes")
        pairs = (printable(each).partition("\n") for each in said.names)
        return {sha: message for sha, _, message in pairs}

    async def newest(self, head: str, limit: int) -> list[CommitMessage]:
        asked = ("log", "-z", "--first-parent", f"--max-count={limit}", "--format=%H%n%ct%n%B")
        said = await self._repo.git(self._repo.root, *asked, head, doing="no commits to list")
        parts = (printable(each).split("\n", 2) for each in said.names)
        return [CommitMessage(sha, float(at), message) for sha, at, message in parts]

    async def steps(self, folder: str, base: str, head: str) -> list[CommitWithParents]:
        known = await self._bases.known(base)
        asked = ("rev-list", "--reverse", "--topo-order", "--parents", f"{known.sha}..{head}")
        said = await self._repo.git(folder, *asked, doing="the commits cannot be listed")
        rows = [line.split() for line in said.text.splitlines()]
        return [CommitWithParents(commit, tuple(parents)) for commit, *parents in rows]

    async def diff_between(self, folder: str, older: str, newer: str, limit: int) -> str:
        return await self._diff(folder, _forked(older, newer), limit)

    async def comparison(self, older: str, newer: str, limit: int = 0) -> Comparison:
        objects = os.path.join(self._repo.folder, "objects")
        aside = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": objects}
        return await self._comparison(_Span((older, newer), older, newer, aside), limit)

    async def work(
        self, base: str, head: str, limit: int = 0, *, tree: str | None = None
    ) -> Comparison:
        span = await self._span(base, head)
        if tree is None:
            return await self._comparison(span, limit)
        fork = await self._repo.fork(self._repo.root, span.older, head)
        return await self.comparison(fork, tree, limit)

    async def _comparison(self, span: _Span, limit: int) -> Comparison:
        files = await self._changes(self._repo.root, span)
        diff = await self._diff(self._repo.root, span, limit) if limit and files else ""
        return Comparison(files, diff)

    async def contents(
        self, folder: str, commit: str, names: Sequence[str], limit: int
    ) -> dict[str, bytes]:
        return await self._contents(folder, commit, names, limit=limit)

    async def _contents(
        self,
        folder: str,
        commit: str,
        names: Sequence[str],
        *,
        limit: int,
        aside: Mapping[str, str] | None = None,
    ) -> dict[str, bytes]:
        # Of a longer answer both ends are kept; only its beginning is read.
        said = await self._batch(folder, "--batch", commit, names, limit=2 * limit, aside=aside)
        left, found = said.out[:limit] if said.left_out else said.out, {}
        for name in names:
            about, _, rest = left.partition(b"\n")
            size = about.rpartition(b" ")[2]
            if not size.isdigit():  # such as "... missing", and what was cut off
                left = rest
                continue
            if len(rest) < int(size):
                break
            found[name], left = rest[: int(size)], rest[int(size) + 1 :]
        return found

    async def size_of(self, folder: str, commit: str, names: Sequence[str]) -> int:
        said = await self._batch(folder, "--batch-check=%(objectsize)", commit, names)
        return sum(int(size) for size in said.out.split(b"\n") if size.isdigit())

    async def _batch(
        self, folder: str, how: str, commit: str, names: Sequence[str], **options: Any
    ) -> GitReply:
        options |= {"stdin": nul(f"{commit}:{name}" for name in names)}
        doing = "the files cannot be read"
        return await self._repo.git(folder, "cat-file", how, "-z", doing=doing, **options)

    async def changes(self, folder: str, base: str, head: str = "HEAD") -> list[FileChange]:
        return await self._changes(folder, await self._span(base, head))

    async def _changes(self, folder: str, span: _Span) -> list[FileChange]:
        rows = await self._rows(folder, span)
        binary = set(await self._binary(folder, span, rows))
        shown = {name: row for name, row in rows.items() if name not in binary}
        if any(row.added == _UNCOUNTED for row in shown.values()):
            asked = (*_DIFF, "--text", "--no-renames", "--unified=0", *span.ends, *_without(binary))
            lines = _count((await self._compared(folder, span, *asked)).out, shown)
        else:
            lines = {name: (int(row.added), int(row.removed)) for name, row in shown.items()}
        return [FileChange(printable(name), *lines.get(name, ())) for name in sorted(rows)]

    async def diff(self, folder: str, base: str, limit: int = 64 * 1024, head: str = "HEAD") -> str:
        return await self._diff(folder, await self._span(base, head), limit)

    async def _diff(self, folder: str, span: _Span, limit: int) -> str:
        binary = await self._binary(folder, span, await self._rows(folder, span))
        asked = (*_DIFF, "--text", *span.ends, *_without(binary))
        said = await self._compared(folder, span, *asked, limit=limit)
        text = said.out
        if binary:
            named = (f":(top,literal){name}" for name in binary)
            text += (await self._compared(folder, span, *_DIFF, *span.ends, "--", *named)).out
        return without_middle(text.decode("utf-8", "replace"), limit, more=said.left_out)

    async def _span(self, base: str, head: str) -> _Span:
        return _forked((await self._bases.known(base)).sha, head)

    async def _rows(self, folder: str, span: _Span) -> dict[str, _DiffRow]:
        """The files of a diff by their names."""
        said = await self._compared(folder, span, *_COUNT, *span.ends)
        statuses: dict[str, str] = {}
        rows: dict[str, _DiffRow] = {}
        entries = iter(said.names)
        for entry in entries:
            if entry.startswith(":"):
                statuses[next(entries)] = entry[-1]
            else:
                added, removed, name = entry.split("\t", 2)
                rows[name] = _DiffRow(statuses[name], added, removed)
        return rows

    async def _binary(self, folder: str, span: _Span, rows: dict[str, _DiffRow]) -> list[str]:
        """The files that are binary by their bytes; what cannot be looked at counts as text."""
        names = [name for name, row in rows.items() if row.added == _UNCOUNTED]
        gone = [name for name in names if rows[name].status == _DELETED]
        here = [name for name in names if rows[name].status != _DELETED]
        read = partial(self._contents, folder, limit=_MOST_BYTES, aside=span.aside)
        found = await read(span.newer, here) if here else {}
        if gone:
            fork = self._repo.fork(folder, span.older, span.newer) if span.is_fork else None
            found |= await read(span.older if fork is None else await fork, gone)
        binary = [name for name in names if b"\0" in found.get(name, b"")[:_LOOKED_AT]]
        return binary if len(binary) <= _MOST_BINARY else []

    async def _compared(
        self, folder: str, span: _Span, *asked: str, limit: int | None = None
    ) -> GitReply:
        said = await self._repo.git(folder, *asked, limit=limit, aside=span.aside)
        if said.code:
            if span.is_fork:  # says it, if they have no commit in common
                await self._repo.fork(folder, span.older, span.newer)
            raise GitFailed("no diff", said)
        return said


def _forked(older: str, newer: str) -> _Span:
    """What a later commit changes, from where it left an earlier one."""
    return _Span((f"{older}...{newer}",), older, newer)


def _without(binary: Iterable[str]) -> tuple[str, ...]:
    """Everything but these files, as git is told it."""
    return ("--", ":(top)", *(f":(top,exclude,literal){name}" for name in binary))


def _count(diff: bytes, rows: Mapping[str, _DiffRow]) -> dict[str, tuple[int, int]]:
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
