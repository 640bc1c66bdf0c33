"""The turns of agents, and the tools that they used, as the record and the feeds have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.events import TURN
from hookline.domain.runs.model import run_of_place
from hookline.domain.sessions.tools import UsedTool, note_tool
from hookline.immutable import Immutable
from hookline.sessions.spending import recorded_cost

if TYPE_CHECKING:
    from hookline.domain.sessions.turns import TurnCost
    from hookline.ports.feeds import FeedReader, FeedRecord, Feeds
    from hookline.ports.store import View


class RecordedTurn(Immutable):
    """A turn by its last record, which was written at `at`; `first` is the place of its first."""

    first: int
    seq: int
    at: str
    cost: TurnCost


class TurnIndex:
    """Turns by what asked for them, read from the log as it grows."""

    def __init__(self) -> None:
        self._from: int | None = None
        self._upto = 0
        self._found: dict[tuple[str, str | None], dict[str, RecordedTurn]] = {}

    def asked_by(
        self, view: View, call: str, hook: str | None, after: int, upto: int | None = None
    ) -> list[RecordedTurn]:
        """The turns of a call, the first one first, by what was recorded between two places."""
        self._read(view, after)
        found = self._found.get((call, hook), {}).values()
        return sorted(
            (each for each in found if upto is None or each.first < upto), key=lambda t: t.first
        )

    def forget(self, call: str, hook: str | None) -> None:
        """These turns were sent."""
        self._found.pop((call, hook), None)

    def _read(self, view: View, after: int) -> None:
        if self._from is None or after < self._from:
            self._from = self._upto = after
            self._found.clear()
        for event in view.log.stream(types=(TURN,), after=self._upto):
            self._upto = event.seq
            if (cost := recorded_cost(event)) is None:
                continue
            turns = self._found.setdefault((cost.call, cost.hook), {})
            known = turns.get(cost.turn)
            first = known.first if known is not None else event.seq
            turns[cost.turn] = RecordedTurn(first, event.seq, event.timestamp, cost)


class FedTurn(msgspec.Struct):
    """A turn as the feed of its run has it."""

    tools: list[UsedTool] = []
    is_over: bool = False


class FedTurns:
    """The tools of turns, from the feeds of runs as they grow."""

    def __init__(self, feeds: Feeds) -> None:
        self._feeds = feeds
        self._readers: dict[str, FeedReader] = {}
        self._found: dict[str, dict[str, list[FedTurn]]] = {}
        self._now: dict[str, FedTurn] = {}

    def of(self, call: str) -> list[FedTurn]:
        """The turns at a place of a run, in order; none if its feed is gone."""
        run_id = run_of_place(call)
        if run_id is None:
            return []
        if run_id not in self._readers:
            self._readers[run_id] = self._feeds.reader(run_id)
        for record in self._readers[run_id].new():
            self._read(run_id, record)
        return self._found.get(run_id, {}).get(call, [])

    def forget(self, call: str) -> None:
        """These turns were sent, and so were those before them."""
        found = self._found.get(run_of_place(call) or "", {})
        if call in found:
            for each in list(found):
                del found[each]
                if each == call:
                    break

    def _read(self, run_id: str, record: FeedRecord) -> None:
        kind, data = record["type"], record["data"]
        if kind == "session_started":  # what a removed store wrote is cut off before it
            self._found.pop(run_id, None)
        elif kind == "turn_started" and isinstance(call := data.get("call"), str):
            turn = self._now[run_id] = FedTurn()
            self._found.setdefault(run_id, {}).setdefault(call, []).append(turn)
        elif (now := self._now.get(run_id)) is None:
            return
        elif kind == "turn_ended":
            now.is_over = True
            del self._now[run_id]
        elif kind == "agent":
            note_tool(now.tools, record.get("timestamp"), data)
