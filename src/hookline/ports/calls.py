"""The record of hook calls: what must run, who runs it, how it went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from hookline.domain.hooks.records import Action, Delivery, Outcome, StoredAction


class Calls(Protocol):
    """The record of hook calls."""

    def freeze(self, event_seq: int, payload: dict[str, Any]) -> None:
        """Keep what the hooks of an event will see."""

    def add(self, delivery: Delivery, actions: Sequence[Action] = ()) -> None:
        """A call that has to be made, or one that is over already."""

    def add_numbered(self, delivery: Delivery) -> int:
        """A call whose row is asked for by its number, which a server has to say first."""

    def give_up(self, event_seq: int, error: str) -> list[str]:
        """Make no call of an event that still waits, without reading it; the hooks of those."""

    def last_failures(self, hook: str) -> list[Delivery]:
        """The newest call and action of a hook that failed, unless a later one went well."""

    def waiting(self, node_id: str | None = None) -> int:
        """How many calls still have to be made, for all nodes or for one."""

    def start(self, delivery_id: int, now: str) -> None:
        """An attempt begins."""

    def take_back(self, delivery_id: int) -> None:
        """The attempt that has begun does not count."""

    def set_child(self, delivery_id: int, child: str) -> None:
        """The process group that works on a call, so that a successor can end it."""

    def finish(self, delivery: Delivery, outcome: Outcome, actions: Sequence[Action] = ()) -> None:
        """What the hook said and how it went, with the actions it asks for."""

    def complain(self, event_seq: int, hook: str, point: str, error: str) -> None:
        """Report something about a hook that is not a call of it and has no row."""

    def open_actions(self, event_seq: int) -> list[StoredAction]:
        """Actions that still have to be carried out, in the order of their hooks."""

    def finish_action(
        self, event_seq: int, hook: str, position: int, *, error: str | None = None
    ) -> bool:
        """Mark an action as carried out, or as failed; False if it was no longer open."""

    def abandon(self, reason: str) -> int:
        """Make no call and carry out no action that still waits; how many calls those were."""

    def payload(self, event_seq: int) -> dict[str, Any] | None:
        """What the hooks of an event saw."""

    def find(self, delivery_id: int) -> Delivery | None:
        """One call by the number of its row."""

    def deliveries(self, event_seq: int) -> list[Delivery]:
        """The calls of one event, in order."""

    def calls_of(self, hook: str, limit: int = 20) -> list[Delivery]:
        """The newest calls of one hook, newest first."""

    def actions(self, event_seq: int, hook: str) -> list[StoredAction]:
        """Every action that a hook asked for at an event, with what became of it."""

    def refreeze(self, event_seq: int, payload: dict[str, Any]) -> None:
        """Add to what the hooks of an event see, before the first of them is called."""

    def dead(self) -> list[Delivery]:
        """Calls that were given up after too many attempts."""

    def lost(self) -> tuple[int, int]:
        """How many calls and actions are open, of events that nobody will look at again."""

    def statistics(self) -> list[tuple[str, str, int, list[int]]]:
        """(hook, status, count, durations of the newest thousand) for each hook and status."""

    def slow_events(self, limit_us: int, but: Sequence[str]) -> int:
        """At how many events the hooks together took longer than the limit; `but` these points."""


class Dispatches(Protocol):
    """Events whose hooks still have to be called, and who calls them."""

    def open(self, event_seq: int, node_id: str, owner: str | None) -> None:
        """Some hooks of this event have to run after the commit, perhaps in one process only."""

    def claim_next(
        self,
        owner: str,
        token: int,
        lease_until: float,
        is_free: Callable[[str, float], bool],
        *,
        node_id: str | None = None,
        passed: Collection[int] = (),
    ) -> int | None:
        """Lease the oldest dispatch that nobody alive works on; its event's position in the log.

        With `node_id` only the oldest of that node is looked at; those in `passed` are left alone.
        """

    def holder(self, node_id: str) -> tuple[str | None, float]:
        """Who works on the oldest dispatch of a node, and until when."""

    def holds(self, event_seq: int, token: int) -> bool:
        """Whether a lease on a dispatch is still the current one."""

    def extend(self, event_seq: int, lease_until: float) -> None:
        """Hold a dispatch for longer."""

    def close(self, event_seq: int, token: int) -> None:
        """All hooks of the event ran and all their actions were carried out."""

    def stumble(self, event_seq: int, token: int) -> int:
        """The attempt to see to an event broke off; how many did, or 0 if it is not ours."""

    def after(self, event_seq: int) -> list[tuple[int, str, int | None]]:
        """(event, node, the event that caused it) of what waits after a position in the log."""

    def held_nodes(self) -> list[str]:
        """The nodes with an event that someone works on, or did."""

    def any_open(self, node_id: str | None = None) -> bool:
        """Whether an event still waits for its hooks, of all nodes or of one."""

    def leases(self) -> list[tuple[int, str | None, float]]:
        """(event, owner, until) of every event that waits, in order."""


class Switches(Protocol):
    """Hooks switched on or off by hand."""

    def all(self) -> dict[str, bool]:
        """Hooks switched on or off by hand."""

    def set(self, hook: str, enabled: bool) -> None:
        """Switch a hook on or off by hand."""

    def clear(self) -> tuple[str, ...]:
        """Let every hook be on or off as the configuration says; those that were switched."""
