"""Nodes into values of a type, reporting every problem on the way instead of the first."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import inspect, structs

from hookline.config.detection import AGENTS
from hookline.config.reading.nodes import (
    Mapping,
    Scalar,
    Sequence,
    decimal,
    is_null,
    plain_value,
    whole_number,
)
from hookline.config.types import DURATION_TEXT, SIZE_TEXT
from hookline.errors import did_you_mean
from hookline.plugins import ExtensionPoint

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from hookline.config.reading.nodes import Node
    from hookline.config.reading.problems import Mark, Problems

    _Numeric = inspect.IntType | inspect.FloatType
    Rules = dict[type, Callable[[Any, Mapping, Problems], None]]

_TRUE = frozenset({"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})
_FALSE = frozenset({"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})
_DURATION = re.compile(DURATION_TEXT)
# What people write for a key that is spelled otherwise.
SYNONYMS = {
    "dollars": "usd",
    "cost": "usd",
    "money": "usd",
    "time": "minutes",
    "max_iterations": "iterations",
    "cmd": "command",
    "run": "command",
    "if": "when",
    "condition": "when",
    "prompts": "prompt",
}
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, None: 1}
_SIZE = re.compile(SIZE_TEXT)
_SIZES = {None: 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


_shape = cache(inspect.type_info)


class _Invalid:
    """What a node that was reported converts to."""


INVALID = _Invalid()


class Converter:
    """Converts nodes and remembers where each value of the result came from."""

    def __init__(self, report: Problems, rules: Rules | None = None) -> None:
        self._report = report
        self._rules = rules or {}
        self.origins: dict[str, Mark] = {}
        self._about: dict[str, str] = {}

    def convert(self, node: Node, wanted: Any, path: str = "") -> Any:
        """The node as a value of the type, or INVALID; parts that do not fit take defaults."""
        return self._value(node, _shape(wanted), path)

    def _value(self, node: Node, kind: inspect.Type, path: str) -> Any:
        reads = None
        if isinstance(kind, inspect.Metadata):
            reads = (kind.extra or {}).get("reads")
            self._about[path] = (kind.extra_json_schema or {}).get("description", "")
            kind = kind.type
        if reads == "duration":
            assert isinstance(kind, inspect.FloatType)
            return self._duration(node, kind, path)
        if reads == "size":
            assert isinstance(kind, inspect.IntType)
            return self._size(node, kind, path)
        if reads == "line" and isinstance(node, Scalar) and _is_number(node):
            return self._wrong(node, path, "a shell line")
        if reads == "line" and isinstance(node, Scalar):  # `true` is a program
            node = _quoted(node)
        if isinstance(reads, ExtensionPoint):
            return self._extension(node, reads, path)
        return _READERS[type(kind)](self, node, kind, path)

    def _extension(self, node: Node, known: ExtensionPoint, path: str) -> Any:
        """The name of something built in or, if it is none, of a plugin."""
        if not isinstance(node, Scalar) or is_null(node):
            return self._wrong(node, path, " or ".join(known.own))
        if not known.knows(node.text):
            return self._no_such_word(node, path, (*known.own, *known.installed()))
        return self._found(path, node, node.text)

    def _struct(self, node: Node, kind: inspect.StructType, path: str) -> Any:
        if not isinstance(node, Mapping):
            return self._wrong(node, path, "a mapping of keys to values")
        fields = {field.encode_name: field for field in kind.fields}
        given: dict[str, Any] = {}
        for key, (key_node, value) in node.pairs.items():
            field = fields.get(key)
            if field is None:
                if kind.forbid_unknown_fields:
                    self._unknown_key(key_node, path, fields)
            elif not _is_hooks(field.type) and not (is_null(value) and not field.required):
                result = self._value(value, field.type, _join(path, key))
                if result is not INVALID:
                    given[field.name] = result
        missing = [f for f in kind.fields if f.required and f.encode_name not in node.pairs]
        for field in missing:
            told = f"{_named(path)} needs '{field.encode_name}'"
            self._report.error("missing-key", node.mark, told, help=f"add `{field.encode_name}:`")
        if any(field.required and field.name not in given for field in kind.fields):
            return INVALID
        made = kind.cls(**given)
        if kind.cls in self._rules:
            self._rules[kind.cls](made, node, self._report)
        return made

    def _unknown_key(self, key: Scalar, path: str, known: dict[str, inspect.Field]) -> None:
        message = f"{_named(path)} has no key '{key.text}'"
        help = did_you_mean(key.text, known, f"known keys: {', '.join(known)}")
        if SYNONYMS.get(key.text) in known:
            help = f"did you mean '{SYNONYMS[key.text]}'? {help}"
        consequence = "this would be ignored"
        self._report.error("unknown-key", key.mark, message, help=help, consequence=consequence)

    def _dict(self, node: Node, kind: inspect.DictType, path: str) -> Any:
        if not isinstance(node, Mapping):
            return self._wrong(node, path, "a mapping of names to values")
        read = {
            key: self._value(_as_text(pair.value, kind), kind.value_type, _join(path, key))
            for key, pair in node.pairs.items()
        }
        return {key: value for key, value in read.items() if value is not INVALID}

    def _list(self, node: Node, kind: inspect.ListType, path: str) -> Any:
        if not isinstance(node, Sequence):
            return self._wrong(node, path, "a list")
        if kind.min_length and len(node.items) < kind.min_length:
            self._report.error("empty", node.mark, f"{_named(path)} must not be empty")
        read = [
            self._value(item, kind.item_type, f"{path}[{index}]")
            for index, item in enumerate(node.items)
        ]
        fitting = [value for value in read if value is not INVALID]
        return INVALID if len(fitting) < (kind.min_length or 0) else fitting

    def _union(self, node: Node, kind: inspect.UnionType, path: str) -> Any:
        """Our unions are `X | None` or `text | mapping | None`: null is None."""
        if is_null(node):
            return None
        types = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        if isinstance(node, Mapping):
            types.sort(key=lambda each: not isinstance(each, inspect.StructType))
        return self._value(node, types[0], path)

    def _text(self, node: Node, kind: inspect.StrType, path: str) -> Any:
        if not isinstance(node, Scalar) or is_null(node) or _is_truth(node):
            return self._wrong(node, path, "text")
        if kind.min_length and len(node.text.strip()) < kind.min_length:
            self._report.error("empty", node.mark, f"{_named(path)} must not be empty")
            return INVALID
        return self._found(path, node, node.text)

    def _bool(self, node: Node, kind: inspect.BoolType, path: str) -> Any:
        if isinstance(node, Scalar) and not node.style and node.text in _TRUE | _FALSE:
            return self._found(path, node, node.text in _TRUE)
        return self._wrong(node, path, "true or false")

    def _int(self, node: Node, kind: inspect.IntType, path: str) -> Any:
        number = whole_number(node) if isinstance(node, Scalar) else None
        return self._bounded(node, kind, path, number, "a whole number")

    def _float(self, node: Node, kind: inspect.FloatType, path: str) -> Any:
        number = decimal(node.text) if isinstance(node, Scalar) and not node.style else None
        return self._bounded(node, kind, path, number, "a number")

    def _duration(self, node: Node, kind: inspect.FloatType, path: str) -> Any:
        number = seconds(node.text) if isinstance(node, Scalar) else None
        wanted = 'seconds, or a text such as "30s" or "2m"'
        return self._bounded(node, kind, path, number, wanted)

    def _size(self, node: Node, kind: inspect.IntType, path: str) -> Any:
        found = _SIZE.fullmatch(node.text) if isinstance(node, Scalar) else None
        number = int(found[1]) * _SIZES[found[2]] if found else None
        wanted = 'bytes, or a text such as "500 KB" or "5 MB"'
        return self._bounded(node, kind, path, number, wanted)

    def _literal(self, node: Node, kind: inspect.LiteralType, path: str) -> Any:
        value = plain_value(node) if isinstance(node, Scalar) else None
        for allowed in kind.values:
            same_word = isinstance(node, Scalar) and node.text == allowed
            if same_word or (type(value) is type(allowed) and value == allowed):
                return self._found(path, node, allowed)
        words = [str(each) for each in kind.values]
        if not isinstance(node, Scalar):
            return self._wrong(node, path, " or ".join(words))
        return self._no_such_word(node, path, words)

    def _no_such_word(self, node: Scalar, path: str, words: Collection[str]) -> _Invalid:
        message = f"{_named(path)} cannot be '{node.text}'"
        help = did_you_mean(node.text, words, f"allowed: {', '.join(words)}")
        if node.text in AGENTS and path.endswith(".driver"):
            help = f"that is an agent: write its profile as {AGENTS[node.text]}"
        self._report.error("unknown-value", node.mark, message, help=help)
        return INVALID

    def _any(self, node: Node, kind: inspect.AnyType, path: str) -> Any:
        self.origins[path] = node.mark
        return plain(node)

    def _bounded(
        self, node: Node, kind: _Numeric, path: str, number: float | None, wanted: str
    ) -> Any:
        if number is None:
            return self._wrong(node, path, wanted)
        bounds = (
            (kind.gt is not None and number <= kind.gt, f"more than {_short(kind.gt)}"),
            (kind.ge is not None and number < kind.ge, f"at least {_short(kind.ge)}"),
            (kind.le is not None and number > kind.le, f"at most {_short(kind.le)}"),
        )
        for broken, rule in bounds:
            if broken:
                message = f"{_named(path)} must be {rule}, not {number:g}"
                help = self._about.get(path) or f"write a number that is {rule}"
                self._report.error("out-of-range", node.mark, message, help=help)
                return INVALID
        return self._found(path, node, number)

    def _found(self, path: str, node: Node, value: Any) -> Any:
        self.origins[path] = node.mark
        return value

    def _wrong(self, node: Node, path: str, wanted: str) -> Any:
        quoted = isinstance(node, Scalar) and node.style in ("'", '"')
        number_or_truth = wanted in ("a number", "a whole number", "true or false")
        message = f"{_named(path)} must be {wanted}, not {_described(node)}"
        help = "remove the quotes" if quoted and number_or_truth else self._about.get(path, "")
        if wanted == "text" and isinstance(node, Scalar) and _is_truth(node):
            help = f"write '{node.text}' in quotes if it is the text"
        self._report.error("wrong-type", node.mark, message, help=help)
        return INVALID


def plain(node: Node) -> Any:
    """A node as plain data: dicts, lists, text, numbers, true, false, null."""
    if isinstance(node, Mapping):
        return {key: plain(pair.value) for key, pair in node.pairs.items()}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return plain_value(node)


def seconds(text: str) -> float | None:
    """`30`, `30s`, `1.5m` or `1h` in seconds, or None."""
    negative = text.startswith("-")
    found = _DURATION.fullmatch(text[1:] if negative else text)
    if found is None:
        return None
    amount = float(found[1]) * _UNITS[found[2]]
    return -amount if negative else amount


def _is_hooks(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.Metadata) and (kind.extra or {}).get("reads") == "hooks"


def _is_number(node: Scalar) -> bool:
    return not node.style and decimal(node.text) is not None


def _is_truth(node: Scalar) -> bool:
    return isinstance(plain_value(node), bool)


def _quoted(node: Scalar) -> Scalar:
    return structs.replace(node, style="'") if _is_truth(node) else node


def _as_text(node: Node, kind: inspect.DictType) -> Node:
    """The value of a variable or a header, which need not be in quotes to be the text `true`."""
    if isinstance(node, Scalar) and isinstance(kind.value_type, inspect.StrType):
        return _quoted(node)
    return node


def _described(node: Node) -> str:
    if isinstance(node, Mapping):
        return "a mapping"
    if isinstance(node, Sequence):
        return "a list"
    if is_null(node):
        return "empty"
    return f"'{node.text[:60]}'"


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _named(path: str) -> str:
    return f"'{path}'" if path else "the file"


def _short(number: float | None) -> str:
    return f"{number:g}" if number is not None else ""


_READERS: dict[type[inspect.Type], Callable[[Converter, Node, Any, str], Any]] = {
    inspect.StructType: Converter._struct,
    inspect.DictType: Converter._dict,
    inspect.ListType: Converter._list,
    inspect.UnionType: Converter._union,
    inspect.StrType: Converter._text,
    inspect.BoolType: Converter._bool,
    inspect.IntType: Converter._int,
    inspect.FloatType: Converter._float,
    inspect.LiteralType: Converter._literal,
    inspect.AnyType: Converter._any,
}
