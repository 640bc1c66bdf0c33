"""Carrying out what react hooks ask for, inside one transaction each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.events import PROVENANCE, SYSTEM_NODE, check_type
from hookline.domain.tasks import DEFAULT_PRIORITY
from hookline.domain.timestamps import parse
from hookline.errors import BadInput, UnknownWorkflow
from hookline.tasks import claims, verbs

if TYPE_CHECKING:
    from hookline.domain.hooks.records import Action
    from hookline.ports.store import Transaction


StartFlow = Callable[["Transaction", str, dict[str, Any]], object]


class _ActionFields(msgspec.Struct, rename="camel", frozen=True):
    """What an action is given, in its fields; the verbs check the values."""


class _NewTask(_ActionFields, frozen=True):
    goal: Any = ""
    deliverables: Any = msgspec.UNSET
    desired_deliverables: Any = ()
    labels: Any = ()
    priority: Any = DEFAULT_PRIORITY
    type: Any = None
    depends_on: Any = ()
    parent_task_id: Any = None
    notes: Any = ()


class _TaskChange(_ActionFields, frozen=True):
    task_id: Any = None
    action: Any = None
    payload: Any = None


class _LogEntry(_ActionFields, frozen=True):
    type: Any = ""
    node_id: Any = None
    data: Any = None
    timestamp: Any = None
    metadata: Any = None


class _NewRun(_ActionFields, frozen=True):
    workflow_id: Any = None
    context: Any = None


def unknown_flow(tx: Transaction, name: str, context: dict[str, Any]) -> None:
    """Where no flows are known, none can be started."""
    raise UnknownWorkflow(f"there is no workflow '{name}'")


def perform(tx: Transaction, action: Action, start_flow: StartFlow = unknown_flow) -> None:
    """Do what an action says; HooklineError if it cannot be done."""
    if action.problem is not None:
        raise BadInput(action.problem)
    kind, carry_out = _ACTIONS[action.type]
    if unknown := sorted(set(action.payload) - set(kind.__struct_encode_fields__)):
        why = f"{action.type} has no field {', '.join(map(repr, unknown))}"
        raise BadInput(why, help=f"it takes {' '.join(kind.__struct_encode_fields__)}")
    carry_out(tx, typed.convert(action.payload, kind), start_flow)


def _create_task(tx: Transaction, given: _NewTask, start_flow: StartFlow) -> None:
    wanted = given.deliverables
    verbs.add(
        tx,
        given.goal,
        deliverables=given.desired_deliverables if wanted is msgspec.UNSET else wanted,
        labels=given.labels,
        priority=given.priority,
        task_type=given.type,
        depends_on=verbs.check_texts("dependsOn", given.depends_on),
        parent=_optional_text("parentTaskId", given.parent_task_id),
        notes=given.notes,
    )


def _update_task(tx: Transaction, given: _TaskChange, start_flow: StartFlow) -> None:
    name = verbs.check_text("action", given.action)
    if name not in _TASK_VERBS:
        raise BadInput(f"unknown task action {name!r}", help=f"there are {', '.join(_TASK_VERBS)}")
    details = given.payload or {}
    if not isinstance(details, dict):
        raise BadInput("the payload of update_task must be an object")
    _TASK_VERBS[name](tx, verbs.check_text("taskId", given.task_id), details)


def _complete(tx: Transaction, task: str, p: dict[str, Any]) -> None:
    verbs.complete(tx, task, result=p.get("result"), artifacts=p.get("artifacts", ()))


def _block(tx: Transaction, task: str, p: dict[str, Any]) -> None:
    knowledge = p.get("requiredKnowledge", ())
    verbs.block(tx, task, reason=p.get("reason", ""), required_knowledge=knowledge)


def _target(payload: dict[str, Any]) -> str:
    return verbs.check_text("toId", payload.get("toId"))


_TASK_VERBS: dict[str, Callable[[Transaction, str, dict[str, Any]], Any]] = {
    "transition_to_ready": lambda tx, task, p: verbs.make_ready(tx, task),
    "claim": lambda tx, task, p: claims.claim(tx, task, p.get("agent", "")),
    "release": lambda tx, task, p: claims.release(tx, task, reason=p.get("reason")),
    "start": lambda tx, task, p: verbs.start(tx, task, context=p.get("context")),
    "complete": _complete,
    "submit": lambda tx, task, p: verbs.submit(tx, task, result=p.get("result")),
    "block": _block,
    "unblock": lambda tx, task, p: verbs.unblock(tx, task),
    "update": lambda tx, task, p: verbs.update(tx, task, p),
    "fail": lambda tx, task, p: verbs.fail(tx, task, error=p.get("error")),
    "cancel": lambda tx, task, p: verbs.cancel(tx, task, reason=p.get("reason")),
    "delete": lambda tx, task, p: verbs.delete(tx, task),
    "add_dependency": lambda tx, task, p: verbs.link(tx, task, _target(p)),
    "remove_dependency": lambda tx, task, p: verbs.unlink(tx, task, _target(p)),
}


def _log(tx: Transaction, given: _LogEntry, start_flow: StartFlow) -> None:
    data, metadata = given.data or {}, given.metadata or {}
    if not isinstance(data, dict) or not isinstance(metadata, dict):
        raise BadInput("the data and the metadata of a log action must be objects")
    if taken := sorted(metadata.keys() & (PROVENANCE | tx.metadata.keys())):
        raise BadInput(f"Hookline itself writes {', '.join(taken)} to the metadata of an event")
    node = _optional_text("nodeId", given.node_id) or SYSTEM_NODE
    if node.startswith("R-"):
        tx.runs.find(node)
    elif node != SYSTEM_NODE:
        tx.graph.task(node)
    kind, moment = check_type(str(given.type)), _optional_text("timestamp", given.timestamp)
    tx.append(kind, node, data, metadata=metadata, timestamp=parse(moment) if moment else None)


def _execute_workflow(tx: Transaction, given: _NewRun, start_flow: StartFlow) -> None:
    context = given.context or {}
    if not isinstance(context, dict):
        raise BadInput("the context of execute_workflow must be an object")
    start_flow(tx, verbs.check_text("workflowId", given.workflow_id), context)


_ACTIONS: dict[str, tuple[type[_ActionFields], Callable[[Transaction, Any, StartFlow], None]]] = {
    "create_task": (_NewTask, _create_task),
    "update_task": (_TaskChange, _update_task),
    "log": (_LogEntry, _log),
    "execute_workflow": (_NewRun, _execute_workflow),
}


def _optional_text(name: str, value: Any) -> str | None:
    return None if value is None else verbs.check_text(name, value)
