"""Why a notification is not sent yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.timestamps import iso, seconds
from hookline.hooks.calls.release import release_of
from hookline.wiring.calling.notifications import outbox_rules
from hookline.wiring.running.hosts import is_held

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.domain.hooks.records import Delivery
    from hookline.ports.store import View

# Whoever comes next: everything else that it waited for is over.
NEXT = "a process", "the next command that writes, or one that advances runs, sends it"


def waits_for(app: App, view: View, call: Delivery) -> tuple[str, str]:
    """What a call waits for that its hook has not sent yet, and until when."""
    rules, now = outbox_rules(app), seconds(app.store.now())
    if (reason := rules.held_back(call.hook)) is not None:
        return "you", f"its hook is held back: {reason}"
    # A hook sends one after the other.
    ahead = next((each for each in view.outbox.open() if each.hook == call.hook), None)
    if ahead is not None and is_held(view, ahead.owner, ahead.lease_until):
        return "its channel", "it is being sent"
    found = release_of(view, rules, call.hook, now)
    why = ahead.error if ahead is not None else None
    failed = f"; the last attempt failed: {why}" if why else ""
    if found.at <= now:
        return NEXT[0], f"{NEXT[1]}{failed}"
    return found.why, f"until {iso(found.at)}{failed}"
