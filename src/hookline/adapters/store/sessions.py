"""The tables of sessions: which there are, and the output that waits for their agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.adapters.store.queries import load
from hookline.domain.runs import run_id, run_number
from hookline.domain.sessions import HeldOutput

if TYPE_CHECKING:
    import sqlite3

SQL = load("sessions.sql")


class SessionTables:
    """Sessions and their held output in one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._run = connection.execute

    def live(self) -> list[str]:
        """The runs of sessions that are not over, the oldest first."""
        return [run_id(number) for (number,) in self._run(SQL["live_sessions"])]

    def newest(self, limit: int = 100) -> list[str]:
        """The runs of all sessions, the newest first."""
        return [run_id(number) for (number,) in self._run(SQL["all_sessions"], (limit,))]

    def hold(self, identifier: str, held: HeldOutput) -> None:
        """Keep a hook's output for a session's next prompt; the same one is kept once."""
        values = (held.event_seq, held.hook, held.point, held.text)
        self._run(SQL["hold"], (run_number(identifier), *values))

    def held(self, identifier: str) -> list[HeldOutput]:
        """What a session's agent has not been told yet, in the order in which it came."""
        rows = self._run(SQL["held"], (run_number(identifier),))
        return [HeldOutput(seq, hook, point, text) for _, seq, hook, point, text in rows]

    def drain(self, identifier: str) -> list[HeldOutput]:
        """Take all that is held: from now on it stands in a prompt."""
        found = self.held(identifier)
        if found:
            self._run(SQL["mark_delivered"], (run_number(identifier),))
        return found
