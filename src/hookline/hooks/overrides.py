"""Gates that a person lets a task's work pass by, on record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.hooks.names import short_name
from hookline.tasks.registrations import adopted_at

if TYPE_CHECKING:
    from hookline.domain.events import Event
    from hookline.ports.store import Transaction, View

OVERRIDDEN, STARTED = "gate_overridden", "task_started"


class Override(msgspec.Struct, frozen=True, kw_only=True):
    """A person's word that a gate has no say about a task's work as it is, and why."""

    point: str
    hook: str
    reason: str
    by: str

    @property
    def line(self) -> str:
        """For the history of the repository: all of it on one line."""
        words = " ".join(f"{short_name(self.hook)}: {self.reason} (by {self.by})".split())
        return "".join(each for each in words if each.isprintable())


def record(tx: Transaction, task_id: str, override: Override) -> None:
    """Write an override down."""
    tx.append(OVERRIDDEN, task_id, msgspec.to_builtins(override))


def of_event(event: Event) -> Override:
    """The override that an event tells of."""
    return msgspec.convert(event.data, Override)


def overrides(view: View, task_id: str) -> list[Override]:
    """Those that count: whoever begins to work on a task again is judged by all of its gates."""
    found: list[Override] = []
    types, after = (OVERRIDDEN, STARTED), adopted_at(view.log)
    for event in view.log.events(node_id=task_id, types=types, after=after):
        found = [*found, of_event(event)] if event.type == OVERRIDDEN else []
    return found
