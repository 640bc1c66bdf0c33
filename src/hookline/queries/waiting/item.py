"""One thing that waits for a person, and the words for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.events import SYSTEM_NODE

if TYPE_CHECKING:
    from hookline.domain.tasks import Task
    from hookline.ports.store import View


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that waits for a person.

    `message` is a sentence that says why, `goal` what the work is about. `key` is the same for as
    long as it waits, and another one if it waits again. Of a session, `outcome` and `reason` say
    why it rests; `accept` is what to type instead if only a person can say that its work is
    right. Of a hook, `is_told` says that it failed where people are told: they are
    not told about that in the same way. Of a call, `seq` is the event that it was made at.
    """

    kind: str
    id: str
    since: str | None
    message: str
    command: str
    key: str
    node: str = SYSTEM_NODE
    goal: str | None = None
    outcome: str | None = None
    reason: str | None = None
    accept: str | None = None
    seq: int | None = None
    is_told: bool = msgspec.field(default=False, name="isTold")


def sentence(text: str) -> str:
    """A text that begins and ends like a sentence; a name at its begin stays as it is."""
    first = text.partition(" ")[0]
    is_word = first.isalpha() and first.islower()
    text = text[:1].upper() + text[1:] if is_word else text
    return text if text.endswith((".", "!", "?", "…", ":")) else f"{text}."


def clause(text: str) -> str:
    """A sentence as a part of another one."""
    first = text.partition(" ")[0]
    is_word = (first.isalpha() and first[1:].islower()) or first in ("A", "I")
    return (text[:1].lower() + text[1:] if is_word else text).removesuffix(".")


def since_state(view: View, task: Task) -> str | None:
    """Since when a task is in its state."""
    event = view.log.latest(task.id, (f"task_{task.state}",))
    return event.timestamp if event else None


def goal_of(view: View, task_id: str) -> str | None:
    """What a task is about; None if it is gone."""
    task = view.graph.find(task_id)
    return task.goal if task is not None else None
