"""Notes: what an agent learnt, carried from one iteration and one session to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from hookline.domain.events import SYSTEM_NODE, Event
from hookline.errors import BadInput
from hookline.tasks.log_ids import name_of
from hookline.tasks.verbs import check_text

if TYPE_CHECKING:
    from hookline.ports.store import EventLog, Transaction

Kind = Literal["learning", "stuck", "tip", "decision"]
KINDS: tuple[str, ...] = get_args(Kind)
ADDED = "note_added"
MAX_NOTE = 8 * 1024


class Note(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """One note, and the task it belongs to, if any."""

    id: str
    kind: str
    text: str
    task_id: str | None
    created_at: str
    created_by: str | None = None


def add(tx: Transaction, kind: str, text: str, *, task: str | None = None) -> Note:
    """Add a note, for one task or for all."""
    if kind not in KINDS:
        raise BadInput(
            f"{kind[:40]!r} is not a kind of note", help=f"use one of {', '.join(KINDS)}"
        )
    if len(check_text("the note", text).encode()) > MAX_NOTE:
        help = "keep a note short; write the rest to a file and name the file"
        raise BadInput(f"the note has more than {MAX_NOTE:,} bytes", help=help)
    node = SYSTEM_NODE if task is None else tx.graph.task(task).id
    return note_of(tx.append(ADDED, node, {"kind": kind, "text": text}))


def listed(
    log: EventLog, *, task: str | None = None, kind: str | None = None, limit: int = 100
) -> list[Note]:
    """The newest notes, oldest first: of a task together with those for all, or every one."""
    events = log.events(types=(ADDED,))
    nodes = None if task is None else (task, SYSTEM_NODE)
    found = [
        event
        for event in events
        if (nodes is None or event.node_id in nodes) and kind in (None, event.data["kind"])
    ]
    return [note_of(event) for event in found[max(0, len(found) - limit) :]]


def note_of(event: Event) -> Note:
    """The note of an event."""
    return Note(
        id=name_of("N", event),
        kind=event.data["kind"],
        text=event.data["text"],
        task_id=None if event.node_id == SYSTEM_NODE else event.node_id,
        created_at=event.timestamp,
        created_by=event.metadata.get("triggeredBy"),
    )
