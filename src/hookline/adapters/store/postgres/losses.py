"""Whether a server still has what it has acknowledged: a failover or a backup can take it back."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from hookline import typed
from hookline.immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.adapters.store.statements import StatementRows, StatementRunner
    from hookline.domain.events import Event

# A server that is promoted, or restored to a moment, begins another timeline.
TIMELINE = b"('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint"
_SYSTEM = "SELECT system_identifier::text FROM pg_control_system()"
_NAMELESS = "SELECT ''"
_EVENT = "SELECT timestamp, type, node_id FROM events WHERE seq = ?"
_SET = "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2"
_BITS = 32


class Position(msgspec.Struct, frozen=True):
    """How far someone has seen the log of a store, and the last event in it that they wrote."""

    store: str = ""
    system: str = ""
    timeline: int = 0
    epoch: int = 0
    seq: int = 0
    own: int = 0
    mark: tuple[str, ...] = ()


class TurnState(Immutable):
    """What a transaction finds as it begins; `behind` is why the project waits for a person.

    `connection` tells one connection from those before it.
    """

    timeline: int
    epoch: int
    behind: str | None
    seq: int
    connection: int

    @property
    def first_token(self) -> int:
        """Tokens are greater than all from before a failover, even if those are forgotten."""
        return (self.epoch + max(self.timeline - 1, 0)) << _BITS


class LossWatch:
    """Compares what a server has with what was seen; `keep` remembers that for the next process."""

    def __init__(
        self,
        before: Position | None = None,
        keep: Callable[[Position], None] = lambda position: None,
    ) -> None:
        self.seen = self._kept = before or Position()
        # Whether the server says which it is; not all that are like PostgreSQL do.
        self.is_named = True
        # Whether a person repairs what was lost: nothing else may be written meanwhile.
        self.is_repaired = False
        self._write = keep
        self._proved: tuple[int, int] | None = None

    @property
    def timeline(self) -> bytes:
        """What a server is asked for its timeline."""
        return TIMELINE if self.is_named else b"0::bigint"

    def watch(self, store_id: str) -> None:
        """What was seen of another store says nothing about this one."""
        if self.seen.store != store_id:
            self.seen = self._kept = Position(store_id)

    def is_proved_by(self, connection: int) -> bool:
        """Whether what was seen was found on this connection."""
        return self._proved is not None and self._proved[0] == connection

    def ask(self, rows: StatementRunner) -> None:
        """Ask ahead, in one go with other questions, what a new connection has to prove."""
        self._proof(rows)

    def _proof(self, rows: StatementRunner) -> tuple[StatementRows, StatementRows]:
        system = rows.execute(_SYSTEM if self.is_named else _NAMELESS)
        return system, rows.execute(_EVENT, (self.seen.own,))

    def find_loss(self, rows: StatementRunner, found: TurnState, place: str) -> str | None:
        """What the server has lost, None if nothing; it is noted where all can see it."""
        if found.behind is not None:
            return found.behind
        if found.epoch > self.seen.epoch:  # what was lost before is known, and repaired
            self.seen = Position(self.seen.store, epoch=found.epoch)
        here = (found.connection, found.timeline)
        if found.seq >= self.seen.seq and (self._proved == here or self._is_same(rows, found)):
            self._proved = here
            return None
        behind = f"{self.told(place, found.seq)}, now timeline {found.timeline}"
        rows.execute(_SET, ("behind", behind))
        return behind

    def told(self, place: str, seq: int) -> str:
        """That a log ends earlier than it did, or continues in another way."""
        seen = self.seen
        return (
            f"{place} has lost what it had acknowledged: its log ends at {seq}, and was seen up to"
            f" {seen.seq} on timeline {seen.timeline}"
        )

    def _is_same(self, rows: StatementRunner, found: TurnState) -> bool:
        """Whether the last event of our own is still where it was."""
        system, event = self._proof(rows)
        own = event.fetchone()
        if self.seen.own and (own is None or tuple(own) != self.seen.mark):
            return False
        (name,) = system.fetchone()
        self.seen = msgspec.structs.replace(self.seen, system=name, timeline=found.timeline)
        return True

    def kept(self, found: TurnState) -> None:
        """What a transaction had found is on the disk, as the transaction is: not before."""
        if found.seq > self.seen.seq:
            self.seen = msgspec.structs.replace(self.seen, seq=found.seq)

    def stored(self, last: Event) -> None:
        """An event of our own was acknowledged."""
        mark = (last.timestamp, last.type, last.node_id)
        self.seen = msgspec.structs.replace(self.seen, seq=last.seq, own=last.seq, mark=mark)

    def keep(self) -> None:
        """Remember what was seen."""
        if self.seen != self._kept:
            self._write(self.seen)
            self._kept = self.seen

    def repaired(self, rows: StatementRunner, found: TurnState) -> None:
        """What the server has now is what counts."""
        rows.execute(_SET, ("epoch", str(found.epoch + 1)))
        rows.execute("DELETE FROM meta WHERE key = 'behind'")
        seen = self.seen
        self.seen = Position(
            seen.store, seen.system, found.timeline, epoch=found.epoch + 1, seq=found.seq
        )


def recorded_history(seen: bytes | None, keep: Callable[[bytes], None]) -> LossWatch:
    """The history as it was kept before; what cannot be read counts for nothing."""
    before = None
    with suppress(msgspec.MsgspecError):
        before = typed.decode(seen or b"", Position)
    return LossWatch(before, lambda position: keep(msgspec.json.encode(position)))
