"""What is seen of a session: records go in, finished lines and the open step come out.

Knows nothing of terminals, files or threads; `live_screen` draws, `live_watch` reads.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from hookline.surfaces.cli import live_records as records
from hookline.surfaces.cli.live_lines import (
    MIXED,
    OPEN,
    Line,
    Piece,
    Step,
    below,
    hook_lines,
    money,
    plain,
    step_line,
    tokens_of,
    turn_lines,
    validation_lines,
)
from hookline.surfaces.cli.live_text import clean, one_line, plural, thousands, took

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME = 0.1
KEPT_LINES = 20
KEPT_OF_LINE = 2000
# A limit that is not about money or time is shown once so little of it is left.
NEAR = 0.25


class Activity:
    """The last lines of what an agent says and does in its turn."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._open = ""

    def say(self, text: str, *, kept: bool = True) -> list[str]:
        """Text, in pieces of any size; the lines that it ends, kept or for others to show."""
        *ended, rest = (self._open + text).split("\n")
        self._open = rest[-KEPT_OF_LINE:]
        ended = [clean(_last_written(line)) for line in ended]
        ended = [line for line in ended if line.strip()]
        if kept:
            self._lines.extend(ended)
        return ended

    def last(self, count: int) -> list[str]:
        """The last lines, the one that is being written included."""
        unfinished = clean(_last_written(self._open))
        lines = [*self._lines, unfinished] if unfinished.strip() else [*self._lines]
        return lines[-count:] if count > 0 else []


def _last_written(line: str) -> str:
    """What is left of a line that was written over, as progress bars do it."""
    return line.rstrip("\r").rpartition("\r")[2]


class Live:
    """A session as those who watch it know it."""

    def __init__(self, *, verbose: int = 0) -> None:
        self.verbose = verbose
        self.ended: records.Ended | None = None
        self.is_paused = False
        self.spent_before = (0.0, 0)  # in the iterations that are over
        self._spent = (0.0, 0)
        self._step: Step | None = None
        self._since = 0.0
        self._activity = Activity()
        self._iteration: records.Iteration | None = None
        self._waits: tuple[str, float] | None = None

    def take(self, line: dict[str, Any]) -> list[Line]:
        """Hear a line of the feed; the lines that are finished by it."""
        read = records.read(line)
        if read is None:
            return []
        record, moment = read
        return list(_HEAR[type(record)](self, record, moment))

    # What is heard

    def _started(self, record: records.Started, moment: float) -> Iterator[Line]:
        yield from header(record.name, record.run_id, record.goal, record.agent, record.task_id)

    def _iteration_begins(self, record: records.Iteration, moment: float) -> Iterator[Line]:
        self._iteration, self._spent, self._waits = record, (0.0, 0), None
        allowed = next((u.allowed for u in record.countdown if u.name == "iterations"), None)
        of = f"/{allowed:g}" if allowed is not None else ""
        yield plain(f"iteration {record.iteration}{of}", "bold")

    def _iteration_ended(self, record: records.IterationEnded, moment: float) -> Iterator[Line]:
        usd, tokens = self.spent_before
        self.spent_before = (usd + max(record.usd, 0.0), tokens + max(record.tokens, 0))
        self._spent = (0.0, 0)
        yield from self._cut(moment)
        if self.verbose and record.decision:
            by = f" (by {one_line(record.hook)})" if record.hook else ""
            yield plain(f"  = {one_line(record.decision)}{by}", "dim")

    def _hook_begins(self, record: records.HookStarted, moment: float) -> Iterator[Line]:
        yield from self._open(Step(record.point, record.hook), moment)

    def _hook_ended(self, record: records.HookEnded, moment: float) -> Iterator[Line]:
        if self._step == Step(record.point, record.hook):
            self._step = None
        yield from hook_lines(record, self.verbose)

    def _turn_begins(self, record: records.TurnStarted, moment: float) -> Iterator[Line]:
        yield from self._open(Step("agent", record.step), moment)
        self._waits = None

    def _turn_ended(self, record: records.TurnEnded, moment: float) -> Iterator[Line]:
        usd, tokens = self._spent
        usage = record.usage
        self._spent = (usd + max(usage.usd or 0.0, 0.0), tokens + tokens_of(usage))
        duration = moment - self._since if self._step == Step("agent", record.step) else 0.0
        self._step = None
        yield from turn_lines(record, duration, self.verbose)

    def _said(self, record: records.Said, moment: float) -> Iterator[Line]:
        if record.type == "text":
            yield from self._ended(record.text, shown=self.verbose > 1)
        elif record.type == "tool":
            yield from self._noted(one_line(f"> {record.name} {record.detail}"))
        elif record.type == "tool_result" and not record.ok:
            yield from self._noted(one_line(f"✗ {record.name}"))
        elif record.type == "notice":
            yield step_line(MIXED, Step("agent", "notice"), None, [one_line(record.text)])

    def _noted(self, line: str) -> Iterator[Line]:
        yield from self._ended("\n", shown=self.verbose > 1)
        yield from self._ended(f"{line}\n", shown=self.verbose > 0)

    def _ended(self, text: str, *, shown: bool) -> Iterator[Line]:
        """The lines that a text ends, if they are shown for good: then they are not open too."""
        ended = self._activity.say(text, kept=not shown)
        yield from (below(line) for line in ended if shown)

    def _validation_begins(
        self, record: records.ValidationStarted, moment: float
    ) -> Iterator[Line]:
        yield from self._open(Step("validation", plural(len(record.rules), "rule")), moment)

    def _validation_ended(self, record: records.ValidationEnded, moment: float) -> Iterator[Line]:
        duration = moment - self._since
        self._step = None
        yield from validation_lines(record.results, duration)

    def _waiting(self, record: records.Waits, moment: float) -> Iterator[Line]:
        self._step = None
        self._waits = (one_line(record.reason), moment + record.seconds)
        told = f"waits {took(record.seconds)}: {one_line(record.reason)}"
        yield Line((Piece("  "), Piece("…", "yellow"), Piece(f" {told}")))

    def _paused(self, record: records.Paused, moment: float) -> Iterator[Line]:
        self.is_paused, self._step = True, None
        yield from ()  # who runs or watches it says so, with how to go on

    def _resumed(self, record: records.Resumed, moment: float) -> Iterator[Line]:
        if self.is_paused:
            yield plain("paused, and went on", "yellow")
        self.is_paused, self.ended, self._waits = False, None, None

    def _over(self, record: records.Ended, moment: float) -> Iterator[Line]:
        yield from self._cut(moment)
        self.ended, self._waits = record, None

    def _cut(self, moment: float) -> Iterator[Line]:
        """One step follows another, so one that is still open was cut short."""
        if self._step is not None:
            yield step_line(MIXED, self._step, moment - self._since, ["cut short"])
        self._step = None

    def _open(self, step: Step, moment: float) -> Iterator[Line]:
        yield from self._cut(moment)
        self._step, self._since = step, moment
        self._activity = Activity()

    # What is open

    def region(self, now: float, rows: int) -> list[Line]:
        """The open step with what happens in it, and the line of figures; at most so many rows."""
        if self.ended is not None or self.is_paused or rows < 1:
            return []
        lines = [self._status(now)]
        if self._step is not None and rows > 1:
            shown = self._activity.last(rows - 2) if self._step.point == "agent" else []
            open_step = step_line(OPEN, self._step, max(now - self._since, 0.0))
            told = [Line(below(each).pieces) for each in shown]
            lines = [open_step, *told, *lines]
        return lines

    def _status(self, now: float) -> Line:
        figures = [*self._mood(now), *self._tasks(), *self._limits()]
        frame = SPINNER[int(now / FRAME) % len(SPINNER)]
        return Line((Piece(frame, "cyan"), Piece(" " + " · ".join(figures or ["at work"]))))

    def _mood(self, now: float) -> Iterator[str]:
        if self._waits is not None:
            reason, until = self._waits
            yield f"{reason}: again in {took(until - now)}"

    def _tasks(self) -> Iterator[str]:
        tasks = self._iteration.tasks if self._iteration is not None else None
        if tasks is not None and tasks.all:
            yield f"tasks {tasks.done}/{tasks.all}"
            yield f"ready {tasks.ready}"

    def _limits(self) -> Iterator[str]:
        used = {u.name: u for u in self._iteration.countdown} if self._iteration else {}
        usd, tokens = (a + b for a, b in zip(self.spent_before, self._spent, strict=True))
        budget, most = used.pop("usd", None), used.pop("tokens", None)
        if usd or budget is not None:
            yield money(usd) + (f"/{money(budget.allowed)}" if budget else "")
        if tokens or most is not None:
            limit = f"/{thousands(int(most.allowed))}" if most is not None else ""
            yield f"{thousands(int(tokens))}{limit} tokens"
        for name, each in used.items():
            left = each.allowed - each.used
            if name != "iterations" and each.used and left <= max(1, each.allowed * NEAR):
                yield f"{name.replace('_', ' ')} {each.used:.0f}/{each.allowed:g}"


def header(name: str, run_id: str, goal: str, agent: str | None, task_id: str) -> Iterator[Line]:
    """Which session this is."""
    who = " · ".join(one_line(part) for part in (run_id, agent, task_id) if part)
    yield Line((Piece(one_line(name), "bold"), Piece(f"  {who}", "dim")))
    yield Line((Piece("  "), Piece(one_line(goal))))


_HEAR: dict[type, Callable[[Live, Any, float], Iterator[Line]]] = {
    records.Started: Live._started,
    records.Iteration: Live._iteration_begins,
    records.IterationEnded: Live._iteration_ended,
    records.HookStarted: Live._hook_begins,
    records.HookEnded: Live._hook_ended,
    records.TurnStarted: Live._turn_begins,
    records.TurnEnded: Live._turn_ended,
    records.Said: Live._said,
    records.ValidationStarted: Live._validation_begins,
    records.ValidationEnded: Live._validation_ended,
    records.Waits: Live._waiting,
    records.Paused: Live._paused,
    records.Resumed: Live._resumed,
    records.Ended: Live._over,
}
