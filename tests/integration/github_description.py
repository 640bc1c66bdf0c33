"""GitHub's own description of its REST interface, and what it says of a request or an answer."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec
import pytest
from jsonschema import Draft4Validator  # type: ignore[import-untyped]  # it brings no types

FILE = Path(__file__).parents[2] / ".descriptions" / "github.json"
_REF = "#/components/"


class _Description(msgspec.Struct):
    """Only the parts that are asked for are decoded: the whole is 13 MB."""

    paths: dict[str, msgspec.Raw]
    components: dict[str, dict[str, msgspec.Raw]]


class Operation(NamedTuple):
    """What can be asked of one path by one method, and the values that the path held."""

    method: str
    path: str
    described: dict[str, Any]
    values: dict[str, str]


class Description:
    """The description; its word on requests and answers is a list of problems."""

    def __init__(self) -> None:
        self._whole = msgspec.json.decode(_bytes(), type=_Description)
        self._schemas: dict[str, Any] = {}
        self._templates: dict[int, list[str]] = {}
        for template in self._whole.paths:
            self._templates.setdefault(template.count("/"), []).append(template)

    def operation(self, method: str, path: str) -> Operation | None:
        """The operation that a request means, if there is one."""
        for template in self._templates.get(path.count("/"), ()):
            found = _pattern(template).fullmatch(path)
            if found is None:
                continue
            described = msgspec.json.decode(self._whole.paths[template]).get(method.lower())
            if described is not None:
                values = {name: unquote(value) for name, value in found.groupdict().items()}
                return Operation(method, template, described, values)
        return None

    def example(self, name: str) -> Any:
        """GitHub's own example of an answer."""
        return msgspec.json.decode(self._whole.components["examples"][name])["value"]

    def request_problems(self, operation: Operation, query: dict[str, str], body: Any) -> list[str]:
        """What is wrong with a request."""
        known = [self._resolved(each) for each in operation.described.get("parameters", [])]
        by_place = {
            place: {each["name"]: each for each in known if each["in"] == place}
            for place in ("path", "query")
        }
        found = self._values_problems(by_place["path"], operation.values)
        found += self._values_problems(by_place["query"], query)
        return found + self._body_problems(operation.described.get("requestBody"), body)

    def answer_problems(self, operation: Operation, status: int, body: Any) -> list[str]:
        """What is wrong with an answer."""
        described = operation.described["responses"].get(str(status))
        if described is None:
            schema: Any = {"$ref": f"{_REF}schemas/basic-error"}
        else:
            schema = self._resolved(described)["content"]["application/json"]["schema"]
        return self._problems(schema, body)

    def _values_problems(self, known: dict[str, Any], given: dict[str, str]) -> list[str]:
        found = [f"unknown parameter {name}" for name in given.keys() - known.keys()]
        for name, parameter in known.items():
            if name in given:
                value: Any = given[name]
                if parameter["schema"].get("type") == "integer" and value.isdigit():
                    value = int(value)
                found += self._problems(parameter["schema"], value)
            elif parameter.get("required"):
                found.append(f"parameter {name} is missing")
        return found

    def _body_problems(self, described: Any, body: Any) -> list[str]:
        if described is None:
            return [] if body is None else ["a body that nobody asked for"]
        if body is None:
            return ["the body is missing"] if described.get("required") else []
        schema = described["content"]["application/json"]["schema"]
        # The schemas allow further fields, but one that they do not name is a mistake of ours.
        unknown = body.keys() - schema["properties"].keys()
        return [*(f"unknown field {name}" for name in unknown), *self._problems(schema, body)]

    def _problems(self, schema: Any, value: Any) -> list[str]:
        converted = self._converted(schema)
        validator = Draft4Validator({**converted, "components": {"schemas": self._schemas}})
        return [f"{list(each.path)}: {each.message[:300]}" for each in validator.iter_errors(value)]

    def _converted(self, schema: Any) -> Any:
        """A schema of OpenAPI 3.0 as JSON Schema, with all that it refers to."""
        if isinstance(schema, list):
            return [self._converted(each) for each in schema]
        if not isinstance(schema, dict):
            return schema
        if isinstance(schema.get("$ref"), str):
            self._fetch(schema["$ref"].removeprefix(f"{_REF}schemas/"))
            return schema
        plain = {name: self._converted(each) for name, each in schema.items() if name != "example"}
        if plain.pop("nullable", None) is True:
            return {"anyOf": [plain, {"type": "null"}]}
        return plain

    def _fetch(self, name: str) -> None:
        if name not in self._schemas:
            self._schemas[name] = {}  # schemas refer to each other in circles
            raw = msgspec.json.decode(self._whole.components["schemas"][name])
            self._schemas[name] = self._converted(raw)

    def _resolved(self, thing: Any) -> Any:
        if "$ref" not in thing:
            return thing
        kind, name = thing["$ref"].removeprefix(_REF).split("/")
        return msgspec.json.decode(self._whole.components[kind][name])


@cache
def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", template)
    return re.compile(
        "".join(
            f"(?P<{part}>[^/]+)" if place % 2 else re.escape(part)
            for place, part in enumerate(parts)
        )
    )


def _bytes() -> bytes:
    if FILE.exists():
        return FILE.read_bytes()
    if os.environ.get("HOOKLINE_NEED_AGENTS") == "1":
        pytest.fail(f"{FILE} is missing; `make descriptions` fetches it")
    pytest.skip("GitHub's description is not there; `make descriptions` fetches it")


def decoded(body: bytes) -> Any:
    """A body as JSON; None for no body."""
    return json.loads(body) if body else None
