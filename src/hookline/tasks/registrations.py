"""Stop hooks that an agent registers for a task: in the log, so that a restart keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.events import ADOPTED, Event
from hookline.errors import BadInput, UnknownHook
from hookline.tasks.log_ids import find_event, name_of

if TYPE_CHECKING:
    from hookline.ports.store import EventLog, Transaction

REGISTERED, CLEARED = "hook_registered", "hooks_cleared"
PREFIX = "HOOK"
MAX_HOOKS = 20
MAX_BYTES = 16 * 1024


class Registration(msgspec.Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    """What an agent registered: a stop hook by its type, or its own command or function.

    A chain is made of `hooks`, which are registered with it and have no ids.
    """

    hook_type: str
    enabled: bool = True
    metadata: dict[str, Any] = {}
    arguments: Any = None
    command: str | None = None
    python: str | None = None
    when: str | None = None
    timeout: float | None = None
    hooks: tuple[Registration, ...] = ()
    id: str = ""


def register(tx: Transaction, task: str, new: Registration) -> Registration:
    """Register a stop hook for a task, after those that it has."""
    node = tx.graph.task(task).id
    if len(registered(tx.log, node)) >= MAX_HOOKS:
        help = "call hook_clear, then register those that you need"
        raise BadInput(f"{node} has {MAX_HOOKS} hooks already", help=help)
    data = msgspec.to_builtins(new)
    if len(msgspec.json.encode(data)) > MAX_BYTES:
        raise BadInput(f"a registration has at most {MAX_BYTES:,} bytes")
    return _registration(tx.append(REGISTERED, node, data))


def clear(tx: Transaction, task: str) -> int:
    """Remove the hooks that were registered for a task; how many there were."""
    node = tx.graph.task(task).id
    count = len(registered(tx.log, node))
    if count:
        tx.append(CLEARED, node, {"hooksCleared": count})
    return count


def adopted_at(log: EventLog) -> int:
    """Where in the log this user adopted the store: earlier registrations by others are void."""
    return max((event.seq for event in log.events(types=(ADOPTED,))), default=0)


def registered(log: EventLog, task: str) -> list[Registration]:
    """The hooks of a task in the order of their registration, those that are off included.

    What was registered in a store before its user adopted it is void.
    """
    found: list[Registration] = []
    void = adopted_at(log)
    for event in log.events(after=void, node_id=task, types=(REGISTERED, CLEARED)):
        if event.type == CLEARED:
            found.clear()
        else:
            found.append(_registration(event))
    return found


def type_of(log: EventLog, hook: str) -> str | None:
    """The type of the hook that was registered under this id; None if there is none such."""
    try:
        return str(find_event(log, hook, PREFIX, REGISTERED, UnknownHook).data["hookType"])
    except UnknownHook:
        return None


def _registration(event: Event) -> Registration:
    read = typed.convert(event.data, Registration)
    return msgspec.structs.replace(read, id=name_of(PREFIX, event))
