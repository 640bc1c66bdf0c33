"""JSON Schemas in the notation of types."""

from __future__ import annotations

from typing import Any

import pytest

from hookline.domain.text.schemas import as_type


def closed(**fields: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["integer", "null"]}, "integer | null"),
        ({"type": "string", "enum": ["a", "b"]}, '"a" | "b"'),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "number | null"),
        ({"type": "array", "items": closed(a={"type": "boolean"})}, 'Array<{"a": boolean}>'),
        (closed(a={"type": "string"}, b={"type": "null"}), '{"a": string, "b": null}'),
    ],
)
def test_what_a_type_can_say(schema: Any, told: str) -> None:
    assert as_type(schema) == told


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "string", "minLength": 1},
        {"type": "array"},
        {"$ref": "#/x"},
        {**closed(a={"type": "string"}), "required": []},
        {**closed(a={"type": "string"}), "additionalProperties": True},
        closed(a={"type": "string", "pattern": "x"}),
        {"anyOf": [{"type": "string"}, {"$ref": "#/x"}]},
    ],
)
def test_what_only_a_schema_can_say(schema: Any) -> None:
    assert as_type(schema) is None
