"""The types of the API for the page's source, written from the types of its routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.queries.page.report import ReportFile
from hookline.surfaces.web.description import REF, schemas
from hookline.surfaces.web.routes import LINES, ROUTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}


def typescript() -> str:
    """The types of the API and of reports in a file, and a table of the API's addresses."""
    lines = ["// Written by `python -m docs.generate` from the Python types: do not edit.", ""]
    for name, schema in schemas(ReportFile).items():
        lines += [*_interface(name, schema), ""]
    lines += ["/** Every address of the API: its method, what it takes, and what it answers. */"]
    lines += ["export interface Routes {"]
    for route in ROUTES:
        answer = "string" if route.answer is None else route.answer.__name__
        many = " | lines" if route.content == LINES else ""
        lines += [
            f"  /** {route.method} {route.path}: {route.doc}{many} */",
            f"  {route.name}: {{ takes: {route.takes.__name__}; answers: {answer} }};",
        ]
    return "\n".join([*lines, "}", ""])


def _interface(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    if text := schema.get("description"):
        yield f"/** {text} */"
    yield f"export interface {name} {{"
    required = schema.get("required", ())
    for field, kind in schema.get("properties", {}).items():
        yield f"  {field}{'' if field in required else '?'}: {_type(kind)};"
    yield "}"


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(REF)
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(each) for each in schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(msgspec.json.encode(each).decode() for each in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        return _array(schema)
    if kind == "object":
        inner = schema.get("additionalProperties")
        return f"Record<string, {_type(inner) if isinstance(inner, dict) else 'unknown'}>"
    if kind == "null":
        return "null"
    return _PLAIN.get(str(kind), "unknown")


def _array(schema: Mapping[str, Any]) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(_type(each) for each in schema['prefixItems'])}]"
    inner = _type(schema.get("items") or {})
    return f"({inner})[]" if " | " in inner else f"{inner}[]"
