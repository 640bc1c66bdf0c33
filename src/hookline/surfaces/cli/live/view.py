"""What is seen of a session: records go in, finished lines and the open step come out.

Knows nothing of terminals, files or threads; `screen` draws, `watch` reads.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from hookline.domain.hooks.names import shown_hook
from hookline.domain.sessions.promises import without_promises
from hookline.domain.text.terminal import clean, one_line, plural, thousands, took
from hookline.surfaces.cli.live import lines, records
from hookline.surfaces.cli.live.lines import Piece, ShownStep, ViewLine, below, plain, step_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hookline.ports.feeds import FeedRecord

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME = 0.1
KEPT_LINES = 20
KEPT_OF_LINE = 2000
# Among so many lines the agent's last words are looked for.
LAST_WORDS = 5
# A limit that is not about lines.money or time is shown once so little of it is left.
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

    def __init__(self, *, verbose: int = 0, skips: bool = False) -> None:
        self.verbose = verbose
        self._shows_skips = skips or verbose > 0
        self.ended: records.Ended | None = None
        self.is_paused = False
        self.spent_before = (0.0, 0)  # in the iterations that are over
        self._spent = (0.0, 0)
        self._step: ShownStep | None = None
        self._since = 0.0
        self._activity = Activity()
        self._iteration: records.IterationStarted | None = None
        self._waits: tuple[str, float] | None = None
        # The last line that the agent said in its turn, and how many hooks this iteration skipped.
        self._last_words = ""
        self._skipped = 0
        # Whether the work has passed its checks since the agent last had its turn.
        self._is_checked = False

    def take(self, line: FeedRecord) -> list[ViewLine]:
        """Hear a line of the feed; the lines that are finished by it."""
        read = records.read(line)
        if read is None:
            return []
        hear: Callable[[Any, float], Iterator[ViewLine]] = getattr(self, f"_{line['type']}")
        return list(hear(*read))

    # What is heard, each by the method that is called as the type of its record

    def _session_started(self, record: records.Started, moment: float) -> Iterator[ViewLine]:
        yield from header(record.name, record.run_id, record.goal, record.agent, record.task_id)

    def _session_iteration(
        self, record: records.IterationStarted, moment: float
    ) -> Iterator[ViewLine]:
        self._iteration, self._spent, self._waits = record, (0.0, 0), None
        allowed = next((u.allowed for u in record.countdown if u.name == "iterations"), None)
        of = f"/{allowed:g}" if allowed is not None else ""
        yield plain(f"iteration {record.iteration}{of}", "bold")

    def _session_iteration_ended(
        self, record: records.IterationEnded, moment: float
    ) -> Iterator[ViewLine]:
        usd, tokens = self.spent_before
        self.spent_before = (usd + max(record.usd, 0.0), tokens + max(record.tokens, 0))
        self._spent = (0.0, 0)
        yield from self._cut(moment)
        if self._skipped:
            told = f"{plural(self._skipped, 'hook')} skipped; -v says why"
            yield ViewLine((Piece("  "), Piece(*lines.SKIPPED), Piece(f" {told}", "dim")))
            self._skipped = 0
        if self.verbose and record.decision:
            by = f" (by {shown_hook(record.hook)})" if record.hook else ""
            yield plain(f"  = {one_line(record.decision)}{by}", "dim")

    def _hook_started(self, record: records.HookStarted, moment: float) -> Iterator[ViewLine]:
        yield from self._open(ShownStep(record.point, record.hook), moment)

    def _hook_ended(self, record: records.HookEnded, moment: float) -> Iterator[ViewLine]:
        if self._step == ShownStep(record.point, record.hook):
            self._step = None
        if record.status == "skipped" and not self._shows_skips:
            self._skipped += 1
            return
        yield from lines.hook_lines(record, self.verbose, is_checked=self._is_checked)

    def _turn_started(self, record: records.TurnStarted, moment: float) -> Iterator[ViewLine]:
        yield from self._open(ShownStep("agent", record.step), moment)
        self._waits, self._is_checked = None, False

    def _turn_ended(self, record: records.TurnEnded, moment: float) -> Iterator[ViewLine]:
        usd, tokens = self._spent
        usage = record.usage
        self._spent = (usd + max(usage.usd or 0.0, 0.0), tokens + lines.tokens_of(usage))
        duration = moment - self._since if self._step == ShownStep("agent", record.step) else 0.0
        self._step = None
        yield from lines.turn_lines(record, duration, self.verbose)
        if record.error is None and self.verbose < 2 and self._last_words:
            yield below(self._last_words)
        self._last_words = ""

    def _agent(self, record: records.Said, moment: float) -> Iterator[ViewLine]:
        if record.type == "text":
            yield from self._ended(record.text, shown=self.verbose > 1)
            said = self._activity.last(LAST_WORDS)
            # What was said before a promise says more than the promise.
            telling = [words for line in said if (words := without_promises(line).strip())]
            self._last_words = next(iter(reversed(telling or said)), "")
        elif record.type == "tool":
            yield from self._noted(one_line(f"> {record.name} {record.detail}"))
        elif record.type == "tool_result" and not record.ok:
            yield from self._noted(one_line(f"✗ {record.name}"))
        elif record.type == "notice":
            yield step_line(
                lines.MIXED, ShownStep("agent", "notice"), None, [one_line(record.text)]
            )

    def _noted(self, line: str) -> Iterator[ViewLine]:
        yield from self._ended("\n", shown=self.verbose > 1)
        yield from self._ended(f"{line}\n", shown=self.verbose > 0)

    def _ended(self, text: str, *, shown: bool) -> Iterator[ViewLine]:
        """The lines that a text ends, if they are shown permanently: then they are not open too."""
        ended = self._activity.say(text, kept=not shown)
        yield from (below(line) for line in ended if shown)

    def _validation_started(
        self, record: records.ValidationStarted, moment: float
    ) -> Iterator[ViewLine]:
        if record.rules:
            step = ShownStep("validation", plural(len(record.rules), "rule"))
            yield from self._open(step, moment)

    def _validation_ended(
        self, record: records.ValidationEnded, moment: float
    ) -> Iterator[ViewLine]:
        duration = moment - self._since
        self._step = None
        self._is_checked = bool(record.results) and all(each.passed for each in record.results)
        yield from lines.validation_lines(record.results, duration)

    def _session_waits(self, record: records.Waits, moment: float) -> Iterator[ViewLine]:
        self._step = None
        reason, until = one_line(record.reason), moment + record.seconds
        self._waits = (reason, until)
        told = f"waits {took(record.seconds)}, until {lines.clock(until)}: {reason}"
        yield ViewLine((Piece("  "), Piece("…", "yellow"), Piece(f" {told}")))

    def _session_paused(self, record: records.Paused, moment: float) -> Iterator[ViewLine]:
        self.is_paused, self._step = True, None
        yield from ()  # who runs or watches it says so, with how to continue

    def _session_resumed(self, record: records.Resumed, moment: float) -> Iterator[ViewLine]:
        if self.is_paused:
            yield plain("paused, then resumed", "yellow")
        self.is_paused, self.ended, self._waits = False, None, None

    def _session_ended(self, record: records.Ended, moment: float) -> Iterator[ViewLine]:
        yield from self._cut(moment)
        self.ended, self._waits = record, None

    def _cut(self, moment: float) -> Iterator[ViewLine]:
        """One step follows another, so one that is still open was interrupted."""
        if self._step is not None:
            yield step_line(lines.MIXED, self._step, moment - self._since, ["interrupted"])
        self._step = None

    def _open(self, step: ShownStep, moment: float) -> Iterator[ViewLine]:
        yield from self._cut(moment)
        self._step, self._since = step, moment
        self._activity = Activity()

    # What is open

    def region(self, now: float, rows: int) -> list[ViewLine]:
        """The open step with what happens in it, and the line of figures; at most so many rows."""
        if self.ended is not None or self.is_paused or rows < 1:
            return []
        shown = [status_line(now, self._figures(now))]
        if self._step is not None and rows > 1:
            said = self._activity.last(rows - 2) if self._step.point == "agent" else []
            open_step = step_line(lines.OPEN, self._step, max(now - self._since, 0.0))
            shown = [open_step, *(ViewLine(below(each).pieces) for each in said), *shown]
        return shown

    def _figures(self, now: float) -> Iterator[str]:
        if self._waits is not None:
            reason, until = self._waits
            yield f"{reason}: again in {took(until - now)}"
        tasks = self._iteration.tasks if self._iteration is not None else None
        if tasks is not None and tasks.all:
            yield f"tasks {tasks.done}/{tasks.all}"
            yield f"ready {tasks.ready}"
        yield from self._limits()

    def _limits(self) -> Iterator[str]:
        used = {u.name: u for u in self._iteration.countdown} if self._iteration else {}
        usd, tokens = (a + b for a, b in zip(self.spent_before, self._spent, strict=True))
        budget, most = used.pop("usd", None), used.pop("tokens", None)
        if usd or budget is not None:
            yield lines.money(usd) + (f"/{lines.money(budget.allowed)}" if budget else "")
        if tokens or most is not None:
            limit = f"/{thousands(int(most.allowed))}" if most is not None else ""
            yield f"{thousands(int(tokens))}{limit} tokens"
        for name, each in used.items():
            left = each.allowed - each.used
            if name != "iterations" and each.used and left <= max(1, each.allowed * NEAR):
                yield f"{name.replace('_', ' ')} {each.used:.0f}/{each.allowed:g}"


def status_line(now: float, figures: Iterable[str]) -> ViewLine:
    """The last row of a live view: that it lives, and its figures."""
    frame = SPINNER[int(now / FRAME) % len(SPINNER)]
    return ViewLine((Piece(frame, "cyan"), Piece(" " + (" · ".join(figures) or "at work"))))


def header(
    name: str, run_id: str, goal: str, agent: str | None, task_id: str
) -> Iterator[ViewLine]:
    """Which session this is."""
    who = " · ".join(one_line(part) for part in (run_id, agent, task_id) if part)
    yield ViewLine((Piece(one_line(name), "bold"), Piece(f"  {who}", "dim")))
    yield ViewLine((Piece("  "), Piece(one_line(goal))))
