"""The rows of hook calls: what is recorded about each, and what it causes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.events import INSIDE, Event
from hookline.domain.hooks.records import DEAD, FAILED, TIMEOUT, Action, Delivery, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.hooks.registry import Hook
    from hookline.ports.processes import ProcessGroup
    from hookline.ports.store import Transaction

MAX_BYTES = 64 * 1024


def write(
    tx: Transaction, event: Event, row: Delivery, outcome: Outcome, actions: Sequence[Action] = ()
) -> None:
    """Record how a call went, with the actions that it asks for and its error."""
    if row.id:
        tx.calls.finish(row, outcome, actions)
    else:
        tx.calls.add(outcome.ends(row), actions)
    if outcome.status in (FAILED, TIMEOUT, DEAD):
        report_hook_error(tx, event, row.hook, outcome.error or "failed")


def new_row(event: Event, hook: Hook, point: str, position: int, **more: Any) -> Delivery:
    """The row of a call that is still to be made; `more` are fields that are known already."""
    about = (0, event.seq, hook.name, point, hook.kind, hook.origin, "pending", position)
    return Delivery(*about, condition=hook.when, **more)


def set_child(tx: Transaction, row: Delivery, group: ProcessGroup) -> None:
    """Record which processes a call has started, for a process that takes it over."""
    tx.calls.set_child(row.id, msgspec.json.encode(group).decode())


INHERITED = ("session", "run", "iteration", INSIDE)


def report_hook_error(tx: Transaction, event: Event, hook: str, error: str) -> None:
    """A `hook_error` event for the one at which the hook failed."""
    original = {**msgspec.to_builtins(event), "data": bounded(event.data)}
    data = {"hookName": hook, "error": error, "originalEvent": original}
    tx.append("hook_error", event.node_id, data, metadata=caused_by(tx.metadata, event, hook))


def caused_by(base: dict[str, Any], event: Event, hook: str) -> dict[str, Any]:
    """The metadata of events that a hook causes."""
    depth = event.metadata.get("depth", 0) + 1
    inherited = {k: v for k, v in event.metadata.items() if k in INHERITED}
    return {**base, **inherited, "cause": event.seq, "hook": hook, "depth": depth}


def bounded(value: dict[str, Any]) -> dict[str, Any]:
    """Data that another event quotes, or how large it is."""
    size = len(msgspec.json.encode(value))
    return value if size <= MAX_BYTES else {"truncated": True, "bytes": size}
