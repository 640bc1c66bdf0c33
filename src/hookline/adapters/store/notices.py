"""The tables of announcements, and of notifications that wait to be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.adapters.store.statements import Table, load
from hookline.domain.announcements import OVER, Announced
from hookline.ports.notices import Notification

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.events import Event

SQL = load("notices.sql")


class AnnouncementTable(Table):
    """What is announced and not over: a projection of the log; and what nobody has looked at."""

    def apply(self, event: Event) -> None:
        """Bring the table up to date with an event."""
        key = event.data["key"]
        if event.type == OVER:
            self._run(SQL["announce_end"], (key,))
        elif event.data["waits"]:
            self._run(SQL["announce"], (key, event.seq, event.node_id))

    def all(self) -> dict[str, Announced]:
        rows = self._run(SQL["announced"])
        return {key: Announced(seq, node_id) for key, seq, node_id in rows}

    def is_about(self, node_id: str) -> bool:
        return self._run(SQL["announced_about"], (node_id,)).fetchone() is not None

    def unseen(self) -> list[int]:
        return [seq for (seq,) in self._run(SQL["unseen"])]

    def look_at(self, seq: int) -> None:
        self._run(SQL["look_at"], (seq,))

    def seen(self, seqs: Sequence[int]) -> None:
        for seq in seqs:
            self._run(SQL["seen"], (seq,))

    def dead_holders(self) -> str:
        row = self._run(SQL["dead_holders"]).fetchone()
        return str(row[0]) if row else ""

    def keep_dead_holders(self, runs: str) -> None:
        self._run(SQL["keep_dead_holders"], (runs,))


class OutboxTable(Table):
    """Calls that wait to be sent, and the notifications that carry them."""

    def put(self, delivery_id: int, hook: str) -> None:
        self._run(SQL["put"], (delivery_id, hook))

    def hooks(self) -> list[str]:
        return [hook for (hook,) in self._run(SQL["hooks_waiting"])]

    def waiting(self, hook: str, limit: int) -> list[int]:
        return [number for (number,) in self._run(SQL["calls_waiting"], (hook, limit))]

    def last(self, hook: str) -> float | None:
        row = self._run(SQL["last_notification"], (hook,)).fetchone()
        return float(row[0]) if row else None

    def compose(self, number: int, hook: str, at: float, content: str, calls: list[int]) -> None:
        self._run(SQL["compose"], (number, hook, at, content))
        for each in calls:
            self._run(SQL["carry"], (number, each))

    def open(self) -> list[Notification]:
        rows = self._run(f"{SQL['open_notifications']} ORDER BY id")
        return [Notification(*row) for row in rows]

    def find(self, number: int) -> Notification | None:
        row = self._run(f"{SQL['open_notifications']} AND id = ?", (number,)).fetchone()
        return Notification(*row) if row else None

    def carried(self, number: int) -> list[int]:
        return [delivery for (delivery,) in self._run(SQL["carried"], (number,))]

    def take(self, number: int, owner: str, token: int, lease_until: float) -> None:
        self._run(SQL["take_notification"], (owner, token, lease_until, number))

    def again(self, number: int, next_try: float, error: str) -> None:
        self._run(SQL["send_again"], (next_try, error, number))

    def let_go(self, number: int) -> None:
        self._run(SQL["let_go_of_notification"], (number,))

    def close(self, number: int) -> None:
        self._run(SQL["empty_notification"], (number,))
        self._run(SQL["close_notification"], (number,))
        self._run(SQL["forget_notifications"], (number,))

    def is_empty(self) -> bool:
        return self._run(SQL["any_waiting"]).fetchone() is None

    def clear(self) -> None:
        self._run(SQL["clear_outbox"])
        self._run(SQL["clear_notifications"])
