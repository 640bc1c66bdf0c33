"""What is seen of a worker: what happened is printed once, and below it a line for each lane."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.moments import seconds
from hookline.domain.sessions import told_as
from hookline.surfaces.cli import live_records as records
from hookline.surfaces.cli.gate_show import MARKS, clock, said_by, shown_hook
from hookline.surfaces.cli.live import FRAME, SPINNER, Live
from hookline.surfaces.cli.live_lines import BELOW, Line, Piece, money, plain
from hookline.surfaces.cli.live_screen import Screen, stdout_file, write_all
from hookline.surfaces.cli.live_text import clean, cut, one_line, padded, plural, took
from hookline.surfaces.cli.output import note
from hookline.surfaces.cli.work_news import FEED, FIGURES
from hookline.surfaces.cli.work_waits import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


TASK_COLUMNS, AGENT_COLUMNS = 5, 10
POINT_COLUMNS, HOOK_COLUMNS = 13, 14
SHOWN_WISHES = 4
SESSION, GATES, MERGE = "begins", "gates", "merge"


class Strand(msgspec.Struct):
    """A session, a submission or a merge that is under way."""

    task: str
    agent: str
    what: str
    since: float
    live: Live
    iteration: int = 0
    step: str = ""
    usd: float = 0.0
    waiting: Waiting | None = None

    def hear(self, line: dict[str, Any]) -> None:
        """Take in a line of its feed."""
        read = records.read(line)
        if read is None:
            return
        found, moment = read
        if isinstance(found, records.Iteration):
            self.iteration = found.iteration
        elif isinstance(found, records.HookStarted):
            self._does(f"{found.point} {shown_hook(found.hook)}", moment)
        elif isinstance(found, records.TurnStarted):
            self._does(f"agent {found.step}", moment)
        elif isinstance(found, records.ValidationStarted):
            self._does(f"validation, {plural(len(found.rules), 'rule')}", moment)
        elif isinstance(found, records.HookEnded | records.ValidationEnded | records.TurnEnded):
            self._does("", moment)

    def _does(self, step: str, moment: float) -> None:
        self.step, self.since, self.waiting = one_line(step), moment, None

    def line(self, now: float) -> Line:
        """Who does what, since when, until when it waits, at what price."""
        where = f"iteration {self.iteration}" if self.iteration else self.what
        does, since, until = self.step, self.since, None
        if self.waiting is not None:
            does, until = one_line(self.waiting.reason), self.waiting.until
            since = seconds(self.waiting.since) if self.waiting.since else since
        parts = [
            f"{where}, {does}" if does else where,
            f"{took(max(now - since, 0.0))} since {clock(since)}",
            *([f"until {clock(seconds(until))}"] if until else []),
            *([money(self.usd)] if self.usd else []),
        ]
        return Line(
            (
                Piece("  "),
                Piece(*(("○", "dim") if self.waiting else ("●", "yellow"))),
                Piece(f" {padded(self.task, TASK_COLUMNS)} "),
                Piece(f"{padded(cut(self.agent, AGENT_COLUMNS), AGENT_COLUMNS)} "),
                Piece(" · ".join(parts)),
            ),
            wraps=True,
            hangs=4,
        )


class Board:
    """All lanes of a worker. Knows nothing of terminals and threads."""

    def __init__(self, lanes: int, usd: float | None = None, *, verbose: int = 0) -> None:
        self._lanes = lanes
        self._budget = usd
        self._verbose = verbose
        self._spent = 0.0
        self._ready = 0
        self._merged = 0
        self._strands: dict[str, Strand] = {}

    def take(self, record: dict[str, Any]) -> list[Line]:
        """Hear a record; the lines that are finished by it."""
        if record["type"] == FEED:
            return list(self._hear(record["run"], record["line"]))
        if record["type"] == FIGURES:
            self._figure(record["data"])
            return []
        told = _TELL.get(record["type"])
        return list(told(self, record["data"])) if told is not None else []

    def _figure(self, data: dict[str, Any]) -> None:
        self._ready, self._spent = data["ready"], data["usd"]
        for run_id, strand in self._strands.items():
            strand.waiting = data["waits"].get(run_id)
            strand.usd = data["spent"].get(strand.task, strand.usd)

    def _hear(self, run_id: str, line: dict[str, Any]) -> Iterator[Line]:
        strand = self._strands.get(run_id)
        if strand is None:
            return
        strand.hear(line)
        # Gates are told of by their verdicts, and a session by its beginning.
        if self._verbose and strand.what == SESSION and line["type"] != "session_started":
            for each in strand.live.take(line):
                yield Line((Piece(padded(strand.task, TASK_COLUMNS) + " ", "bold"), *each.pieces))

    # What is finished

    def _begun(self, data: dict[str, Any]) -> Iterator[Line]:
        self._open(data, SESSION)
        goes_on = "goes on with" if data["resumed"] else "begins"
        yield _told(data, "", f"{_agent(data)} {goes_on}: {one_line(data['goal'])}")

    def _session_ended(self, data: dict[str, Any]) -> Iterator[Line]:
        self._strands.pop(data["runId"], None)
        outcome = told_as(data["outcome"], data["reason"])
        style = "" if outcome == "completed" else "yellow"
        after = plural(data["iterations"] or 0, "iteration")
        why = one_line(str(data["message"] or data["reason"]))
        yield _told(data, style, f"{_agent(data)} {outcome} after {after}: {why}")

    def _submission(self, data: dict[str, Any]) -> Iterator[Line]:
        self._open(data, GATES if data["flow"] == "submit" else MERGE)
        yield from ()

    def _gate(self, data: dict[str, Any]) -> Iterator[Line]:
        if data["hook"] is None:  # no gate stands there
            return
        spent = took(data["durationMs"] / 1000) if data["durationMs"] is not None else ""
        point = padded(one_line(data["point"]), POINT_COLUMNS)
        said = said_by(data["status"], data["message"])
        hook = padded(shown_hook(data["hook"]), HOOK_COLUMNS)
        yield Line(
            (
                _task(data),
                Piece(*MARKS.get(data["status"], ("?", "red"))),
                Piece(f" {point} {hook} {spent:>5}  {one_line(said)}".rstrip()),
            ),
            wraps=True,
            hangs=2,
        )
        wishes = (data["remediationPrompt"] or "").strip().splitlines()
        if self._verbose and len(wishes) <= SHOWN_WISHES:
            for line in wishes:
                yield Line((_task(data), Piece(BELOW, "dim"), Piece(clean(line), "dim")))

    def _fixes(self, data: dict[str, Any]) -> Iterator[Line]:
        yield _told(data, "yellow", f"{_agent(data)} fixes it")

    def _trouble(self, data: dict[str, Any]) -> Iterator[Line]:
        said = f" {padded(data['name'], POINT_COLUMNS)} {one_line(data['reason'])}"
        yield Line((_task(data), Piece(*MARKS["failure"]), Piece(said)), wraps=True, hangs=2)

    def _asked_again(self, data: dict[str, Any]) -> Iterator[Line]:
        hook = shown_hook(data["hook"] or "it")
        yield _told(data, "yellow", f"{hook} is asked again at {clock(seconds(data['at']))}")

    def _asks_person(self, data: dict[str, Any]) -> Iterator[Line]:
        yield _told(data, "yellow", f"waits for you: {one_line(data['reason'])}")
        yield plain(f"  type: {one_line(data['command'])}", "dim", wraps=True)

    def _model_wait(self, data: dict[str, Any]) -> Iterator[Line]:
        why = f": {one_line(data['reason'])}" if data["reason"] else ""
        until = clock(seconds(data["at"]))
        yield _told(data, "yellow", f"{_agent(data)} waits for its model until {until}{why}")

    def _submitted(self, data: dict[str, Any]) -> Iterator[Line]:
        self._strands.pop(data["runId"], None)
        yield _told(data, "", f"submitted  {one_line(data['prUrl'] or '')}".rstrip())

    def _merged_line(self, data: dict[str, Any]) -> Iterator[Line]:
        self._strands.pop(data["runId"], None)
        self._merged += 1
        sha, why = one_line(str(data["sha"]))[:12], data["untested"]
        if why:
            yield _told(data, "yellow", f"merged untested {sha}: {one_line(why)}")
        else:
            yield _told(data, "green", f"merged {sha}")

    def _completed(self, data: dict[str, Any]) -> Iterator[Line]:
        self._strands.pop(data["runId"], None)
        yield _told(data, "green", "completed: there was no commit to judge")

    def _sent_back(self, data: dict[str, Any]) -> Iterator[Line]:
        self._drop(data["taskId"])
        yield _told(data, "red", f"sent back: {one_line(str(data['reason']))}")

    def _failed(self, data: dict[str, Any]) -> Iterator[Line]:
        self._strands.pop(data["runId"], None)
        yield _told(data, "red", f"{data['flow']} failed: {one_line(str(data['reason']))}")

    def _parked(self, data: dict[str, Any]) -> Iterator[Line]:
        self._strands.pop(data["runId"], None)
        said = f"{data['flow']} waits for you: {one_line(str(data['reason']))}"
        yield from _with_help(_told(data, "red", said), data)

    def _cannot_begin(self, data: dict[str, Any]) -> Iterator[Line]:
        said = f"cannot be begun, and is left alone: {one_line(data['message'])}"
        yield from _with_help(_told(data, "red", said), data)

    def _open(self, data: dict[str, Any], what: str) -> None:
        live = Live(verbose=max(self._verbose - 1, 0))
        strand = Strand(data["taskId"], _agent(data), what, time.time(), live)
        self._strands[data["runId"]] = strand

    def _drop(self, task: str) -> None:
        for run_id in [each for each, strand in self._strands.items() if strand.task == task]:
            del self._strands[run_id]

    # What is open

    def region(self, now: float, rows: int) -> list[Line]:
        """A line for each thing that is under way, and one of figures; at most so many rows."""
        strands = list(self._strands.values())
        fits = strands if len(strands) < rows else strands[: max(rows - 2, 0)]
        lines = [strand.line(now) for strand in fits]
        if len(fits) < len(strands) and rows > 1:
            lines.append(plain(f"    and {len(strands) - len(fits)} more", "dim"))
        frame = SPINNER[int(now / FRAME) % len(SPINNER)]
        status = Line((Piece(frame, "cyan"), Piece(" " + " · ".join(self._figures()))))
        return [*lines, status][-rows:]

    def _figures(self) -> Iterator[str]:
        busy = sum(strand.what == SESSION for strand in self._strands.values())
        yield f"lanes {busy}/{self._lanes}"
        yield f"ready {self._ready}"
        yield f"merged {self._merged}"
        if self._spent or self._budget is not None:
            of = f"/{money(self._budget)}" if self._budget is not None else ""
            yield money(self._spent) + of


_TELL: dict[str, Callable[[Board, dict[str, Any]], Iterator[Line]]] = {
    "task_begun": Board._begun,
    "session_ended": Board._session_ended,
    "submission_started": Board._submission,
    "gate": Board._gate,
    "remediation": Board._fixes,
    "trouble": Board._trouble,
    "asked_again": Board._asked_again,
    "asks_person": Board._asks_person,
    "model_wait": Board._model_wait,
    "submitted": Board._submitted,
    "merged": Board._merged_line,
    "completed": Board._completed,
    "sent_back": Board._sent_back,
    "run_failed": Board._failed,
    "parked": Board._parked,
    "cannot_begin": Board._cannot_begin,
}


def _task(data: dict[str, Any]) -> Piece:
    return Piece(padded(data["taskId"], TASK_COLUMNS) + " ", "bold")


def _agent(data: dict[str, Any]) -> str:
    return one_line(data.get("agent") or "the agent")


def _told(data: dict[str, Any], style: str, text: str) -> Line:
    return Line((_task(data), Piece(text, style)), wraps=True)


def _with_help(line: Line, data: dict[str, Any]) -> Iterator[Line]:
    yield line
    if data["help"]:
        yield plain(f"  = help: {one_line(data['help'])}", "dim", wraps=True)


# Showing it


class AsBoard:
    """The lanes as a person sees them, on stderr; in a pipe only what is finished."""

    def __init__(self, board: Board, environ: Mapping[str, str]) -> None:
        self._board = board
        sys.stderr.flush()
        self._screen = _Wall(sys.stderr, environ)

    def hear(self, lines: Iterable[dict[str, Any]]) -> None:
        """Print what is finished, draw what is open."""
        self._show([line for record in lines for line in self._board.take(record)])

    def say(self, text: str) -> None:
        """Print a line of our own."""
        self._show([plain(text, "yellow", wraps=True)])

    def close(self) -> None:
        """Take the lanes back."""
        self._screen.show([])

    def _show(self, finished: list[Line]) -> None:
        screen = self._screen
        lanes = self._board.region(time.time(), screen.room) if screen.is_live else []
        screen.show(finished, lanes)


class _Wall(Screen):
    """A screen with room for many lanes."""

    @property
    def room(self) -> int:
        """Half of the terminal is left to what is finished."""
        return max(1, self._size()[1] // 2)


class AsRecords:
    """What happens as programs read it, one object per line. The end is for the command to tell."""

    def __init__(self) -> None:
        self._file = stdout_file()

    def hear(self, lines: Iterable[dict[str, Any]]) -> None:
        """Write what was told."""
        told = [msgspec.json.encode(each) for each in lines if each["type"] not in (FEED, FIGURES)]
        if told:
            write_all(self._file, b"\n".join([*told, b""]))

    def say(self, text: str) -> None:
        """Records are on stdout; who reads stderr is told there."""
        note(text)

    def close(self) -> None:
        """There is nothing to take back."""
