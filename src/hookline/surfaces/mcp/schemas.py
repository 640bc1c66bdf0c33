"""JSON Schemas of the tools' arguments, as short as they can be: agents pay for each byte."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.surfaces.mcp.arguments import Arguments

_NULL = {"type": "null"}
_REF = "#/$defs/"
_DROPPED = ("title", "default")
# Where msgspec says that a value is wrong.
_FIELD = re.compile(r" - at `\$\.(\w+)`$")


def schema_of(kind: type[Arguments]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, without titles, references and null."""
    (root,), parts = msgspec.json.schema_components((kind,), ref_template=_REF + "{name}")
    schema = _short(root, parts)
    schema.pop("description", None)
    return schema


def read(kind: type[Arguments], arguments: Mapping[str, Any], tool: str) -> Arguments:
    """The arguments of a call, or an error that names the wrong one and shows what is wanted."""
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        msgspec.json.encode(given)  # half a surrogate pair is text that nothing can store
        return msgspec.convert(given, kind)
    except (UnicodeEncodeError, RecursionError) as problem:
        raise BadInput(f"{tool}: the arguments are no JSON that can be stored") from problem
    except msgspec.ValidationError as problem:
        wanted = _allowed(kind, str(problem)) or f"{tool} takes {_fields(kind)}"
        raise BadInput(f"{tool}: {problem}", help=wanted) from problem


def _allowed(kind: type[Arguments], problem: str) -> str | None:
    """The values that the wrong field can have, if they are few."""
    found = _FIELD.search(problem)
    if found is None:
        return None
    values = schema_of(kind)["properties"].get(found[1], {}).get("enum")
    return f"{found[1]} can be {', '.join(values)}" if values else None


def _fields(kind: type[Arguments]) -> str:
    fields = msgspec.structs.fields(kind)
    names = [f.encode_name if f.required else f"{f.encode_name}?" for f in fields]
    return f"{{{', '.join(names)}}}"


def _short(schema: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    """The schema with its references in place and without what says nothing."""
    if "$ref" in schema:
        return _short(parts[schema["$ref"].removeprefix(_REF)], parts)
    found = {name: value for name, value in schema.items() if name not in _DROPPED}
    choices = [each for each in found.pop("anyOf", ()) if each != _NULL]
    if len(choices) == 1:
        found = {**_short(choices[0], parts), **found}
    elif choices:
        found["anyOf"] = [_short(each, parts) for each in choices]
    if "enum" in found:  # the type is for clients that want one everywhere
        found |= {"type": "string", "enum": [each for each in found["enum"] if each is not None]}
    if "items" in found:
        found["items"] = _short(found["items"], parts)
    if "properties" in found:
        found["properties"] = {
            name: _short(value, parts) for name, value in found["properties"].items()
        }
    if not found.get("required", True):
        del found["required"]
    return found
