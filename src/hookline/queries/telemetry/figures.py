"""The figures of the record: what was done, what it cost, how hooks fared."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Literal

from hookline.domain.events import TURN
from hookline.domain.hooks.names import outside_name
from hookline.domain.hooks.records import SKIPPED
from hookline.domain.telemetry import Figure, Series
from hookline.domain.timestamps import seconds
from hookline.sessions.spending import recorded_cost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.app import App
    from hookline.domain.events import Event
    from hookline.domain.sessions.turns import TurnCost
    from hookline.domain.text.cleaning import Cleaner
    from hookline.ports.store import View

_COUNTED = (TURN, "session_iteration_ended", "session_ended")
Labels = tuple[tuple[str, str], ...]
Sums = defaultdict[Labels, float]


class FigureReader:
    """Reads the figures of one store; the log only as far as it grew since the last time."""

    def __init__(self, cleaner: Cleaner) -> None:
        self._cleaner = cleaner
        self._place = 0
        self._turns: dict[str, TurnCost] = {}
        self._iterations: Sums = defaultdict(float)
        self._sessions: Sums = defaultdict(float)

    def is_ahead(self, view: View) -> bool:
        """Whether it has read events that the store does not have, or has lost."""
        return self._place > view.log.last()

    def since(self, view: View) -> float:
        """Since when counters count: the moment of the first event."""
        first = view.log.events(limit=1)
        return seconds(first[0].timestamp) if first else view.time()

    def read(self, view: View) -> list[Figure]:
        """All figures as they are now."""
        for event in view.log.stream(types=_COUNTED, after=self._place):
            self._place = event.seq
            self._note(event)
        return [*self._work(view), *self._spent(), *self._hooks(view)]

    def _note(self, event: Event) -> None:
        if event.type == TURN:
            if (cost := recorded_cost(event)) is not None:
                self._turns[cost.turn] = cost
        elif event.type == "session_ended":
            self._sessions[self._labels(outcome=event.data.get("outcome"))] += 1
        else:
            self._iterations[self._labels(status=event.data.get("status"))] += 1

    def _work(self, view: View) -> list[Figure]:
        tasks: Mapping[Labels, float]
        tasks = {(("state", name),): n for name, n in view.exports.task_states().items()}
        return [
            _figure(
                "hookline.tasks",
                "gauge",
                "{task}",
                "Tasks by state.",
                tasks,
            ),
            _figure(
                "hookline.iterations",
                "counter",
                "{iteration}",
                "Iterations of sessions by how they ended.",
                self._iterations,
            ),
            _figure(
                "hookline.sessions.ended",
                "counter",
                "{ending}",
                "How often sessions ended; one that is resumed ends again.",
                self._sessions,
            ),
        ]

    def _spent(self) -> list[Figure]:
        turns: Sums = defaultdict(float)
        tokens: Sums = defaultdict(float)
        usd: Sums = defaultdict(float)
        spent: Sums = defaultdict(float)
        for cost in self._turns.values():
            who = {"agent": cost.agent, "model": cost.model or "", "role": cost.role}
            same = self._labels(**who)
            turns[same] += 1
            tokens[(*same, ("type", "input"))] += cost.input_tokens
            tokens[(*same, ("type", "output"))] += cost.output_tokens
            usd[same] += cost.usd or 0.0
            spent[same] += cost.seconds
        return [
            _figure("hookline.turns", "counter", "{turn}", "Turns of agents.", turns),
            _figure("hookline.tokens", "counter", "{token}", "Tokens of agents.", tokens),
            _figure("hookline.cost", "counter", "USD", "What agents cost, as far as known.", usd),
            _figure("hookline.turns.time", "counter", "s", "How long agents worked.", spent),
        ]

    def _hooks(self, view: View) -> list[Figure]:
        calls: Sums = defaultdict(float)
        spent: Sums = defaultdict(float)
        for hook, kind, point, status, count, took in view.exports.call_counts():
            same = self._labels(hook=outside_name(hook, kind), point=point)
            if status != SKIPPED:
                calls[(*same, ("status", status))] += count
            spent[same] += took / 1_000_000
        return [
            _figure("hookline.hook.calls", "counter", "{call}", "Calls of hooks.", calls),
            _figure("hookline.hook.time", "counter", "s", "How long hooks ran.", spent),
        ]

    def _labels(self, **values: object) -> Labels:
        return tuple((name, self._cleaner.text(str(value))) for name, value in values.items())


class KeptFigures:
    """The figures of a project for who asks again and again, as a server does, in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: tuple[str, str | None] | None = None
        self._reader: FigureReader

    def read(self, app: App) -> list[Figure]:
        """The figures of the project's store as they are now."""
        of = app.store.id, app.settings.config_digest if app.settings is not None else None
        with self._lock, app.read() as view:
            if of != self._of or self._reader.is_ahead(view):
                self._of, self._reader = of, FigureReader(app.cleaner)
            return self._reader.read(view)


def _figure(
    name: str,
    kind: Literal["counter", "gauge"],
    unit: str,
    help: str,
    found: Mapping[Labels, float],
) -> Figure:
    series = [Series(value, dict(labels)) for labels, value in sorted(found.items())]
    return Figure(name=name, kind=kind, unit=unit, help=help, series=series)
