"""The JSON Schema of hookline.yaml, made from the same types that load it."""

from __future__ import annotations

from typing import Any

import msgspec

from hookline.config.entries import FOR_ALL
from hookline.config.types import Document
from hookline.hooks.builtin import CHAINS, NAMED_BUILTINS, REACT_BUILTINS
from hookline.points import POINTS

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_LIST = {"$ref": "#/$defs/HookList"}


DURATIONS = frozenset({"timeout", "sleep", "max_age"})


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
    for definition in definitions.values():
        _allow_units(definition.get("properties", {}))
    definitions["HookList"] = _hook_list()
    definitions["Hooks"] = _hooks()
    definitions["OwnHooks"] = _own_hooks(definitions["Hooks"]["properties"])
    return {"$schema": _DIALECT, "title": "hookline.yaml", **schema}


def _allow_units(properties: dict[str, Any]) -> None:
    """A length of time may be written with its unit, which the type alone does not say."""
    for name in DURATIONS & properties.keys():
        kept = {"description": "Seconds, or with a unit: 30s, 2m, 1h."}
        properties[name] = {**kept, "type": ["number", "string", "null"]}


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
