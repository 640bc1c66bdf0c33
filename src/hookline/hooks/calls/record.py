"""The one recorder of hook calls: every call, of whichever rule, is made here.

What differs is where its row comes from. Rows of events wait in the store (`delivery`), those of
points that are fired come as their hooks are called (`firing`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hookline.domain.hooks.records import FAILED, OK, SKIPPED, Delivery, Outcome, Reply
from hookline.hooks.calls.call import HookCaller, described, fitting
from hookline.hooks.rules import RULES
from hookline.points import GATE, GUARD, rule_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.hooks.frames import Frame
    from hookline.hooks.registry import Hook
    from hookline.ports.processes import ProcessGroup
    from hookline.ports.store import Store


class CallEntry(Protocol):
    """The place of one call in the record."""

    def begin(self) -> Callable[[ProcessGroup], None] | None:
        """Called before the hook runs; returns a callback for its process group, or None."""

    def end(self, outcome: Outcome) -> None:
        """How it went."""


class Recorder:
    """Calls hooks, and records each call."""

    def __init__(
        self,
        store: Store,
        caller: HookCaller,
        *,
        change: Callable[..., Any],
        suspended: Callable[[str], str | None],
    ) -> None:
        self.store, self.caller, self.change = store, caller, change
        self._suspended = suspended

    async def call(self, hook: Hook, frame: Frame, entry: CallEntry) -> Outcome:
        """Call a hook, unless something holds it back, and record how that went."""
        reason = self._suspended(hook.name) or hook.metadata.get("gone")
        if reason:
            # A gate that cannot be called keeps the work out.
            status = FAILED if frame.rule.name in (GATE, GUARD) else SKIPPED
            outcome = Outcome(hook.name, status, None, reason)
        else:
            outcome = _storable(await self.caller.call(hook, frame, entry.begin))
        entry.end(outcome)
        return outcome

    def enabled(self, hooks: Sequence[Hook]) -> list[Hook]:
        """Those that are not switched off."""
        if not hooks:
            return []
        with self.store.read() as view:
            switches = view.switches.all()
        return [hook for hook in hooks if switches.get(hook.name, hook.enabled)]


def _storable(outcome: Outcome) -> Outcome:
    """An outcome that can be stored; one hook's answer must not stop the others."""
    try:
        msgspec.json.encode(outcome.answer)
    except (TypeError, ValueError, RecursionError) as problem:
        error = f"its answer cannot be stored: {described(problem)}"
        return msgspec.structs.replace(outcome, status=FAILED, answer=None, error=error)
    if outcome.error is None:
        return outcome
    return msgspec.structs.replace(outcome, error=fitting(outcome.error))


def stored_outcome(row: Delivery, hook: Hook) -> Outcome:
    """The outcome of a call that an earlier process made and recorded."""
    answer: Any = row.answer
    if row.status == OK:
        answer = RULES[rule_of(row.point)].read(Reply(row.answer), hook)
    return Outcome(row.hook, row.status, answer, row.error, row.duration_us or 0, row.exit_code)
