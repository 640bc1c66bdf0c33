"""Hooks that are held back, fail, or were given up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.hooks.names import plain_names, short_name
from hookline.domain.hooks.records import OK
from hookline.errors import BROKEN
from hookline.points import GATE, NOTIFYING, rule_of
from hookline.project import CONFIG_NAME, user_folder
from hookline.queries.waiting.item import Item, sentence
from hookline.wiring.project.configured import GONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.app import App
    from hookline.domain.hooks.records import Delivery
    from hookline.ports.store import View

# The point of an action that failed.
ACTION = "action_error"


def held_back_hooks(app: App) -> Iterator[Item]:
    """Hooks that may not run now: their configuration is lost, broken or not trusted."""
    if app.settings is not None and app.settings.is_gone:
        from hookline.wiring.project.removed import (
            put_back,  # reads configuration, which is rare here
        )

        command = put_back(app.project, user_folder(app.environ))
        yield Item("hooks", CONFIG_NAME, None, sentence(GONE), command, "hooks gone")
    if app.settings is not None and app.settings.has_errors and not app.suspended:
        yield Item("hooks", CONFIG_NAME, None, sentence(BROKEN), "hookline check", "hooks broken")
    for reason in sorted(set(app.suspended.values())):
        held = plain_names(name for name, why in app.suspended.items() if why == reason)
        names = ", ".join(sorted(held.values()))
        command = "hookline check" if reason == BROKEN else "hookline trust"
        yield Item("hooks", names, None, sentence(reason), command, f"hooks {reason}")


def failing_hooks(app: App, view: View) -> Iterator[Item]:
    """Hooks whose last call failed."""
    switches = view.switches.all()
    for row in app.scopes.failing(view.calls):
        # The entry of the task says that its gate failed.
        if switches.get(row.hook, True) and rule_of(row.point) != GATE:
            message = f"it failed at event {row.event_seq} ({row.point}): {row.error}"
            what = "action" if row.point == ACTION else "call"
            yield _call("hook", view, row, message, f"hook {row.hook} {what}")


def dead_calls(view: View) -> Iterator[Item]:
    """Calls that were given up after several attempts."""
    for row in view.calls.dead():
        if row.point in NOTIFYING and _went_well_later(view, row):
            continue  # whoever was not told then is told now
        why = row.error or "its process ended each time"
        message = f"it was given up at event {row.event_seq} ({row.point}): {why}"
        yield _call("dead call", view, row, message, f"dead {row.event_seq} {row.hook}")


def _went_well_later(view: View, row: Delivery) -> bool:
    later = (each for each in view.calls.calls_of(row.hook) if each.event_seq > row.event_seq)
    return any(each.status == OK for each in later)


def _call(kind: str, view: View, row: Delivery, message: str, key: str) -> Item:
    event = view.log.find(row.event_seq)
    since = row.started_at or (event.timestamp if event else None)  # some were never started
    command = f"hookline why {row.event_seq}"
    is_told = event is not None and event.type in NOTIFYING
    name, seq = short_name(row.hook), row.event_seq
    return Item(kind, name, since, sentence(message), command, key, seq=seq, is_told=is_told)
