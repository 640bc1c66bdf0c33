"""A folder of a repository as the search for runners sees it.

Reads are bounded and stay inside the repository; odd content counts as no content.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from hookline import typed
from hookline.errors import BadInput
from hookline.files import text_of
from hookline.hooks.projectfiles import is_there, read_file

MAX_READ = 1 << 20
# A search through folders ends after so many names.
MAX_SEEN = 5_000
MAX_PACKAGES = 200
_DEPTH = 3
_FILE, _FOLDER = 1, 2
# These hold the code of others, what was built, or what only looks like a package.
SKIPPED = frozenset(
    "node_modules bower_components vendor third_party site-packages venv env target build dist out"
    " __pycache__ doc docs example examples fixture fixtures testdata template templates sample"
    " samples bench benchmarks test tests e2e".split()
)
# Folders with other names are passed over: a name becomes part of a shell line.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,99}")


class Runner(msgspec.Struct, frozen=True, kw_only=True):
    """A command of a project, the file that shows it, and the language that it covers.

    `folder` is the package that it runs in, empty for the root. `missing` is the program that is
    not there; `python3 -m` may run its `module` instead. `nothing` is the exit code that means
    that there was nothing to run.
    """

    line: str
    source: str
    language: str
    folder: str = ""
    missing: str | None = None
    module: str | None = None
    nothing: int | None = None

    @property
    def command(self) -> str:
        """The line as it is run from the root."""
        return f"cd {self.folder} && {self.line}" if self.folder else self.line


class SearchedNames(msgspec.Struct, frozen=True):
    """What a search has looked for: files by their names, and by patterns of their paths."""

    names: set[str] = msgspec.field(default_factory=set)
    patterns: set[re.Pattern[str]] = msgspec.field(default_factory=set)

    def covers(self, path: str) -> bool:
        """Whether the search may end otherwise if this file changes."""
        name = path.rpartition("/")[2]
        return name in self.names or any(each.search(path) for each in self.patterns)


class Folder:
    """One folder: `name` is its path below the root, empty for the root itself."""

    def __init__(
        self, root: str, path: str | None, name: str = "", asked: SearchedNames | None = None
    ) -> None:
        self.name = name
        self.asked = asked or SearchedNames()
        self._root, self._path = root, path
        self._texts: dict[str, str] = {}

    @property
    def top(self) -> Folder:
        """The root of the repository."""
        return self._at("") if self.name else self

    def runner(
        self,
        language: str,
        line: str,
        source: str,
        *,
        program: str | None = None,
        module: str | None = None,
        nothing: int | None = None,
    ) -> Runner:
        """A command in this folder; its `program` is the first word that is not a variable."""
        wanted = program or next(word for word in line.split() if "=" not in word)
        return Runner(
            line=line,
            source=text_of(self._whole(source)),
            language=language,
            folder=self.name,
            missing=None if self.can_run(wanted) else wanted,
            module=module,
            nothing=nothing,
        )

    def can_run(self, program: str) -> bool:
        """Whether a program is on PATH, or in this folder if it is written as a path."""
        if "/" in program:
            path = os.path.join(self._root, self.name, program)
            return os.path.isfile(path) and os.access(path, os.X_OK)
        return shutil.which(program, path=self._path) is not None

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        self.asked.names.add(name.rpartition("/")[2])
        return is_there(self._root, self._whole(name))

    def first(self, *names: str) -> str | None:
        """The first of these files that there is."""
        return next((name for name in names if self.has(name)), None)

    def text(self, name: str) -> str:
        """What a file holds; nothing if it is missing, too long, or no file."""
        if name not in self._texts:
            self.asked.names.add(name.rpartition("/")[2])
            self._texts[name] = self._read(name)
        return self._texts[name]

    def mentions(self, name: str, pattern: str) -> bool:
        """Whether a line of a file matches; `^` is the beginning of each."""
        return re.search(pattern, self.text(name), re.MULTILINE) is not None

    def json(self, name: str) -> dict[str, Any]:
        """The object in a JSON file; an empty one if there is none."""
        try:
            return typed.decode(self.text(name), dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            return {}

    def section(self, name: str, header: str) -> str:
        """The lines below a header of a TOML file; one pass, whatever the file holds."""
        found, inside = [], False
        for line in self.text(name).splitlines():
            if line.startswith("["):
                inside = line.partition("]")[0] == f"[{header}"
            elif inside:
                found.append(line)
        return "\n".join(found)

    def files(self, pattern: re.Pattern[str], *folders: str) -> Iterator[str]:
        """Files here and below these folders whose path matches, without links."""
        self.asked.patterns.add(pattern)
        for folder in ("", *folders):
            for path, is_folder in self._walk(_DEPTH if folder else 1, folder):
                if not is_folder and pattern.search(path):
                    yield path

    def packages(self, depth: int) -> Iterator[Folder]:
        """Folders below this one that can hold a package, the nearest first."""
        named = (path for path, is_folder in self._walk(depth, "") if is_folder)
        for path in islice(filter(is_plain_path, named), MAX_PACKAGES):
            yield self._at(self._whole(path))

    def _walk(self, depth: int, within: str) -> Iterator[tuple[str, bool]]:
        """Each path that leads to a file or a folder, and whether it is a folder."""
        left, folders = MAX_SEEN, [within]
        for _ in range(depth):
            below = []
            for folder in folders:
                entries = self._listed(folder, left)
                left -= len(entries)
                for name, kind in entries:
                    path = f"{folder}/{name}" if folder else name
                    if kind == _FILE:
                        yield path, False
                    elif kind == _FOLDER and name not in SKIPPED and name[0] != ".":
                        below.append(path)
                        yield path, True
            folders = below

    def _listed(self, folder: str, limit: int) -> list[tuple[str, int]]:
        """The names in a folder with their kinds; a link has none."""
        place = os.path.join(self._root, self._whole(folder))
        if folder and os.path.islink(place):
            return []
        try:
            with os.scandir(place) as entries:
                return sorted((each.name, _kind(each)) for each in islice(entries, limit))
        except OSError:  # missing, no folder, or unreadable
            return []

    def _at(self, name: str) -> Folder:
        return Folder(self._root, self._path, name, self.asked)

    def _whole(self, name: str) -> str:
        return "/".join(part for part in (self.name, name) if part)

    def _read(self, name: str) -> str:
        try:
            return read_file(self._root, self._whole(name), MAX_READ).decode("utf-8", "replace")
        except BadInput:
            return ""


def _kind(entry: os.DirEntry[str]) -> int:
    if entry.is_dir(follow_symlinks=False):
        return _FOLDER
    return _FILE if entry.is_file(follow_symlinks=False) else 0


def table(value: Any) -> dict[str, Any]:
    """The value if it is a table, else an empty one."""
    return value if isinstance(value, dict) else {}


def is_plain_path(path: str) -> bool:
    """Whether a path of a manifest can become part of a shell line."""
    return all(map(_NAME.fullmatch, path.split("/")))
