"""The JSON Schema of hookline.yaml, made from the same types that load it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import inspect

from hookline.config.entries import FOR_ALL
from hookline.config.types import DURATION_TEXT, SIZE_TEXT, Document
from hookline.hooks.builtin import CHAINS, NAMED_BUILTINS, REACT_BUILTINS
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
    definitions["Entry"]["properties"].update(
        {name: {"description": f"A built-in: {_stands(points)}."} for name, points in _named()}
    )
    definitions["Entry"]["properties"].update(_chains())
    for kind in _structs(inspect.type_info(Document), {}):
        _agree_with_loader(definitions[kind.cls.__name__], kind)
    definitions["HookList"] = _hook_list()
    definitions["Hooks"] = _hooks()
    definitions["OwnHooks"] = _own_hooks(definitions["Hooks"]["properties"])
    return {"$schema": _DIALECT, "title": "hookline.yaml", **schema}


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
        if reads in _TEXTS:
            options.append({"type": "string", "pattern": f"^(?:{_TEXTS[reads]})$"})
        if not field.required:
            options.append(NULL)
        definition["properties"][field.encode_name] = {
            **about,
            **(options[0] if len(options) == 1 else {"anyOf": options}),
        }


def _loaded(schema: dict[str, Any], words: list[str]) -> dict[str, Any]:
    """Any word is text to the loader, also one that is a truth to YAML, or mostly a number."""
    if schema.get("type") == "string":
        return {**schema, "type": words}
    found = {key: schema[key] for key in _INNER if isinstance(schema.get(key), dict)}
    inner = {key: _loaded(each, words) for key, each in found.items()}
    return {**schema, **inner}


def _reads(kind: inspect.Type) -> str | None:
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


def _own_hooks(points: dict[str, Any]) -> dict[str, Any]:
    own = {name: each for name, each in points.items() if POINTS[name].rule not in FOR_ALL}
    return {
        "description": "Hooks that replace those of their points for one agent or task type.",
        "type": ["object", "null"],
        "properties": own,
        "additionalProperties": False,
    }


def _hook_list() -> dict[str, Any]:
    return {"type": ["array", "null"], "items": _one_hook()}


def _one_hook() -> dict[str, Any]:
    names = sorted({**NAMED_BUILTINS, **REACT_BUILTINS}.keys() - set(CHAINS))
    return {
        "anyOf": [
            {"description": "A built-in hook.", "enum": names},
            {"$ref": "#/$defs/Entry"},
        ]
    }


def _chains() -> dict[str, Any]:
    """The keys whose value is other hooks."""
    several = {"type": "array", "items": _one_hook(), "minItems": 1}
    return {
        "all_of": {"description": "Complete only if all of these hooks do.", **several},
        "any_of": {"description": "Complete if one of these hooks does.", **several},
        "not": {"description": "Complete only if this hook does not.", **_one_hook()},
    }


def _named() -> list[tuple[str, tuple[str, ...]]]:
    return sorted(NAMED_BUILTINS.items())


def _stands(points: tuple[str, ...]) -> str:
    return f"stands at {', '.join(points)}"
