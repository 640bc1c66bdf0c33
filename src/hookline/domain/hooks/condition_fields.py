"""The shape of what a condition at each point looks at, so that a misspelt field can be named."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin

import msgspec

from hookline.domain import payloads
from hookline.domain.events import Event
from hookline.domain.tasks import Task
from hookline.points import POINTS, REACT


class Fields(NamedTuple):
    """What is known of data that a condition looks at: its fields by name, None for any data.

    `each`: they are those of every item of a list. `is_open`: there may be others as well.
    """

    names: Mapping[str, Fields | None]
    each: bool = False
    is_open: bool = False


@cache
def condition_fields(point: str) -> dict[str, Fields | None]:
    """What a condition at this point may look at: the fields of what its hooks receive."""
    found = POINTS.get(point)
    if found is None or (found.rule == REACT and "event_type" in found.variables):
        data = (
            _fields_of(getattr(payloads, found.payload))._replace(is_open=True) if found else None
        )
        event = _fields_of(Event)
        event = event._replace(names={**event.names, "data": data})
        return {"event": event, "task": _fields_of(Task)}
    return dict(_fields_of(getattr(payloads, found.payload)).names)


def _fields_of(kind: type[msgspec.Struct]) -> Fields:
    fields = msgspec.structs.fields(kind)
    return Fields({field.encode_name: _fields_in(field.type) for field in fields})


def _fields_in(kind: Any) -> Fields | None:
    """The fields behind a type, which may be optional or a list of such."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _fields_of(kind)
    if isinstance(kind, UnionType):
        found = [fields for each in get_args(kind) if (fields := _fields_in(each))]
        return found[0] if len(found) == 1 else None
    if get_origin(kind) in (tuple, list):
        item = _fields_in(get_args(kind)[0])
        return item._replace(each=True) if item else None
    return None
