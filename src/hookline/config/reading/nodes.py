"""YAML text as a tree of nodes with marks. No Python object is ever constructed from a tag.

The tree is built from parser events rather than by PyYAML's composer, so that depth and the
expanded size of aliases are bounded while reading, without recursion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import yaml

from hookline.config.reading.problems import Mark, Problems

MAX_BYTES = 1 << 20
MAX_NODES = 50_000
MAX_DEPTH = 100

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXT_TAGS = ("!", "tag:yaml.org,2002:str")


class Scalar(msgspec.Struct, frozen=True, eq=False):
    """Text as the file means it; `raw` is how it is written, `style` how it is quoted."""

    text: str
    style: str
    mark: Mark
    raw: str = ""
    size: int = 1
    height: int = 0


class Sequence(msgspec.Struct, frozen=True, eq=False):
    """A list of nodes."""

    items: tuple[Node, ...]
    mark: Mark
    size: int = 1
    height: int = 0


class Pair(NamedTuple):
    """A key and what it holds."""

    key: Scalar
    value: Node


class Mapping(msgspec.Struct, frozen=True, eq=False):
    """Keys as they are written, each with its node."""

    pairs: dict[str, Pair]
    mark: Mark
    size: int = 1
    height: int = 0

    def get(self, key: str) -> Node | None:
        """What a key holds, or None."""
        pair = self.pairs.get(key)
        return pair.value if pair else None


Node = Scalar | Sequence | Mapping


class _Refused(Exception):
    """The text cannot become a tree."""

    def __init__(self, code: str, mark: Mark, message: str, help: str = "") -> None:
        super().__init__(message)
        self.code, self.mark, self.message, self.help = code, mark, message, help


class _Frame(msgspec.Struct):
    """A collection that is still open."""

    mark: Mark
    anchor: str | None
    is_mapping: bool
    children: list[Node] = msgspec.field(default_factory=list)


def parse(text: str, file: str, report: Problems) -> Node | None:
    """The tree of one document, or None when it is empty or its problems were reported."""
    builder = _Builder(text, file, report)
    try:
        return builder.build()
    except _Refused as refused:
        report.error(refused.code, refused.mark, refused.message, help=refused.help)
    except yaml.MarkedYAMLError as bad:
        place = bad.problem_mark or bad.context_mark
        mark = Mark(file, place.line + 1, place.column + 1, 1) if place else Mark(file)
        said = ", ".join(part for part in (bad.problem, bad.context) if part)
        report.error("syntax", mark, f"this is not YAML: {said}", help=_syntax_help(text, mark))
    except yaml.reader.ReaderError as bad:
        at = _line_column(text, bad.position)
        report.error("syntax", Mark(file, *at, 1), f"this character is not allowed: {bad.reason}")
    return None


def is_null(node: Node) -> bool:
    """Whether the file says nothing here: an empty value, `~` or `null`."""
    return isinstance(node, Scalar) and node.style == "" and node.text in _NULLS


def plain_value(scalar: Scalar) -> Any:
    """A scalar without a prescribed type: null, true, false, a number, else text."""
    if scalar.style:
        return scalar.text
    if scalar.text in _NULLS:
        return None
    if scalar.text in ("true", "false"):
        return scalar.text == "true"
    for number in (whole_number(scalar), decimal(scalar.text)):
        if number is not None:
            return number
    return scalar.text


def whole_number(scalar: Scalar) -> int | None:
    """An unquoted whole number, or None."""
    return int(scalar.text) if not scalar.style and _INT.fullmatch(scalar.text) else None


def decimal(text: str) -> float | None:
    """A finite decimal number, or None."""
    value = float(text) if _FLOAT.fullmatch(text) else None
    return value if value is not None and abs(value) < float("inf") else None


def mark_within(scalar: Scalar, offset: int, length: int) -> Mark:
    """The place of a part of a scalar's text; of the whole one where lines are folded."""
    if not scalar.raw or scalar.style in ("|", ">"):
        return scalar.mark
    starts = list(_char_starts(scalar))
    if offset >= len(starts):
        return scalar.mark
    end = offset + max(length, 1)
    stop = starts[end] if end < len(starts) else len(scalar.raw) - bool(scalar.style)
    column = scalar.mark.column + starts[offset]
    return msgspec.structs.replace(scalar.mark, column=column, length=max(stop - starts[offset], 1))


_NULLS = ("", "~", "null", "Null", "NULL")
_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,14})")
_FLOAT = re.compile(r"[-+]?([0-9]{1,15}\.?[0-9]{0,15}|\.[0-9]{1,15})([eE][-+]?[0-9]{1,3})?")
_ESCAPES = {"x": 4, "u": 6, "U": 10}


def _char_starts(scalar: Scalar) -> Iterator[int]:
    """Where each character of the text begins in the raw form, which has quotes and escapes."""
    raw = scalar.raw
    at, end = (1, len(raw) - 1) if scalar.style else (0, len(raw))
    while at < end:
        yield at
        if scalar.style == '"' and raw[at] == "\\":
            at += _ESCAPES.get(raw[at + 1], 2)
        elif scalar.style == "'" and raw[at] == "'":
            at += 2
        else:
            at += 1


class _Builder:
    """Folds parser events into nodes, with a stack of the collections that are open."""

    def __init__(self, text: str, file: str, report: Problems) -> None:
        self._text, self._file, self._report = text, file, report
        self._stack: list[_Frame] = []
        self._anchors: dict[str, Node] = {}
        self._root: Node | None = None
        self._documents = 0

    def build(self) -> Node | None:
        for event in yaml.parse(self._text, Loader=_LOADER):
            self._take(event)
        return self._root

    def _take(self, event: Any) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise _Refused(
                    "syntax", self._mark(event), "a file can contain only one YAML document"
                )
        elif isinstance(event, yaml.ScalarEvent):
            self._check_tag(event)
            self._add(self._scalar(event), event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self._add(self._aliased(event), None)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._check_tag(event)
            self._open(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            frame = self._stack.pop()
            self._add(self._closed(frame), frame.anchor)

    def _open(self, event: Any) -> None:
        mark = self._mark(event)
        if len(self._stack) >= MAX_DEPTH:
            raise _too_deep(mark)
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        self._stack.append(_Frame(mark, event.anchor, is_mapping))

    def _closed(self, frame: _Frame) -> Node:
        size = 1 + sum(child.size for child in frame.children)
        height = 1 + max((child.height for child in frame.children), default=0)
        if size > MAX_NODES:
            raise _Refused(
                "too-large",
                frame.mark,
                f"with its aliases expanded, this has more than {MAX_NODES:,} values",
                "use fewer aliases, or split the list",
            )
        if height > MAX_DEPTH:
            raise _too_deep(frame.mark)
        if frame.is_mapping:
            return Mapping(self._pairs(frame.children), frame.mark, size, height)
        return Sequence(tuple(frame.children), frame.mark, size, height)

    def _pairs(self, children: list[Node]) -> dict[str, Pair]:
        own: dict[str, Pair] = {}
        merged: dict[str, Pair] = {}
        for key, value in zip(children[::2], children[1::2], strict=True):
            if not isinstance(key, Scalar):
                help = 'put quotes around a value with braces: "{{task_id}}"'
                message = "a key must be a word, not a collection"
                self._report.error("bad-key", key.mark, message, help=help)
            elif key.text == "<<" and not key.style:
                merged = {**self._merged(value), **merged}
            elif key.text in own:
                first = own[key.text].key.mark
                self._report.error(
                    "duplicate-key",
                    key.mark,
                    f"'{key.text}' is set twice, first on line {first.line}",
                    help="merge them",
                    consequence="only one of them would apply",
                )
            else:
                own[key.text] = Pair(key, value)
        return {**merged, **own}

    def _merged(self, value: Node) -> dict[str, Pair]:
        sources = value.items if isinstance(value, Sequence) else (value,)
        pairs: dict[str, Pair] = {}
        for source in sources:
            if isinstance(source, Mapping):
                pairs = {**source.pairs, **pairs}
            else:
                self._report.error(
                    "bad-merge", source.mark, "'<<' takes a mapping or a list of mappings"
                )
        return pairs

    def _add(self, node: Node, anchor: str | None) -> None:
        if anchor:
            self._anchors[anchor] = node
        if self._stack:
            self._stack[-1].children.append(node)
        else:
            self._root = node

    def _aliased(self, event: Any) -> Node:
        if event.anchor not in self._anchors:
            raise _Refused(
                "bad-alias",
                self._mark(event),
                f"'*{event.anchor}' does not refer to an earlier, complete value",
                f"write '&{event.anchor}' before the value it refers to",
            )
        return self._anchors[event.anchor]

    def _scalar(self, event: Any) -> Scalar:
        one_line = event.start_mark.line == event.end_mark.line
        raw = self._text[event.start_mark.index : event.end_mark.index] if one_line else ""
        return Scalar(event.value, event.style or "", self._mark(event), raw)

    def _mark(self, event: Any) -> Mark:
        start, end = event.start_mark, event.end_mark
        length = end.index - start.index if start.line == end.line else 1
        return Mark(self._file, start.line + 1, start.column + 1, max(length, 1))

    def _check_tag(self, event: Any) -> None:
        if event.tag and event.tag not in _TEXT_TAGS:
            message = f"tags such as '{event.tag}' are not supported"
            help = "remove the tag; values are read by what their key expects"
            self._report.error("tag", self._mark(event), message, help=help)


def _too_deep(mark: Mark) -> _Refused:
    return _Refused("too-deep", mark, f"this is nested more than {MAX_DEPTH} levels deep")


def _syntax_help(text: str, mark: Mark) -> str:
    lines = text.split("\n")
    line = lines[mark.line - 1] if 0 < mark.line <= len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "indent with spaces; YAML does not allow tabs"
    if "{{" in line or ": " in line.partition(": ")[2]:
        return "put quotes around a value that contains '{', ': ' or '#'"
    return "keys that belong together start in the same column, and below their own key"


def _line_column(text: str, position: int) -> tuple[int, int]:
    before = text[:position]
    return before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1
