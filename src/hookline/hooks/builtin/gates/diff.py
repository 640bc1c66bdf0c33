"""A diff as git prints it, file by file: what was added where, and how much was taken away."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"v": b"\v"}


class FileDiff(msgspec.Struct):
    """One file's part of a diff; `added` are the new lines with their numbers."""

    path: str
    added: list[tuple[int, str]] = []
    removed: int = 0
    binary: bool = False
    deleted: bool = False

    @property
    def lines(self) -> int:
        """How many lines changed."""
        return len(self.added) + self.removed


def read_diff(text: str) -> list[FileDiff]:
    """The files of a diff. The content of a file is never mistaken for the diff's format."""
    return _DiffReader().read(text.split("\n"))


class _DiffReader:
    """Follows the counts of each hunk's header, the only thing that tells content from format."""

    def __init__(self) -> None:
        self.files: list[FileDiff] = []
        self._old = self._new = self._line = 0

    def read(self, lines: Iterable[str]) -> list[FileDiff]:
        for line in lines:
            if self._old > 0 or self._new > 0:
                self._content(line)
            elif line.startswith("diff --git "):
                self.files.append(FileDiff(_named_twice(line.removeprefix("diff --git "))))
            elif self.files:
                self._header(line, self.files[-1])
        return self.files

    def _content(self, line: str) -> None:
        mark = line[:1]
        if mark == "+":
            self.files[-1].added.append((self._line, line[1:]))
        elif mark == "-":
            self.files[-1].removed += 1
        if mark == "\\":  # only says that the line before lacks its newline
            return
        if mark != "+":
            self._old -= 1
        if mark != "-":
            self._new -= 1
            self._line += 1

    def _header(self, line: str, file: FileDiff) -> None:
        if (hunk := _HUNK.match(line)) is not None:
            self._old, self._new = int(hunk[1] or 1), int(hunk[3] or 1)
            self._line = int(hunk[2])
        elif line.startswith("+++ ") and line != "+++ /dev/null":
            file.path = _plain(line[4:].removesuffix("\t")).removeprefix("b/")
        elif line.startswith("rename to "):
            file.path = _plain(line.removeprefix("rename to "))
        elif line.startswith(("Binary files ", "GIT binary patch")):
            file.binary = True
        elif line.startswith("deleted file mode"):
            file.deleted = True


def _named_twice(names: str) -> str:
    """The path in `a/x b/x`; for a renamed file, a later line has it."""
    return _plain(names[(len(names) - 1) // 2 + 1 :]).removeprefix("b/")


def _plain(name: str) -> str:
    """A name as it is, also where git has put it in quotes."""
    if not name.startswith('"'):
        return name
    data = _ESCAPE.sub(_unescaped, name[1:].removesuffix('"').encode("utf-8", "replace"))
    return data.decode("utf-8", "replace")


def _unescaped(found: re.Match[bytes]) -> bytes:
    said = found[1]
    return bytes([int(said, 8) & 0xFF]) if len(said) == 3 else _LETTERS.get(said, said)
