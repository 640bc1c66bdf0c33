"""What sends notifications, and what decides when."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from hookline.domain.timestamps import seconds
from hookline.hooks.calls.release import OutboxRules, next_due
from hookline.wiring.project.configured import page_address, schedule
from hookline.wiring.running.hosts import is_free

if TYPE_CHECKING:
    from hookline.app import App


async def send_due(app: App, *, leaving: bool = False) -> int:
    """Send every notification that is due; a process that is leaving waits for no digest."""
    if not app.delivers:
        return 0
    # It starts programs and talks to servers, and mostly there is nothing to send.
    from hookline.hooks.calls.outbox import Sender
    from hookline.wiring.calling.calls import recorder

    name = os.path.basename(app.project.root)
    sender = Sender(recorder(app), outbox_rules(app), owner=app.owner, project=name)
    return await sender.send(leaving=leaving)


def is_anything_due(app: App) -> bool:
    """Whether this process should send a notification now."""
    if not app.delivers:
        return False
    with app.read() as view:
        if view.outbox.is_empty():
            return False
        return next_due(view, outbox_rules(app), seconds(app.store.now())) is not None


def outbox_rules(app: App) -> OutboxRules:
    """What decides when notifications of a project are sent."""
    free, held = partial(is_free, app.owner, app.store.time), partial(held_back, app)
    times, page = schedule(app.settings, app.trust), page_address(app.settings, app.trust)
    return OutboxRules(times, app.scopes.find, held, free, page)


def held_back(app: App, hook: str) -> str | None:
    """Why a hook may not run now, so that what it is to tell waits; None if it may, or is gone."""
    if hook in app.suspended:
        return app.suspended[hook]
    is_lost = app.settings is not None and (app.settings.is_gone or app.settings.has_errors)
    return "its configuration is gone" if is_lost and app.scopes.find(hook) is None else None
