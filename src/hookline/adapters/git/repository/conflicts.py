"""Both sides of a conflict, cut to what is needed to resolve it, and the markers in files."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline.adapters.git.door import LIMIT, printable
from hookline.domain.text.excerpts import without_middle
from hookline.domain.work.repository import ConflictFile, MarkersLeft
from hookline.files import bytes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.adapters.git.repository.notes import ConflictNote
    from hookline.adapters.git.repository.plumbing import Plumbing
    from hookline.domain.work.repository import ConflictKind

SHOWN_FILES = 50
SHOWN_SIDE = 4000
# The stages of git's index in a merge into the work.
BASE, OURS, THEIRS = 1, 2, 3
# So much of a file is read to find markers and passages.
_READ = LIMIT
# The base's side of a file that has no lines to mark is put next to it under this name.
ASIDE = "~theirs"
_SIZE = 7
# The last line of a conflict: git names the commit there.
_ENDS = re.compile(rb"^(>{1,1000}) [0-9a-f]{7,64}\b", re.MULTILINE)
# NUL, and the marks that tell the order of bytes.
_NO_TEXT = b"\0\xff\xfe\xef\xbb\xbf"
_LINK, _SUBMODULE = "120000", "160000"
_ALONE: dict[int, ConflictKind] = {
    BASE: "renamed-twice",
    OURS: "name-of-work",
    THEIRS: "name-of-base",
}


class Stages(NamedTuple):
    """A path in conflict: the mode and the object that each stage of the index has."""

    path: str
    modes: dict[int, str]
    objects: dict[int, str]

    @property
    def is_both(self) -> bool:
        """Whether both sides have it under this name."""
        return self.objects.keys() >= {OURS, THEIRS}

    def kind(self, written: bytes | None) -> ConflictKind:
        """How its sides conflict; `written` is what git made of both, where it is text."""
        modes = self.modes
        if len(modes) == 1:
            return _ALONE[next(iter(modes))]
        if OURS not in modes or THEIRS not in modes:
            return "deleted-by-work" if THEIRS in modes else "deleted-by-base"
        if _SUBMODULE in modes.values():
            return "submodule"
        if _LINK in modes.values():
            return "link"
        if written is None or is_binary(written):
            return "binary"
        marked = passages(written.decode("utf-8", "replace")) != ("", "")
        same = self.objects[OURS] == self.objects[THEIRS]
        return "mode" if same else "marked" if marked else "binary"


class MergedTree(NamedTuple):
    """What a merge comes to: the tree, with markers, and the paths in conflict.

    `renames` are files to which each side gave another new name, by their old one.
    """

    tree: str
    conflicts: tuple[Stages, ...]
    renames: dict[str, tuple[str, str]]


def read_merge(out: bytes) -> MergedTree:
    """What `git merge-tree --messages -z` says."""
    tree, *fields = out.split(b"\0")
    end = fields.index(b"")
    stages = _read_stages(fields[:end])
    alone = {each.path for each in stages if len(each.modes) == 1}
    renames = [names for names in _renames(fields[end + 1 :]) if alone.issuperset(names)]
    return MergedTree(tree.decode(), stages, {old: (mine, other) for old, mine, other in renames})


def _renames(fields: list[bytes]) -> Iterator[tuple[str, str, str]]:
    """Of git's messages, each a number, so many paths, a kind and a text, those about renames."""
    at = 0
    while at < len(fields) and fields[at].isdigit():
        count = int(fields[at])
        paths, kind = fields[at + 1 : at + 1 + count], fields[at + 1 + count]
        at += count + 3
        if kind == b"CONFLICT (rename/rename)" and count == 3:
            old, mine, other = map(os.fsdecode, paths)
            yield old, mine, other


def _read_stages(fields: list[bytes]) -> tuple[Stages, ...]:
    """The paths in conflict: MODE OBJECT STAGE, tab, path."""
    found: dict[str, Stages] = {}
    for field in fields:
        about, _, name = os.fsdecode(field).partition("\t")
        mode, sha, stage = about.split(" ")
        each = found.setdefault(name, Stages(name, {}, {}))
        each.modes[int(stage)] = mode
        each.objects[int(stage)] = sha
    return tuple(found[name] for name in sorted(found))


def sides(
    name: str, ours: bytes | None, theirs: bytes | None, mine: str = "", other: str = ""
) -> ConflictFile:
    """The conflicting passages of a file, or both of its versions where git marked none."""
    if ours is not None and theirs is not None and (mine or other):
        mine, other = (without_middle(side, SHOWN_SIDE) for side in (mine, other))
        return ConflictFile(printable(name), mine, other)
    return ConflictFile(printable(name), _shown(ours), _shown(theirs))


def is_binary(content: bytes) -> bool:
    """Whether git takes it for something else than text."""
    return b"\0" in content[:8000]


def _shown(side: bytes | None) -> str | None:
    if side is None:
        return None
    if is_binary(side):
        return f"(binary, {len(side)} bytes)"
    return without_middle(side.decode("utf-8", "replace"), SHOWN_SIDE)


def marked(path: str) -> str:
    """A file as it is in a checkout."""
    return read_plain(path).decode("utf-8", "replace")


def read_plain(path: str) -> bytes:
    """The beginning of a file; nothing of a link, a folder or a file that is not there."""
    return b"" if os.path.islink(path) else bytes_of(path, _READ)


def passages(text: str) -> tuple[str, str]:
    """What is between the markers, of the first side and of the second, passage by passage."""
    for size in sorted(_sizes(text.encode())):
        if (found := _passages(text, size)) != ("", ""):
            return found
    return "", ""


def _passages(text: str, size: int) -> tuple[str, str]:
    parts: tuple[list[str], list[str]] = ([], [])
    side: int | None = None
    first, base, middle, last = (sign * size for sign in "<|=>")
    for line in text.splitlines():
        word = line.partition(" ")[0]
        if word == first and side is None:
            side = 0
            for part in parts:
                part += ["…"] if part else []
        elif word == base and side == 0:
            side = 2
        elif line == middle and side in (0, 2):
            side = 1
        elif word == last and side == 1:
            side = None
        elif side in (0, 1):
            parts[side].append(line)
    return "\n".join(parts[0]), "\n".join(parts[1])


def _sizes(text: bytes) -> set[int]:
    """How long the markers of a merge are: an attribute of a file can say. Git's own is 7."""
    return {len(found[1]) for found in _ENDS.finditer(text)} or {_SIZE}


def markers_left(
    now: bytes, onto: str, versions: dict[int, bytes], written: bytes | None = None
) -> tuple[int, ...]:
    """The lines of markers that a merge of `onto` wrote into a file and that are left in it.

    A file may hold such lines as its own text: as many as a version has, or both have together,
    are not ours. A file that still is what the merge has `written` is not resolved, either.
    """
    left: list[int] = []
    for marker in _markers(onto, _sizes(now) | _sizes(written or now)):
        found = list(_lines(now, marker))
        own = {stage: sum(1 for _ in _lines(text, marker)) for stage, text in versions.items()}
        ours, theirs = own.get(OURS, 0), own.get(THEIRS, 0)
        if len(found) > max(ours, theirs, ours + theirs - own.get(BASE, 0)):
            left += found
    if not left and now == written and now not in versions.values():
        known = {line for text in versions.values() for line in text.split(b"\n")}
        left = [n for n, line in enumerate(now.split(b"\n"), 1) if line not in known]
    return tuple(sorted(left))


def _markers(onto: str, sizes: set[int]) -> tuple[re.Pattern[bytes], ...]:
    """The lines that git writes: with its labels of any length, else of the length that it uses.

    A row of = that is longer is the underline of a heading. Short rows of < and > are text.
    """
    long = [size for size in sizes if size >= _SIZE]
    first, last = (
        "|".join((f"{sign}+ {label}(:.*)?", *(f"{sign * size}( .*)?" for size in long)))
        for sign, label in (("<", "HEAD"), (">", onto))
    )
    middle = "|".join("=" * size for size in sizes)
    return tuple(re.compile(each.encode()) for each in (first, middle, last))


def _lines(text: bytes, marker: re.Pattern[bytes]) -> Iterator[int]:
    """The lines of a marker, also where someone moved them or wrote the text in two bytes each."""
    for number, line in enumerate(text.translate(None, _NO_TEXT).split(b"\n"), 1):
        if marker.fullmatch(line.strip()):
            yield number


class ConflictFiles:
    """The files in conflict, as both sides have them."""

    def __init__(self, repo: Plumbing) -> None:
        self._repo = repo

    async def first(self, top: str, merged: MergedTree) -> tuple[ConflictFile, ...]:
        """The first of the files in conflict, from the side of the work."""
        shown = listed(merged)[:SHOWN_FILES]
        return tuple([await self._file(top, merged, each) for each in shown])

    async def _file(self, top: str, merged: MergedTree, file: Stages) -> ConflictFile:
        if file.path in merged.renames:
            return await self._renamed(top, merged, file.path)
        written = await self.written(top, merged, file)
        kind = file.kind(written)
        if kind in ("submodule", "mode"):
            about = file.objects if kind == "submodule" else file.modes
            return ConflictFile(printable(file.path), about[OURS], about[THEIRS], kind)
        texts = await self.versions(top, file)
        text = (written or b"").decode("utf-8", "replace") if kind == "marked" else ""
        found = sides(file.path, texts.get(OURS), texts.get(THEIRS), *passages(text))
        aside = file.path + ASIDE
        has_aside = kind == "binary" and os.path.lexists(os.path.join(top, aside))
        shown = printable(aside) if has_aside else None
        return msgspec.structs.replace(found, kind=kind, aside=shown)

    async def _renamed(self, top: str, merged: MergedTree, old: str) -> ConflictFile:
        """A file that each side gave another name, with what it is under them."""
        mine, other = merged.renames[old]
        stages = {each.path: each for each in merged.conflicts}
        ours = (await self.versions(top, stages[mine])).get(OURS)
        theirs = (await self.versions(top, stages[other])).get(THEIRS)
        names = (printable(mine), printable(other))
        found = sides(old, ours, theirs)
        return msgspec.structs.replace(found, kind="renamed-twice", renamed=names)

    async def written(self, top: str, merged: MergedTree, file: Stages) -> bytes | None:
        """What git makes of both sides of a file, with markers; None if it is not text."""
        return await self._repo.objects.blob(top, f"{merged.tree}:{file.path}", _READ)

    async def versions(self, top: str, file: Stages) -> dict[int, bytes]:
        found = {}
        for stage, sha in file.objects.items():
            said = await self._repo.git(top, "cat-file", "blob", sha, limit=_READ)
            if not said.code:
                found[stage] = said.out
        return found

    async def markers(
        self, top: str, note: ConflictNote, merged: MergedTree
    ) -> tuple[MarkersLeft, ...]:
        """The files in which our markers are left, also where a file got another name."""
        asked = ("grep", "--untracked", "-I", "-l", "-z", "-F", "-e", f"> {note.onto}")
        said = await self._repo.git(top, *asked)
        known = {each.path: each for each in merged.conflicts}
        found = []
        for name in sorted({*known, *said.names}):
            file = known.get(name)
            versions = await self._sides_of(top, note, name, file)
            written = await self.written(top, merged, file) if file and file.is_both else None
            now = read_plain(os.path.join(top, name))
            if lines := markers_left(now, note.onto, versions, written):
                found.append(MarkersLeft(printable(name), lines))
        return tuple(found)

    async def _sides_of(
        self, top: str, note: ConflictNote, name: str, file: Stages | None
    ) -> dict[int, bytes]:
        """A file as each side has it; where names differ, a stage may hold a merge of both."""
        if file is None or not file.is_both:
            asked = {OURS: f"{note.head}:{name}", THEIRS: f"{note.onto}:{name}"}
            file = Stages(name, {}, asked)
        return await self.versions(top, file)


def listed(merged: MergedTree) -> list[Stages]:
    """The paths in conflict, without the new names of files that are listed by their old one."""
    new_names = {name for pair in merged.renames.values() for name in pair}
    return [each for each in merged.conflicts if each.path not in new_names]
