"""What several of the page's answers are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, dataclass_transform

import msgspec

from hookline.domain.hooks.names import short_name
from hookline.domain.runs.model import run_of_place
from hookline.domain.text.display import untrusted

if TYPE_CHECKING:
    from hookline.domain.events import Event
    from hookline.domain.hooks.records import Delivery, StoredAction
    from hookline.ports.store import View

# So much of a text comes with an answer; its `path` has all of it.
MAX_TEXT = 16 * 1024
# The same where all of it cannot be asked for.
MAX_WHOLE = 256 * 1024
MAX_LINE = 300


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Shown(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A part of an answer. All of its fields are always there; `seq` is a position in the log."""


class Text(Shown):
    """The begin of a text, and how many bytes it has; if it is `cut`, `path` has all of it."""

    text: str
    bytes: int
    cut: bool = False
    path: str | None = None


class Way(Shown):
    """What a person can do now: POST to `path` of the API, under a button called `label`."""

    verb: str
    label: str
    path: str


class EventRow(Shown):
    """An event in a line."""

    seq: int
    at: str
    type: str
    node: str
    by: str | None
    session: str | None
    run: str | None
    text: str


class ActionRow(Shown):
    """An action that a hook asked for, and what became of it."""

    type: str
    status: str
    error: str | None
    payload: Any


class CallRow(Shown):
    """A call of a hook: what it said, and why it ran or did not."""

    id: int
    seq: int
    hook: str
    name: str
    point: str
    kind: str
    origin: str
    status: str
    attempts: int
    started_at: str | None
    ms: float | None
    exit_code: int | None
    answer: Any
    error: str | None
    stdout: Text | None
    stderr: Text | None
    condition: str | None
    condition_values: Any
    actions: list[ActionRow]


# What an event is about, in the first of these that it has.
_ABOUT = (
    *("message", "goal", "reason", "error", "question", "comment", "summary", "result"),
    *("name", "point", "hook", "step", "effectId", "status", "toId"),
)


def event_row(event: Event) -> EventRow:
    """An event in a line."""
    data, told = event.data, event.metadata
    about = next((data[name] for name in _ABOUT if isinstance(data.get(name), str | int)), "")
    return EventRow(
        seq=event.seq,
        at=event.timestamp,
        type=event.type,
        node=event.node_id,
        by=optional_text(told.get("triggeredBy")),
        session=optional_text(told.get("session")),
        run=run_of_event(event),
        text=untrusted(str(about), MAX_LINE),
    )


def run_of_event(event: Event) -> str | None:
    """The run that an event is about, or that it happened in."""
    for place in (event.node_id, event.data.get("run"), event.data.get("name")):
        if found := run_of_place(str(place)):
            return found
    return optional_text(event.metadata.get("run"))


def newest_seq(view: View, node: str) -> int | None:
    """The newest event about a task or a run."""
    event = view.log.newest(node)
    return event.seq if event is not None else None


def optional_text(value: Any) -> str | None:
    """A value that should be a text, if it is one."""
    return value if isinstance(value, str) else None


def text(whole: str, path: str | None = None) -> Text:
    """A text as it is, or its begin; `path` is where all of it is, if it can be asked for."""
    limit = MAX_TEXT if path is not None else MAX_WHOLE
    size = len(whole.encode("utf-8", "replace"))
    is_cut = len(whole) > limit
    return Text(
        text=whole[:limit] if is_cut else whole,
        bytes=size,
        cut=is_cut,
        path=path if is_cut else None,
    )


def printed(whole: str | None, path: str | None) -> Text | None:
    """What a program printed; None for nothing."""
    return text(whole, path) if whole else None


def call_row(view: View, call: Delivery, *, whole: bool = False) -> CallRow:
    """A call of a hook with its actions; `whole` where nothing more can be asked for."""
    path = f"/api/calls/{call.id}"
    return CallRow(
        id=call.id,
        seq=call.event_seq,
        hook=call.hook,
        name=short_name(call.hook),
        point=call.point,
        kind=call.kind,
        origin=call.origin,
        status=call.status,
        attempts=call.attempts,
        started_at=call.started_at,
        ms=None if call.duration_us is None else call.duration_us / 1000,
        exit_code=call.exit_code,
        answer=call.answer,
        error=call.error,
        stdout=printed(call.stdout, None if whole else f"{path}/stdout"),
        stderr=printed(call.stderr, None if whole else f"{path}/stderr"),
        condition=call.condition,
        condition_values=call.condition_values,
        actions=[_action(each) for each in view.calls.actions(call.event_seq, call.hook)],
    )


def _action(stored: StoredAction) -> ActionRow:
    action = stored.action
    return ActionRow(
        type=action.type, status=stored.status, error=stored.error, payload=action.payload
    )


def clipped(value: Any) -> Any:
    """A value as it is; of a large one, the begin of its JSON."""
    encoded = msgspec.json.encode(value)
    if len(encoded) <= MAX_TEXT:
        return value
    return {"cut": encoded[:MAX_TEXT].decode("utf-8", "replace"), "bytes": len(encoded)}
