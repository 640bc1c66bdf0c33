"""Carrying out what react hooks ask for, inside one transaction each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hookline.domain.events import PROVENANCE, SYSTEM_NODE, check_type
from hookline.domain.moments import parse
from hookline.domain.tasks import DEFAULT_PRIORITY
from hookline.errors import BadInput, UnknownWorkflow
from hookline.tasks import claims, dependencies, verbs

if TYPE_CHECKING:
    from hookline.domain.records import Action
    from hookline.ports.store import Transaction


StartFlow = Callable[["Transaction", str, dict[str, Any]], object]


def unknown_flow(tx: Transaction, name: str, context: dict[str, Any]) -> None:
    """Where no flows are known, none can be started."""
    raise UnknownWorkflow(f"there is no workflow '{name}'")


def perform(tx: Transaction, action: Action, start_flow: StartFlow = unknown_flow) -> None:
    """Do what an action says; HooklineError if it cannot be done."""
    if action.problem is not None:
        raise BadInput(action.problem)
    if action.type == "execute_workflow":
        _execute_workflow(tx, action.payload, start_flow)
    else:
        _PERFORMERS[action.type](tx, action.payload)


def _create_task(tx: Transaction, payload: dict[str, Any]) -> None:
    options = _only(
        payload,
        "create_task",
        "goal deliverables desiredDeliverables labels priority type dependsOn parentTaskId notes",
    )
    verbs.add(
        tx,
        options.get("goal", ""),
        deliverables=options.get("deliverables", options.get("desiredDeliverables", ())),
        labels=options.get("labels", ()),
        priority=options.get("priority", DEFAULT_PRIORITY),
        task_type=options.get("type"),
        depends_on=verbs.check_texts("dependsOn", options.get("dependsOn", ())),
        parent=_optional_text(options, "parentTaskId"),
        notes=options.get("notes", ()),
    )


def _update_task(tx: Transaction, payload: dict[str, Any]) -> None:
    options = _only(payload, "update_task", "taskId action payload")
    verb = _TASK_VERBS.get(verbs.check_text("action", options.get("action")))
    if verb is None:
        raise BadInput(
            f"unknown task action {options.get('action')!r}",
            help=f"there are {', '.join(_TASK_VERBS)}",
        )
    details = options.get("payload") or {}
    if not isinstance(details, dict):
        raise BadInput("the payload of update_task must be an object")
    verb(tx, verbs.check_text("taskId", options.get("taskId")), details)


def _start(tx: Transaction, task: str, p: dict[str, Any]) -> None:
    verbs.start(tx, task, context=p.get("context"))


def _complete(tx: Transaction, task: str, p: dict[str, Any]) -> None:
    verbs.complete(tx, task, result=p.get("result"), artifacts=p.get("artifacts", ()))


def _block(tx: Transaction, task: str, p: dict[str, Any]) -> None:
    knowledge = p.get("requiredKnowledge", ())
    verbs.block(tx, task, reason=p.get("reason", ""), required_knowledge=knowledge)


def _claim(tx: Transaction, task: str, p: dict[str, Any]) -> None:
    claims.claim(tx, task, p.get("agent", ""))


def _target(payload: dict[str, Any]) -> str:
    return verbs.check_text("toId", payload.get("toId"))


_TASK_VERBS: dict[str, Callable[[Transaction, str, dict[str, Any]], Any]] = {
    "transition_to_ready": lambda tx, task, p: verbs.make_ready(tx, task),
    "claim": _claim,
    "release": lambda tx, task, p: claims.release(tx, task, reason=p.get("reason")),
    "start": _start,
    "complete": _complete,
    "submit": lambda tx, task, p: verbs.submit(tx, task, result=p.get("result")),
    "block": _block,
    "unblock": lambda tx, task, p: verbs.unblock(tx, task),
    "update": lambda tx, task, p: verbs.update(tx, task, p),
    "fail": lambda tx, task, p: verbs.fail(tx, task, error=p.get("error")),
    "cancel": lambda tx, task, p: verbs.cancel(tx, task, reason=p.get("reason")),
    "delete": lambda tx, task, p: verbs.delete(tx, task),
    "add_dependency": lambda tx, task, p: dependencies.link(tx, task, _target(p)),
    "remove_dependency": lambda tx, task, p: dependencies.unlink(tx, task, _target(p)),
}


def _log(tx: Transaction, payload: dict[str, Any]) -> None:
    options = _only(payload, "log", "type nodeId data timestamp metadata")
    data, metadata = (options.get(name) or {} for name in ("data", "metadata"))
    if not isinstance(data, dict) or not isinstance(metadata, dict):
        raise BadInput("the data and the metadata of a log action must be objects")
    if taken := sorted(metadata.keys() & (PROVENANCE | tx.metadata.keys())):
        raise BadInput(f"Hookline itself writes {', '.join(taken)} to the metadata of an event")
    node = _optional_text(options, "nodeId") or SYSTEM_NODE
    if node.startswith("R-"):
        tx.runs.find(node)
    elif node != SYSTEM_NODE:
        tx.graph.task(node)
    moment = _optional_text(options, "timestamp")
    tx.append(
        check_type(str(options.get("type", ""))),
        node,
        data,
        metadata=metadata,
        timestamp=parse(moment) if moment else None,
    )


def _execute_workflow(tx: Transaction, payload: dict[str, Any], start_flow: StartFlow) -> None:
    options = _only(payload, "execute_workflow", "workflowId context")
    context = options.get("context") or {}
    if not isinstance(context, dict):
        raise BadInput("the context of execute_workflow must be an object")
    start_flow(tx, verbs.check_text("workflowId", options.get("workflowId")), context)


_PERFORMERS: dict[str, Callable[[Transaction, dict[str, Any]], None]] = {
    "create_task": _create_task,
    "update_task": _update_task,
    "log": _log,
}


def _only(payload: dict[str, Any], action: str, names: str) -> dict[str, Any]:
    unknown = sorted(set(payload) - set(names.split()))
    if unknown:
        raise BadInput(
            f"{action} does not know {', '.join(map(repr, unknown))}", help=f"it takes {names}"
        )
    return payload


def _optional_text(options: dict[str, Any], name: str) -> str | None:
    value = options.get(name)
    return None if value is None else verbs.check_text(name, value)
