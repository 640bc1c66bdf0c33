"""What a notification says: its messages, as text for people and as data for programs.

It is composed once and kept, so that every attempt says the same. Text from agents and repositories
is one line without control characters, however it is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from hookline.domain.announcements import OVER
from hookline.domain.events import SYSTEM_NODE, Event
from hookline.domain.payloads import AttentionNeeded
from hookline.domain.text.display import untrusted
from hookline.domain.text.terminal import plural

if TYPE_CHECKING:
    from hookline.hooks.registry import Hook

# How many messages are told one by one; the others are counted.
SHOWN = 20
LONGEST = 500


class Message(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, kw_only=True):
    """One thing that a person is told: an event of the log; `link` is where the page shows it."""

    seq: int
    at: str
    type: str
    kind: str = ""
    id: str = ""
    since: str = ""
    message: str = ""
    command: str = ""
    outcome: str | None = None
    reason: str | None = None
    link: str = ""


class Content(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, kw_only=True):
    """A notification: `key` is the same for every attempt, `at` is when it was composed."""

    key: str
    at: str
    project: str
    messages: tuple[Message, ...]
    is_sample: bool = False

    @property
    def title(self) -> str:
        """What it is about, in a few words."""
        count = len(self.messages)
        about = plural(count, "message") if count != 1 else _about(self.messages[0])
        return untrusted(f"{self.project}: {'test, ' if self.is_sample else ''}{about}", 120)

    @property
    def text(self) -> str:
        """Every message with what to type, in lines."""
        lines = [line for each in self.messages[:SHOWN] for line in _lines(each)]
        left = len(self.messages) - SHOWN
        return "\n".join([*lines, *([f"and {left} more: hookline attention"] if left > 0 else [])])


def message_of(event: Event, page: str | None = None) -> Message:
    """What an event of the log tells a person; with the address of the page, where it shows it."""
    fields = {field.encode_name: field.name for field in msgspec.structs.fields(Message)}
    said: dict[str, Any] = {
        fields[name]: untrusted(value, LONGEST) if isinstance(value, str) else value
        for name, value in event.data.items()
        if name in fields
    }
    made = Message(**{**said, "seq": event.seq, "at": event.timestamp, "type": event.type})
    link = "" if page is None else f"{page.rstrip('/')}/#{_place(made)}"
    return msgspec.structs.replace(made, link=link)


# Where the page shows what waits, by its kind; everything else is in the list of what waits.
_PLACES = {
    "session": "sessions",
    "limit": "sessions",
    "task": "tasks",
    "gate": "tasks",
    "gates": "tasks",
    "merged": "tasks",
    "after_merge": "tasks",
    "run": "runs",
    "breakpoint": "runs",
    "hook": "hooks",
    "dead_call": "hooks",
}


def _place(message: Message) -> str:
    place = _PLACES.get(message.kind)
    name = message.id.partition(" ")[0] if message.kind == "breakpoint" else message.id
    return f"/{place}/{quote(name, safe='')}" if place is not None else "/attention"


def sample_for(hook: Hook, now: str) -> Event:
    """What a notification is tried with: nobody takes it for something that waits."""
    told = AttentionNeeded(
        kind="notify",
        id=hook.name,
        since=now,
        message=f"This is a test of the notification {hook.name}; nothing waits for you.",
        command="hookline attention",
        key="test",
        waits=False,
    )
    return Event(0, "test", now, hook.points[0], SYSTEM_NODE, msgspec.to_builtins(told), {})


def _about(message: Message) -> str:
    if message.type == OVER:
        return f"{message.kind} {message.id} is over"
    if message.outcome:
        return f"{message.kind} {message.id}: {message.outcome}"
    return f"{message.kind} {message.id}"


def _lines(message: Message) -> list[str]:
    """A message never begins with a sign that a program could take for an option."""
    said = message.message.lstrip("-") or f"{message.kind} {message.id}"
    return [said, *(f"  {each}" for each in (message.command, message.link) if each)]
