"""What `docs.generate` knows about types: their names in prose, and examples of event data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import NODEFAULT, inspect

from hookline.config import types
from hookline.config.schema import kind_values
from hookline.domain import payloads
from hookline.hooks.builtin.notify.arguments import Notify
from hookline.plugins import KINDS, ExtensionPoint
from hookline.points import POINTS, REACT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hookline.points import Point

_ORIGINAL = {
    "seq": 8,
    "id": "9f2c41aa-000000000008",
    "timestamp": "2026-01-17T12:00:00.000Z",
    "type": "task_completed",
    "nodeId": "T-1",
    "data": {"result": "works", "artifacts": []},
    "metadata": {"triggeredBy": "ada"},
}
_DATA: dict[str, dict[str, Any]] = {
    "task_created": {
        "goal": "Write the parser",
        "deliverables": ["parser.py"],
        "labels": ["agent"],
        "priority": 2,
    },
    "task_ready": {},
    "task_claimed": {"agent": "worker-1", "token": 7},
    "task_released": {"agent": "worker-1", "reason": "lease expired", "state": "ready"},
    "task_started": {"context": {"branch": "parser"}},
    "task_updated": {"changes": {"priority": 0}},
    "task_blocked": {"reason": "no access", "requiredKnowledge": ["the API key"]},
    "task_unblocked": {"state": "ready"},
    "task_submitted": {"result": "works"},
    "task_needs_continuation": {
        "reason": "signed: `cat signed` exited 1 (attempts to fix it: 1)",
        "gate": "signed",
        "output": "`cat signed` exited 1",
        "attempts": [
            {
                "gate": "signed",
                "message": "`cat signed` exited 1",
                "agent": "I did not find the pen.",
            }
        ],
    },
    "task_completed": {"result": "works", "artifacts": ["parser.py"]},
    "task_failed": {"error": "the service is gone"},
    "task_cancelled": {"reason": "no longer needed"},
    "task_deleted": {"edgesRemoved": 2},
    "dependency_added": {"fromId": "T-2", "toId": "T-1", "edgeType": "depends_on"},
    "dependency_removed": {"edgeId": "T-2:depends_on:T-1", "fromId": "T-2", "toId": "T-1"},
    "dependency_satisfied": {"dependentTaskId": "T-2", "completedTaskId": "T-1"},
    "hook_error": {"hookName": "notify", "error": "exited 1", "originalEvent": _ORIGINAL},
    "action_error": {
        "actionType": "execute_workflow",
        "error": "there is no workflow 'deploy'",
        "payload": {"workflowId": "deploy"},
    },
    "agent_metrics": {
        "goal": "Write the parser",
        "labels": ["agent"],
        "priority": 2,
        "durationMs": 9000000,
        "deliverables": ["parser.py"],
    },
    "cascade_limit": {"depth": 9, "limit": 8, "eventSeq": 40, "hooks": ["echo"]},
    "attention_needed": {
        "kind": "session",
        "id": "greeter",
        "since": "2026-01-17T12:00:00.000Z",
        "message": "The session greeter reached a limit: 5 of 5 iterations used.",
        "command": "hookline run --resume --name greeter --iterations 10",
        "key": "session R-1 2026-01-17T12:00:00.000Z",
        "waits": True,
        "outcome": "limit",
        "reason": "iterations",
    },
    "attention_over": {
        "kind": "session",
        "id": "greeter",
        "since": "2026-01-17T12:00:00.000Z",
        "message": "The session greeter no longer waits for you.",
        "command": "hookline attention",
        "key": "session R-1 2026-01-17T12:00:00.000Z",
    },
}
_SAMPLES: dict[type[inspect.Type], Any] = {
    inspect.StrType: "text",
    inspect.IntType: 1,
    inspect.FloatType: 1.5,
    inspect.BoolType: True,
    inspect.ListType: [],
    inspect.VarTupleType: [],
}


def _sample(point: Point) -> dict[str, Any]:
    """Data of an event for which nobody wrote an example."""
    info = inspect.type_info(getattr(payloads, point.payload))
    assert isinstance(info, inspect.StructType)
    kinds = ((each.encode_name, each.type) for each in info.fields)
    return {
        name: _SAMPLES.get(type(kind.types[0] if isinstance(kind, inspect.UnionType) else kind), {})
        for name, kind in kinds
    }


EVENT_EXAMPLES = {
    point.name: json.dumps(_DATA[point.name] if point.name in _DATA else _sample(point))
    for point in POINTS.values()
    if point.rule == REACT and not point.fired_by
}

_SIMPLE: dict[type[inspect.Type], str] = {
    inspect.StrType: "text",
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.BoolType: "true or false",
    inspect.AnyType: "anything",
    inspect.NoneType: "null",
}


def json_type(info: inspect.Type) -> str:
    """A type in the words of JSON."""
    if isinstance(info, inspect.Metadata):
        reads = (info.extra or {}).get("reads")
        if isinstance(reads, ExtensionPoint):
            return f"{', '.join(reads.own)}, or a plugin's"
        return reads if reads in ("duration", "size") else json_type(info.type)
    if isinstance(info, inspect.UnionType):
        return " or ".join(json_type(each) for each in info.types)
    if isinstance(info, inspect.LiteralType):
        return ", ".join(map(str, info.values))
    if isinstance(info, inspect.ListType | inspect.VarTupleType):
        return f"list of {json_type(info.item_type)}"
    if isinstance(info, inspect.DictType):
        return "object"
    if isinstance(info, inspect.StructType):
        return info.cls.__name__
    return _SIMPLE[type(info)]


_TITLES: dict[str, type] = {
    "The file": types.Document,
    "A hook: an entry of a list under `hooks`": types.Entry,
    "`metadata` of a hook": types.HookMetadata,
    "Beside `notify`": Notify,
    "`session`": types.Session,
    "`session.budget`": types.Budget,
    "`session.guards`": types.Guards,
    "An entry of `validation`": types.Validation,
    "`task_types.NAME`": types.TaskType,
    "`task_types.NAME.agents`": types.TypeAgents,
    "`gates`": types.Gates,
    "`notifications`": types.Notifications,
    "`agents.NAME`": types.Agent,
    "`flows.NAME`": types.Flow,
    "A step of a flow": types.Step,
    "`task` of a step": types.StepTask,
}


def sections(
    table: Callable[[tuple[str, ...], Sequence[tuple[str, ...]]], str],
) -> Iterator[str]:
    """A heading and a table for each section of hookline.yaml."""
    for title, kind in _TITLES.items():
        info = inspect.type_info(kind)
        assert isinstance(info, inspect.StructType)
        fields = [each for each in info.fields if each.name != "channel"]
        if kind is types.Entry:
            values = inspect.type_info(kind_values(KINDS.own))
            assert isinstance(values, inspect.StructType)
            fields[1:1] = values.fields
        rows = [_row(field) for field in sorted(fields, key=lambda f: f.name != "version")]
        yield f"### {title}\n\n{(kind.__doc__ or '').strip()}\n"
        yield table(("key", "type", "meaning"), rows) + "\n"


def _row(field: inspect.Field) -> tuple[str, ...]:
    hooks = field.name == "hooks"
    kind = "points, each with a list of hooks" if hooks else json_type(field.type)
    words = [_description(field.type)]
    if field.required:
        words.append("Required.")
    elif field.default not in (NODEFAULT, None, False, ""):
        words.append(f"Default: `{field.default}`.")
    return (
        f"`{field.encode_name}`",
        kind.removesuffix(" or null"),
        " ".join(word for word in words if word),
    )


def _description(info: inspect.Type) -> str:
    if isinstance(info, inspect.Metadata):
        return str((info.extra_json_schema or {}).get("description", ""))
    if isinstance(info, inspect.UnionType):
        return next(filter(None, map(_description, info.types)), "")
    if isinstance(info, inspect.StructType):
        return (info.cls.__doc__ or "").strip()
    return ""
