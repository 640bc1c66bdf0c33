"""When what waits in the outbox is sent: by quiet hours, the digest, and after failed attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.domain.schedule import Release, Schedule
    from hookline.hooks.registry import Hook
    from hookline.ports.notices import Notification
    from hookline.ports.store import View


class OutboxRules(NamedTuple):
    """What decides about notifications besides the store.

    `find` is the hook of a name. `held_back` is why a hook may not run now, or may come back.
    `is_free` says whether the holder of a lease is gone. `page` is the address of the
    page, to which messages link.
    """

    schedule: Schedule
    find: Callable[[str], Hook | None]
    held_back: Callable[[str], str | None]
    is_free: Callable[[str, float], bool]
    page: str | None = None


def next_due(
    view: View, rules: OutboxRules, now: float, *, leaving: bool = False
) -> Notification | str | None:
    """A notification to send now, or a hook to compose one for.

    A hook sends one after the other. Whoever is `leaving` waits for no digest.
    """
    if view.outbox.is_empty():
        return None
    busy = set[str]()
    for each in view.outbox.open():
        busy.add(each.hook)
        is_free = each.owner is None or rules.is_free(each.owner, each.lease_until)
        is_time = rules.schedule.release(now, next_try=each.next_try).at <= now
        if is_free and is_time and rules.held_back(each.hook) is None:
            return each
    for hook in view.outbox.hooks():
        last = None if leaving else view.outbox.last(hook)
        is_time = rules.schedule.release(now, last=last).at <= now
        if hook not in busy and is_time and rules.held_back(hook) is None:
            return hook
    return None


def release_of(view: View, rules: OutboxRules, hook: str, now: float) -> Release:
    """When the next notification of a hook is sent, and what it waits for."""
    for each in view.outbox.open():
        if each.hook == hook:
            return rules.schedule.release(now, next_try=each.next_try)
    return rules.schedule.release(now, last=view.outbox.last(hook))
