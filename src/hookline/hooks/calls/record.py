"""The one recorder of hook calls: every call, of whichever rule, is made and written down here.

What differs is where the rows come from. Rows of events wait in the store (`delivery`), those of
points that are fired come as their hooks are called (`firing`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hookline.domain.records import DEAD, OK, SKIPPED, Delivery, Outcome, Reply
from hookline.hooks.frames import rule_of
from hookline.hooks.rules import RULES, failed
from hookline.points import REACT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.domain.events import Event
    from hookline.domain.records import Action
    from hookline.hooks.calls.call import Caller
    from hookline.hooks.frames import Frame
    from hookline.hooks.registry import Hook
    from hookline.ports.processes import ProcessGroup
    from hookline.ports.store import Store, Transaction

MAX_BYTES = 64 * 1024


class Entry(Protocol):
    """The place of one call in the record."""

    def begin(self) -> Callable[[ProcessGroup], None] | None:
        """The hook is about to run; what is told of its process, if anybody wants to know."""
        ...

    def end(self, outcome: Outcome) -> None:
        """How it went."""
        ...


class Recorder:
    """Calls hooks and sees to it that each call is recorded."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        *,
        change: Callable[..., Any],
        suspended: Callable[[str], str | None],
    ) -> None:
        self.store = store
        self.caller = caller
        self.change = change
        self._suspended = suspended

    async def call(self, hook: Hook, frame: Frame, entry: Entry) -> Outcome:
        """Call a hook, unless something holds it back, and record how that went."""
        reason = self._suspended(hook.name) or hook.metadata.get("gone")
        if reason:
            outcome = Outcome(hook.name, SKIPPED, None, reason)
        else:
            outcome = await self.caller.call(hook, frame, entry.begin)
        entry.end(outcome)
        return outcome

    def enabled(self, hooks: Sequence[Hook]) -> list[Hook]:
        """Those that are not switched off."""
        if not hooks:
            return []
        with self.store.read() as view:
            switches = view.calls.switches()
        return [hook for hook in hooks if switches.get(hook.name, hook.enabled)]


def write(tx: Transaction, event: Event, row: Delivery, outcome: Outcome) -> None:
    """Write down how a call went, with the actions that it asks for and the error that it met."""
    actions = wanted_actions(row, outcome)
    if row.id:
        tx.calls.finish(row, outcome, actions)
    else:
        tx.calls.add(outcome.ends(row), actions)
    if failed(outcome) or outcome.status == DEAD:
        report_hook_error(tx, event, row.hook, outcome.error or "failed")


def wanted_actions(row: Delivery, outcome: Outcome) -> Sequence[Action]:
    """What a hook asks for; only reactions ask for something."""
    reacted = outcome.status == OK and rule_of(row.point) == REACT
    return outcome.answer if reacted else ()


def new_row(event: Event, hook: Hook, point: str, position: int, **more: Any) -> Delivery:
    """The row of a call that is still to be made; `more` are fields that are known already."""
    about = (0, event.seq, hook.name, point, hook.kind, hook.origin, "pending", position)
    return Delivery(*about, condition=hook.when, **more)


def stored_outcome(row: Delivery, hook: Hook) -> Outcome:
    """The outcome of a call that an earlier process made and recorded."""
    answer: Any = row.answer
    if row.status == OK:
        answer = RULES[rule_of(row.point)].read(Reply(row.answer), hook)
    return Outcome(row.hook, row.status, answer, row.error, row.duration_us or 0, row.exit_code)


def report_hook_error(tx: Transaction, event: Event, hook: str, error: str) -> None:
    """A `hook_error` event for the one at which the hook failed."""
    original = msgspec.to_builtins(event)
    original["data"] = bounded(event.data)
    data = {"hookName": hook, "error": error, "originalEvent": original}
    tx.append("hook_error", event.node_id, data, metadata=caused_by(tx.metadata, event, hook))


def caused_by(base: dict[str, Any], event: Event, hook: str) -> dict[str, Any]:
    """The metadata of events that a hook causes."""
    depth = event.metadata.get("depth", 0) + 1
    inherited = {k: v for k, v in event.metadata.items() if k in ("session", "run", "iteration")}
    return {**base, **inherited, "cause": event.seq, "hook": hook, "depth": depth}


def bounded(value: dict[str, Any]) -> dict[str, Any]:
    """Data that another event quotes, or how large it is."""
    size = len(msgspec.json.encode(value))
    return value if size <= MAX_BYTES else {"truncated": True, "bytes": size}
