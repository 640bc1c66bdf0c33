"""JSON Schemas as the notation of types that models read as well, in a quarter of the length."""

from __future__ import annotations

import json
from typing import Any

_PLAIN = {"string", "integer", "number", "boolean", "null"}
_CLOSED = {"type", "properties", "required", "additionalProperties"}


def as_type(schema: Any) -> str | None:
    """What a schema allows, like a type of TypeScript; None if it says more than that can."""
    match schema:
        case {"enum": [*values], **rest} if rest.keys() <= {"type"}:
            return " | ".join(json.dumps(value) for value in values)
        case {"anyOf": [*choices], **rest} if not rest:
            return _joined(" | ", [as_type(each) for each in choices])
        case {"type": "object", "properties": dict(fields), **rest} if _is_closed(schema):
            inside = [_field(name, as_type(each)) for name, each in fields.items()]
            found = _joined(", ", inside)
            return None if found is None else f"{{{found}}}"
        case {"type": "array", "items": items, **rest} if not rest:
            inside_items = as_type(items)
            return None if inside_items is None else f"Array<{inside_items}>"
        case {"type": list(names), **rest} if not rest and _PLAIN.issuperset(names):
            return " | ".join(names)
        case {"type": str(name), **rest} if not rest and name in _PLAIN:
            return name
    return None


def _is_closed(schema: dict[str, Any]) -> bool:
    """Whether an object has all of its properties, and no others."""
    is_whole = set(schema.get("required", ())) == set(schema["properties"])
    return schema.keys() == _CLOSED and schema["additionalProperties"] is False and is_whole


def _field(name: str, found: str | None) -> str | None:
    return None if found is None else f"{json.dumps(name)}: {found}"


def _joined(sign: str, parts: list[str | None]) -> str | None:
    known = [part for part in parts if part is not None]
    return sign.join(known) if len(known) == len(parts) else None
