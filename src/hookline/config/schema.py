"""The JSON Schema of hookline.yaml, made from the same types that load it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import inspect

from hookline.config.hooks.entries import FOR_ALL
from hookline.config.types import DURATION_TEXT, SIZE_TEXT, Document
from hookline.errors import BrokenPlugin
from hookline.hooks.builtin import CHAINS, NAMED_BUILTINS, NOTIFY, REACT_BUILTINS
from hookline.hooks.builtin.notify.arguments import Notify
from hookline.plugins import KINDS, ExtensionPoint
from hookline.points import POINTS

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_LIST = {"$ref": "#/$defs/HookList"}


NULL = {"type": "null"}
_TEXTS = {"duration": DURATION_TEXT, "size": SIZE_TEXT}
_INNER = ("items", "additionalProperties")
_Structs = Iterable[inspect.StructType]


def json_schema() -> dict[str, Any]:
    """A schema (draft 2020-12) that editors complete and check hookline.yaml with."""
    schema = msgspec.json.schema(Document)
    definitions = schema["$defs"]
    for owner, hooks in (("Document", "Hooks"), ("TaskType", "OwnHooks"), ("Agent", "OwnHooks")):
        definitions[owner]["properties"]["hooks"] = {"$ref": f"#/$defs/{hooks}"}
    entry = definitions["Entry"]["properties"]
    for name, points in sorted(NAMED_BUILTINS.items()):
        entry[name] = {"description": f"A built-in, for {', '.join(points)}."}
    entry |= _chains()
    entry |= _notify(definitions)
    values = kind_values((*KINDS.own, *KINDS.installed()))
    definitions |= msgspec.json.schema(values)["$defs"]
    found: dict[type, inspect.StructType] = {}
    _structs(inspect.type_info(values), found)
    for kind in _structs(inspect.type_info(Document), found):
        _agree_with_loader(definitions[kind.cls.__name__], kind)
    definitions["Entry"]["properties"] |= definitions.pop(values.__name__)["properties"]
    definitions["HookList"] = {"type": ["array", "null"], "items": _one_hook()}
    definitions["Hooks"] = _hooks()
    definitions["OwnHooks"] = _own_hooks(definitions["Hooks"]["properties"])
    return {"$schema": _DIALECT, "title": "hookline.yaml", **schema}


def kind_values(names: Iterable[str]) -> type[msgspec.Struct]:
    """The value of each kind of hook's key, as the fields of a struct."""
    values = {}
    for name in names:
        with suppress(BrokenPlugin):  # `hookline check` reports it where it is used
            values[name] = KINDS.load(name).VALUE
    fields = [(name.replace("-", "_"), each | None, None) for name, each in values.items() if each]
    return msgspec.defstruct("KindValues", fields, rename={n.replace("-", "_"): n for n in values})


def _structs(kind: inspect.Type, found: dict[type, inspect.StructType]) -> _Structs:
    """Every section of the file, once."""
    if isinstance(kind, inspect.StructType) and kind.cls not in found:
        found[kind.cls] = kind
        for field in kind.fields:
            _structs(field.type, found)
    for name in ("type", "item_type", "value_type"):
        if (inner := getattr(kind, name, None)) is not None:
            _structs(inner, found)
    for each in getattr(kind, "types", ()):
        _structs(each, found)
    return found.values()


def _agree_with_loader(definition: dict[str, Any], kind: inspect.StructType) -> None:
    """Allow what the loader takes and a type alone does not say.

    That is units, words that YAML reads as numbers where text is wanted, and nothing at all.
    """
    for field in kind.fields:
        shown = definition["properties"][field.encode_name]
        if field.encode_name in ("hooks", "version"):  # these are read by others
            continue
        about = {key: shown.pop(key) for key in ("description", "default") if key in shown}
        options = shown.pop("anyOf", None) or [shown]
        about |= {key: each.pop(key) for each in options for key in ("description",) if key in each}
        reads = _reads(field.type)
        words = ["string", "boolean"] if reads == "line" else ["string", "number", "boolean"]
        options = [_loaded(each, words) for each in options if each != NULL]
        if isinstance(reads, ExtensionPoint):
            options = [{"enum": [*reads.own, *reads.installed()]}]
        elif reads in _TEXTS:
            options.append({"type": "string", "pattern": f"^(?:{_TEXTS[reads]})$"})
        if not field.required:
            options.append(NULL)
        definition["properties"][field.encode_name] = {
            **about,
            **(options[0] if len(options) == 1 else {"anyOf": options}),
        }


def _loaded(schema: Mapping[str, Any], words: list[str]) -> dict[str, Any]:
    """Any word is text to the loader, also one that is a truth to YAML, or mostly a number."""
    if schema.get("type") == "string":
        return {**schema, "type": words}
    found = {key: schema[key] for key in _INNER if isinstance(schema.get(key), dict)}
    inner = {key: _loaded(each, words) for key, each in found.items()}
    return {**schema, **inner}


def _reads(kind: inspect.Type) -> str | ExtensionPoint | None:
    """How the loader reads a value in its own way, if it does."""
    if isinstance(kind, inspect.UnionType):
        return next((found for each in kind.types if (found := _reads(each))), None)
    extra = kind.extra if isinstance(kind, inspect.Metadata) else None
    return (extra or {}).get("reads")


def _hooks() -> dict[str, Any]:
    """Event types of the user's own are points too, so other keys are left to `hookline check`."""
    return {
        "description": "Hook points, each with its hooks in order.",
        "type": ["object", "null"],
        "properties": {
            point.name: {"description": point.doc, **_LIST} for point in POINTS.values()
        },
        "additionalProperties": _LIST,
    }


def _own_hooks(points: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: each for name, each in points.items() if POINTS[name].rule not in FOR_ALL}
    return {
        "description": "Hooks that replace those of their points for one agent or task type.",
        "type": ["object", "null"],
        "properties": own,
        "additionalProperties": False,
    }


def _one_hook() -> dict[str, Any]:
    names = sorted({**NAMED_BUILTINS, **REACT_BUILTINS}.keys() - {*CHAINS, NOTIFY})
    return {
        "anyOf": [{"description": "A built-in hook.", "enum": names}, {"$ref": "#/$defs/Entry"}]
    }


def _notify(definitions: dict[str, Any]) -> dict[str, Any]:
    """The channel of a notification, and the keys next to it."""
    schema = msgspec.json.schema(Notify)["$defs"][Notify.__name__]
    (kind,) = _structs(inspect.type_info(Notify), {})
    _agree_with_loader(schema, kind)
    about = definitions["Entry"]["properties"][NOTIFY]
    channel = schema["properties"].pop("channel")
    return {NOTIFY: {**about, **channel}, **schema["properties"]}


def _chains() -> dict[str, Any]:
    """The keys whose value is other hooks."""
    several = {"type": "array", "items": _one_hook(), "minItems": 1}
    return {
        "all_of": {"description": "Complete only if all of these hooks do.", **several},
        "any_of": {"description": "Complete if one of these hooks does.", **several},
        "not": {"description": "Complete only if this hook does not.", **_one_hook()},
    }
