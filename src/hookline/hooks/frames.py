"""What one point shows to its hooks: the payload, the variables, and the scope of `when`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.events import ALSO_FIRED, FIRED, FIRINGS, STEERED, Event
from hookline.errors import HookFailure
from hookline.immutable import Immutable
from hookline.points import NOTIFYING, POINTS, REACT, STEER, VARIABLES, rule_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.hooks.calls.call import ChangedFiles
    from hookline.hooks.registry import Hook
    from hookline.hooks.rules import PointRule

DEFAULT_TIMEOUT = 30.0
# Linux takes 128 KiB for one variable and 2 MiB for all of them and the arguments together.
LARGEST_VALUE = 32 * 1024
_NOT_A_BYTE = "[\ud800-\udc7f\udd00-\udfff]"
# The key of a call that is only looked at: what it asks for is not done.
DRY_RUN = "dry-run"
_ID_MARKS = str.maketrans("", "", "_-.:/")
# What people are told is in the data of the event.
_TOLD = ("kind", "id", "since", "message", "command", "outcome", "reason")


class Frame(Immutable):
    """One firing of a point. `key` names the call forever: the same for every attempt.

    `values` are variables that the payload does not hold. `judged` are the values of a condition
    that was found to hold before, `changes` what `changed()` looks at in the whole firing. `name`
    is the firing's name in the log, if it has one.
    """

    point: str
    rule: PointRule
    payload: dict[str, Any]
    key: str
    event: Event | None = None
    depth: int = 0
    values: Mapping[str, str] = {}
    judged: dict[str, Any] | None = None
    changes: ChangedFiles | None = None
    name: str | None = None


def event_types(points: tuple[str, ...]) -> tuple[str, ...]:
    """The types of the events at which hooks of these points are called."""
    found = [kind for kind, point in ALSO_FIRED.items() if point in points]
    rules = {rule_of(point) for point in points}
    if STEER in rules:
        found.append(STEERED)
    if rules - {STEER, REACT}:
        found.append(FIRED)
    return (FIRED, *points, *found)  # any point can be fired by a flow


def timeout_of(hook: Hook, point: str) -> float:
    """How long a hook may take: its own limit, or the point's."""
    if hook.timeout is not None:
        return hook.timeout
    found = POINTS.get(point)
    return found.timeout if found else DEFAULT_TIMEOUT


def event_payload(event: Event, frozen: dict[str, Any] | None) -> dict[str, Any]:
    """What a react hook receives: the event, and its task as it was then.

    Where a point was fired, its hooks receive what was frozen and nothing else.
    """
    if event.type in FIRINGS:
        return frozen or {}
    return {"event": msgspec.to_builtins(event), "task": None, **(frozen or {})}


def variables(frame: Frame, hook: Hook, root: str) -> dict[str, str]:
    """The values of the template variables at this point; those that do not apply are absent."""
    found = {
        "point": frame.point,
        "hook": hook.name,
        "project": root,
        "idempotency_key": frame.key,
        **_from_event(frame.event),
        **_from_task(frame.payload.get("task")),
        **field_values(frame.payload),
        **frame.values,
    }
    values = {name: text for name, text in found.items() if text is not None}
    for name, text in values.items():
        # Ids are allowed where free text is not, so they must really be ids.
        if not VARIABLES[name].free and not _is_id(text):
            raise HookFailure(f"{{{{{name}}}}} is not an id: {text[:80]!r}")
    return values


def _from_event(event: Event | None) -> dict[str, str | None]:
    if event is None:
        return {}
    return {
        "event_type": event.type,
        "event_seq": str(event.seq),
        "event_data": msgspec.json.encode(event.data).decode(),
        "triggered_by": event.metadata.get("triggeredBy"),
        "session": event.metadata.get("session"),
        "error": event.data.get("error") if event.type.endswith("_error") else None,
        **(_told(event.data) if event.type in NOTIFYING else {}),
    }


def _told(data: Mapping[str, Any]) -> dict[str, str | None]:
    """What people are told; what does not apply is empty."""
    return {name: data[name] or "" for name in _TOLD if name in data}


def _from_task(task: dict[str, Any] | None) -> dict[str, str | None]:
    if not task:
        return {}
    return {
        "task_id": task["id"],
        "task_content": task["goal"],
        "task_title": task["goal"].strip().splitlines()[0],
        "task_type": task.get("type"),
        "task_labels": ",".join(task["labels"]),
    }


_FIELDS = {field: each.name for each in VARIABLES.values() for field in each.fields.split()}


def field_values(payload: Mapping[str, Any]) -> dict[str, str]:
    """The values of template variables that the fields of a payload hold."""
    found = {
        name: str(payload[field])
        for field, name in _FIELDS.items()
        if isinstance(payload.get(field), str | int)
    }
    if "tool" in payload and "input" in payload:
        found["tool_input"] = msgspec.json.encode(payload["input"]).decode()
    return found


def _is_id(text: str) -> bool:
    if not text:
        return True
    # An id that begins with '-' would be read as an option.
    return text[0] != "-" and text.isascii() and text.translate(_ID_MARKS).isalnum()


# Values travel in the environment of a program, never in a line.


def environment(values: Mapping[str, str], spill: Callable[[str, bytes], str]) -> dict[str, str]:
    """The environment that carries the values; `spill` writes a file and returns its path.

    A value that is too long, or holds a NUL, is carried as far as possible, and the variable
    with `_FILE` after its name says which file holds the whole of it.
    """
    carried: dict[str, str] = {}
    for name, value in values.items():
        env = VARIABLES[name].env
        # Bytes of a file's name that are not UTF-8 stay what they are; other halves of
        # surrogate pairs have no encoding at all.
        text = value if value.isascii() else re.sub(_NOT_A_BYTE, "\ufffd", value)
        fitting = _cut(text.replace("\0", "\ufffd"))
        carried[env] = fitting
        if fitting != text:
            carried[f"{env}_FILE"] = spill(env, text.encode("utf-8", "surrogateescape"))
    return carried


def _cut(text: str) -> str:
    data = text.encode("utf-8", "surrogateescape")
    if len(data) <= LARGEST_VALUE:
        return text
    end = LARGEST_VALUE
    while end > LARGEST_VALUE - 3 and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end].decode("utf-8", "surrogateescape")
