"""What several of the page's answers are made of."""

from __future__ import annotations

from typing import Any, dataclass_transform

import msgspec

# So much of a text comes with an answer; its `path` has all of it.
MAX_TEXT = 16 * 1024
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
