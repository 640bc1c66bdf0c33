"""What people were told and what they are still to be told: announcements, and the outbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.announcements import Announced


class Announcements(Protocol):
    """What is announced and not over, and the events after which nobody has looked yet."""

    def all(self) -> dict[str, Announced]:
        """What is announced, by its key."""

    def is_about(self, node_id: str) -> bool:
        """Whether something is announced about a task or a run."""

    def unseen(self) -> list[int]:
        """Events after which nobody has looked whether something waits for a person."""

    def look_at(self, seq: int) -> None:
        """Have someone look after an event."""

    def seen(self, seqs: Sequence[int]) -> None:
        """Someone has looked after these events."""

    def dead_holders(self) -> str:
        """The runs whose processes were gone when someone last looked."""

    def keep_dead_holders(self, runs: str) -> None:
        """Keep the runs whose processes are gone."""


class Notification(msgspec.Struct, frozen=True):
    """A notification that is composed: every attempt sends the same content under the same key."""

    id: int
    hook: str
    content: str
    failures: int
    next_try: float
    error: str | None
    owner: str | None
    lease_until: float
    token: int


class Outbox(Protocol):
    """Calls that wait to be sent, and the notifications that carry them."""

    def put(self, delivery_id: int, hook: str) -> None:
        """A call that the next notification of its hook carries."""

    def hooks(self) -> list[str]:
        """Hooks with calls that no notification carries yet."""

    def waiting(self, hook: str, limit: int) -> list[int]:
        """Calls of a hook that no notification carries yet, the oldest first."""

    def last(self, hook: str) -> float | None:
        """When the newest notification of a hook was composed."""

    def compose(self, number: int, hook: str, at: float, content: str, calls: list[int]) -> None:
        """Keep a notification, under a number that was never used, with the calls it carries."""

    def open(self) -> list[Notification]:
        """Notifications that are not sent yet, the oldest first."""

    def find(self, number: int) -> Notification | None:
        """A notification that is not sent yet."""

    def carried(self, number: int) -> list[int]:
        """The calls that a notification carries."""

    def take(self, number: int, owner: str, token: int, lease_until: float) -> None:
        """Lease a notification: nobody else sends it meanwhile."""

    def again(self, number: int, next_try: float, error: str) -> None:
        """An attempt failed; it is free to be sent again at a moment."""

    def let_go(self, number: int) -> None:
        """Someone else may send it."""

    def close(self, number: int) -> None:
        """It was sent or given up: it carries nothing any more."""

    def is_empty(self) -> bool:
        """Whether nothing waits to be sent."""

    def clear(self) -> None:
        """Send nothing of what waits."""
