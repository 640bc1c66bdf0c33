"""Where a span belongs: one trace for each iteration, and for each call outside runs."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from hookline.domain.events import FIRED, Event
from hookline.domain.runs.model import Run, UnknownRun, run_of_place
from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.telemetry import SpanPlace, span_id, trace_id
from hookline.immutable import Immutable
from hookline.tasks.task_runs import beginning

if TYPE_CHECKING:
    from hookline.ports.store import View

# A trace begins with each of these events of its run, and ends with the next of those.
STARTS = ("run_started", "run_chapter", "session_resumed")
TERMINAL = ("run_completed", "run_failed", "run_cancelled")
ENDS = ("run_chapter", "session_ended", "session_paused", "session_resumed", *TERMINAL)
_CHAPTERS = ("run_started", "run_chapter")
# How many hooks and runs, each caused by the next, are followed.
MOST_LINKS = 16


class Around(Immutable):
    """What surrounds a span: its trace, its parent, and the run that it belongs to."""

    trace: str
    parent: str | None
    run: Run | None = None


class Border(Immutable):
    """An event between two parts of a run, and the chapter that follows it."""

    seq: int
    type: str
    timestamp: str
    chapter: int


class Borders:
    """The borders of runs, read from the log as it grows."""

    def __init__(self) -> None:
        self._found: dict[str, list[Border]] = {}

    def of(self, view: View, run_id: str) -> list[Border]:
        """The borders of a run, the first one first."""
        found = self._found.setdefault(run_id, [])
        seq, chapter = (found[-1].seq, found[-1].chapter) if found else (0, 0)
        types = sorted({*STARTS, *ENDS})
        for event in view.log.stream(node_id=run_id, types=types, after=seq):
            chapter += event.type in _CHAPTERS
            found.append(Border(event.seq, event.type, event.timestamp, chapter))
        return found


class Places:
    """Finds where spans belong, at one moment of the store."""

    def __init__(self, view: View, store_id: str, borders: Borders) -> None:
        self._view, self.store_id = view, store_id
        self._runs: dict[str, Run | None] = {}
        self._known, self._borders = borders, dict[str, list[Border]]()
        self._sessions: dict[str, str | None] = {}

    @cached_property
    def short_id(self) -> str:
        """What tells the sessions of this store from those of others."""
        return self.store_id.replace("-", "")[:8]

    def run(self, identifier: object) -> Run | None:
        """A run, unless the name is made up."""
        if not isinstance(identifier, str) or identifier[:2] != "R-":
            return None
        if identifier not in self._runs:
            try:
                self._runs[identifier] = self._view.runs.find(identifier)
            except UnknownRun:  # a program can put any name in its environment
                self._runs[identifier] = None
        return self._runs[identifier]

    def borders(self, run: Run, upto: int) -> list[Border]:
        """The borders of a run up to a position in the log, the first one first."""
        if run.run_id not in self._borders:
            self._borders[run.run_id] = self._known.of(self._view, run.run_id)
        found = self._borders[run.run_id]
        return found[: bisect_right(found, upto, key=lambda each: each.seq)]

    def start(self, run: Run, seq: int) -> Border:
        """With what the part of a run began that a position in the log is in."""
        return next(each for each in reversed(self.borders(run, seq)) if each.type in STARTS)

    def began(self, run: Run, seq: int) -> Border | None:
        """With what the part of a run began that an event ends; None if it had ended before."""
        for each in reversed(self.borders(run, seq - 1)):
            if each.type in STARTS:
                return each
            if each.type in ENDS:
                return None
        return None

    def root(self, run: Run, seq: int) -> SpanPlace:
        """The first span of the part of a run that a position in the log is in."""
        began = self.start(run, seq).seq
        about = (self.store_id, run.run_id, began)
        return SpanPlace(trace_id(*about), span_id(*about))

    def call(self, event_seq: int, hook: str) -> str:
        """The span of a hook's call."""
        return span_id(self.store_id, "call", event_seq, hook)

    def in_run(self, run: Run, seq: int) -> Around:
        """What is directly below the first span of a trace."""
        root = self.root(run, seq)
        return Around(root.trace, root.span, run)

    def of_call(self, event: Event, hook: str) -> Around:
        """Where a call at an event belongs: below the hook or the run that caused the event.

        What neither caused is the first of its trace.
        """
        parent, found, first = None, event, hook
        for _ in range(MOST_LINKS):
            cause = self._cause(found) if self._fired_by(found) is None else None
            if cause is None:
                break
            first = found.metadata["hook"]
            parent, found = parent or self.call(cause.seq, first), cause
        run = self._fired_by(found) or self.run(found.metadata.get("run"))
        if run is None:
            return Around(trace_id(self.store_id, "call", found.seq, first), parent)
        root = self.root(run, found.seq)
        return Around(root.trace, parent or root.span, run)

    def _fired_by(self, event: Event) -> Run | None:
        """The run that an event is of: it names it, or a point that the run fired."""
        fired = run_of_place(str(event.data.get("name"))) if event.type == FIRED else None
        return self.run(fired or event.node_id)

    def _cause(self, event: Event) -> Event | None:
        """The event at which the hook was called that caused this one."""
        seq, hook = event.metadata.get("cause"), event.metadata.get("hook")
        if not isinstance(seq, int) or not isinstance(hook, str) or seq >= event.seq:
            return None
        if all(call.hook != hook for call in self._view.calls.deliveries(seq)):
            return None
        return self._view.log.find(seq)

    def session(self, run: Run | None) -> str | None:
        """The id of the session that a run belongs to: its own, or that of what started it."""
        if run is None:
            return None
        if run.run_id not in self._sessions:
            self._sessions[run.run_id] = self._session(run)
        return self._sessions[run.run_id]

    def _session(self, run: Run) -> str | None:
        found: Run | None = run
        for _ in range(MOST_LINKS):
            if found is None:
                return None
            if found.flow == SESSION:
                return f"{self.short_id}-{found.run_id}"
            found = self.run(beginning(self._view, found.run_id).metadata.get("run"))
        return None
