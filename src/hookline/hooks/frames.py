"""What one point shows to its hooks: the payload, the variables, and the scope of `when`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.domain.events import ALSO_FIRED, FIRED, FIRINGS, STEERED
from hookline.errors import HookFailure
from hookline.points import POINTS, REACT, STEER, VARIABLES, rule_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.domain.events import Event
    from hookline.hooks.calls.call import Changes
    from hookline.hooks.registry import Hook
    from hookline.hooks.rules import Rule

DEFAULT_TIMEOUT = 30.0
# The key of a call that is only looked at: what it asks for is not done.
DRY_RUN = "dry-run"
_ID_MARKS = str.maketrans("", "", "_-.:/")


class Frame(NamedTuple):
    """One firing of a point. `key` names the call for ever: the same for every attempt.

    `values` are variables that the payload does not hold. `judged` are the values of a condition
    that was found to hold before, `changes` what `changed()` looks at in the whole firing. `name`
    is the firing's name in the log, if it has one.
    """

    point: str
    rule: Rule
    payload: dict[str, Any]
    key: str
    event: Event | None = None
    depth: int = 0
    values: Mapping[str, str] = {}
    judged: dict[str, Any] | None = None
    changes: Changes | None = None
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
        **_from_fields(frame.payload),
        **frame.values,
    }
    values = {name: text for name, text in found.items() if text is not None}
    for name, text in values.items():
        # Ids may stand where free text may not, so they must really be ids.
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
    }


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


_FIELDS = {
    "session": "session",
    "iteration": "iteration",
    "agent": "agent",
    "taskId": "task_id",
    "taskContent": "task_content",
    "agentOutput": "agent_output",
    "error": "error",
    "outcome": "status",
    "status": "status",
    "runId": "run_id",
    "flow": "flow",
    "effectId": "effect_id",
    "kind": "effect_kind",
    "question": "question",
    "tool": "tool",
    "prompt": "prompt",
    "task_id": "task_id",
    "task_title": "task_title",
    "task_type": "task_type",
    "task_path": "task_path",
    "branch_name": "branch",
    "base_branch": "base_branch",
    "worktree": "worktree",
    "agent_name": "agent",
    "commits_count": "commits_count",
}


def _from_fields(payload: dict[str, Any]) -> dict[str, str | None]:
    found: dict[str, str | None] = {
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
    # One that begins with '-' would be an option wherever an id may stand.
    return text[0] != "-" and text.isascii() and text.translate(_ID_MARKS).isalnum()
