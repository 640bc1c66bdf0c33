"""Whether a point can be fired with a payload, and what to say if not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import msgspec

from hookline import typed
from hookline.domain import payloads
from hookline.errors import BadInput
from hookline.points import POINTS


class FieldProblem(NamedTuple):
    """A field of a payload that is missing or of another type, and what to say about it."""

    field: str
    message: str


def problems_of(
    point: str, payload: Mapping[str, Any], unknown: Collection[str] = ()
) -> list[FieldProblem]:
    """Why a point cannot be fired with this payload; values of `unknown` fields come later.

    Event types of the user's own take any payload.
    """
    declared = POINTS.get(point)
    found: list[FieldProblem] = []
    for field in msgspec.structs.fields(getattr(payloads, declared.payload)) if declared else ():
        name = field.encode_name
        if name not in payload:
            if field.required:
                found.append(FieldProblem(name, f"{point} needs `{name}` in its payload"))
        elif name not in unknown:
            try:
                typed.convert(payload[name], field.type)
            except msgspec.ValidationError as problem:
                found.append(FieldProblem(name, f"`{name}` does not fit {point}: {problem}"))
    return found


def check_payload(point: str, payload: Mapping[str, Any]) -> None:
    """Refuse a payload that lacks what a point needs, naming every field."""
    found = problems_of(point, payload)
    if found:
        help = f"`hookline points {point}` shows what its hooks receive"
        raise BadInput("; ".join(each.message for each in found), help=help)
