"""The description of the API: OpenAPI, from the types of its routes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.surfaces.web.answers import RefusedAnswer
from hookline.surfaces.web.routes import POST, ROUTES, Route
from hookline.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

REF = "#/components/schemas/"
_PART = re.compile(r"\{(\w+)\}")
_NUMBERS = frozenset({"chapter", "seq", "call"})


def openapi() -> dict[str, Any]:
    """The API as OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hookline", "version": __version__},
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def schemas(*more: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of every type. What an answer always has is required, defaults or not."""
    given = [each for route in ROUTES for each in (route.answer, route.takes)]
    types = [*(each for each in given if each is not None), *more]
    _, found = msgspec.json.schema_components(
        [*types, RefusedAnswer], ref_template=f"{REF}{{name}}"
    )
    taken = {route.takes.__name__ for route in ROUTES} | {"LineComment"}
    sparse = _sparse([*types, RefusedAnswer])
    for name, schema in found.items():
        if "description" in schema:
            schema["description"] = " ".join(schema["description"].split())
        if schema.get("type") == "object" and name not in taken | sparse and "properties" in schema:
            schema["required"] = list(schema["properties"])
    return dict(sorted(found.items()))


def _sparse(types: list[type[msgspec.Struct]]) -> set[str]:
    """The types that leave out what has its default."""
    left, seen = list(types), set()
    while left:
        kind = left.pop()
        if kind in seen:
            continue
        seen.add(kind)
        for field in msgspec.inspect.type_info(kind).fields:  # type: ignore[attr-defined]
            left += _structs(field.type)
    return {each.__name__ for each in seen if each.__struct_config__.omit_defaults}


def _structs(found: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(found, msgspec.inspect.StructType):
        yield found.cls
    for name in ("item_type", "value_type"):
        if (inner := getattr(found, name, None)) is not None:
            yield from _structs(inner)
    for inner in getattr(found, "types", ()):
        yield from _structs(inner)


def _operation(route: Route) -> dict[str, Any]:
    told: dict[str, Any] = {"operationId": route.name, "summary": route.doc}
    if parameters := [*_in_path(route), *_in_query(route)]:
        told["parameters"] = parameters
    if route.method == POST:
        told["requestBody"] = {"content": {"application/json": {"schema": _ref(route.takes)}}}
    schema = {"type": "string"} if route.answer is None else _ref(route.answer)
    content = route.content.partition(";")[0]
    told["responses"] = {
        "200": {"description": "The answer.", "content": {content: {"schema": schema}}},
        "default": {
            "description": "Why it was refused.",
            "content": {"application/json": {"schema": _ref(RefusedAnswer)}},
        },
    }
    if route.decided:
        told["description"] = "Only a person can do this."
    return told


def _in_path(route: Route) -> Iterator[dict[str, Any]]:
    for name in _PART.findall(route.path):
        schema = {"type": "integer" if name in _NUMBERS else "string"}
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _in_query(route: Route) -> Iterator[dict[str, Any]]:
    if route.method == POST:
        return
    _, found = msgspec.json.schema_components([route.takes], ref_template=f"{REF}{{name}}")
    for name, schema in found[route.takes.__name__]["properties"].items():
        yield {"name": name, "in": "query", "schema": schema}


def _ref(kind: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": f"{REF}{kind.__name__}"}
