"""What is seen of a worker: what happened is printed once, and below it a line for each lane."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.hooks.names import shown_hook
from hookline.domain.sessions.model import outcome_word
from hookline.domain.text.terminal import clean, cut, one_line, padded, plural, took
from hookline.domain.timestamps import seconds
from hookline.queries.waiting.gates import Waiting
from hookline.surfaces.cli.gates.show import MARKS, POINT_COLUMNS, verdict_pieces
from hookline.surfaces.cli.live import records
from hookline.surfaces.cli.live.lines import BELOW, OPEN, Piece, ViewLine, clock, money, plain
from hookline.surfaces.cli.live.view import Live, status_line
from hookline.worker import records as told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookline.ports.feeds import FeedRecord
    from hookline.worker.news import Told


TASK_COLUMNS, AGENT_COLUMNS = 5, 10
SHOWN_WISHES = 4
SHOWN_COMMENTS = 5
SESSION, GATES, MERGE = "starts", "gates", "merge"


class ShownRun(msgspec.Struct):
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

    def hear(self, line: FeedRecord) -> None:
        """Take in a line of its feed."""
        read = records.read(line)
        if read is None:
            return
        found, moment = read
        if isinstance(found, records.IterationStarted):
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

    def line(self, now: float) -> ViewLine:
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
        mark = Piece("○", "dim") if self.waiting else Piece(*OPEN)
        agent = padded(cut(self.agent, AGENT_COLUMNS), AGENT_COLUMNS)
        who = Piece(f" {padded(self.task, TASK_COLUMNS)} {agent} ")
        return ViewLine((Piece("  "), mark, who, Piece(" · ".join(parts))), wraps=True, hangs=3)


class Board:
    """All lanes of a worker. Knows nothing of terminals and threads."""

    def __init__(self, lanes: int, usd: float | None = None, *, verbose: int = 0) -> None:
        self._lanes = lanes
        self._budget = usd
        self._verbose = verbose
        self._spent = 0.0
        self._ready = 0
        self._merges = 0
        self._strands: dict[str, ShownRun] = {}

    def take(self, record: Told) -> list[ViewLine]:
        """Hear a record; the lines that are finished by it."""
        if isinstance(record, told.FeedLine):
            return list(self._hear(record.run_id, record.line))
        if isinstance(record, told.Figures):
            self._figure(record)
            return []
        if isinstance(record.data, _ENDINGS):
            self._strands.pop(record.data.run_id, None)
        tell: Callable[[Any], Iterator[ViewLine]] = getattr(self, f"_{record.data.kind}")
        return list(tell(record.data))

    def _figure(self, found: told.Figures) -> None:
        self._ready, self._spent = found.ready, found.usd
        for run_id, strand in self._strands.items():
            strand.waiting = found.waits.get(run_id)
            strand.usd = found.spent.get(strand.task, strand.usd)

    def _hear(self, run_id: str, line: FeedRecord) -> Iterator[ViewLine]:
        strand = self._strands.get(run_id)
        if strand is None:
            return
        strand.hear(line)
        # Gates are told about by their verdicts, and a session by its beginning.
        if self._verbose and strand.what == SESSION and line["type"] != "session_started":
            for each in strand.live.take(line):
                yield ViewLine((_task(strand.task), *each.pieces))

    # What is finished, each told by the method that is called as its kind

    def _task_begun(self, data: told.TaskBegun) -> Iterator[ViewLine]:
        self._open(data, SESSION)
        verb = "continues" if data.resumed else "starts"
        yield _told(data, "", f"{_agent(data)} {verb}: {one_line(data.goal)}")

    def _session_ended(self, data: told.SessionEnded) -> Iterator[ViewLine]:
        if data.waits_for:
            yield _told(data, "", f"{_agent(data)} planned: {one_line(data.reason)}")
            return
        if data.problem is not None:
            told = f"{_agent(data)} cannot work, and takes no more tasks"
            yield _told(data, "red", f"{told}: {one_line(data.problem.told)}")
            return
        outcome = outcome_word(data.outcome, data.reason)
        style = "" if outcome == "completed" else "yellow"
        after = plural(data.iterations or 0, "iteration")
        why = one_line(str(data.message or data.reason))
        yield _told(data, style, f"{_agent(data)} {outcome} after {after}: {why}")

    def _submission_started(self, data: told.SubmissionStarted) -> Iterator[ViewLine]:
        self._open(data, GATES if data.flow == "submit" else MERGE)
        yield from ()

    def _gate(self, data: told.GateSpoke) -> Iterator[ViewLine]:
        if data.hook is None:  # no gate is listed there
            return
        yield ViewLine((_task(data.task_id), *verdict_pieces(data)), wraps=True, hangs=2)
        yield from _comments(data)
        wishes = (data.remediation_prompt or "").strip().splitlines()
        if self._verbose and len(wishes) <= SHOWN_WISHES:
            for line in wishes:
                yield ViewLine(
                    (_task(data.task_id), Piece(BELOW, "dim"), Piece(clean(line), "dim"))
                )

    def _remediation(self, data: told.Remediation) -> Iterator[ViewLine]:
        yield _told(data, "yellow", f"{_agent(data)} fixes it")

    def _trouble(self, data: told.Trouble) -> Iterator[ViewLine]:
        said = f" {padded(data.name, POINT_COLUMNS)} {one_line(data.reason)}"
        yield ViewLine(
            (_task(data.task_id), Piece(*MARKS["failure"]), Piece(said)), wraps=True, hangs=2
        )

    def _asked_again(self, data: told.AskedAgain) -> Iterator[ViewLine]:
        hook = shown_hook(data.hook or "it")
        yield _told(data, "yellow", f"{hook} is asked again at {clock(seconds(data.at))}")

    def _asks_person(self, data: told.AsksPerson) -> Iterator[ViewLine]:
        yield _told(data, "yellow", f"waits for you: {one_line(data.reason)}")
        yield plain(f"  type: {one_line(data.command)}", "dim", wraps=True)

    def _model_wait(self, data: told.ModelWaits) -> Iterator[ViewLine]:
        why = f": {one_line(data.reason)}" if data.reason else ""
        until = clock(seconds(data.at))
        yield _told(data, "yellow", f"{_agent(data)} waits for its model until {until}{why}")

    def _submitted(self, data: told.Submitted) -> Iterator[ViewLine]:
        yield _told(data, "", f"submitted  {one_line(data.pr_url or '')}".rstrip())

    def _merged(self, data: told.WorkMerged) -> Iterator[ViewLine]:
        self._merges += 1
        sha, why = one_line(str(data.sha))[:12], data.untested
        if why:
            yield _told(data, "yellow", f"merged untested {sha}: {one_line(why)}")
        else:
            yield _told(data, "green", f"merged {sha}")

    def _completed(self, data: told.CompletedWithoutCommit) -> Iterator[ViewLine]:
        yield _told(data, "green", "completed: there was no commit to check")

    def _sent_back(self, data: told.SentBack) -> Iterator[ViewLine]:
        for run_id in [k for k, strand in self._strands.items() if strand.task == data.task_id]:
            del self._strands[run_id]
        yield _told(data, "red", f"sent back: {one_line(str(data.reason))}")

    def _run_failed(self, data: told.RunFailed) -> Iterator[ViewLine]:
        yield _told(data, "red", f"{data.flow} failed: {one_line(str(data.reason))}")

    def _parked(self, data: told.RunParked) -> Iterator[ViewLine]:
        yield _told(data, "red", f"{data.flow} waits for you: {one_line(str(data.reason))}")
        yield from _help(data)

    def _cannot_begin(self, data: told.CannotBegin) -> Iterator[ViewLine]:
        yield _told(data, "red", f"cannot be started, and is left alone: {one_line(data.message)}")
        yield from _help(data)

    def _open(self, data: told.RunNews, what: str) -> None:
        live = Live(verbose=max(self._verbose - 1, 0), skips=self._verbose > 0)
        shown = ShownRun(data.task_id, _agent(data), what, time.time(), live)
        self._strands[data.run_id] = shown

    # What is open

    def region(self, now: float, rows: int) -> list[ViewLine]:
        """A line for each thing that is under way, and one of figures; at most so many rows."""
        strands = list(self._strands.values())
        fits = strands if len(strands) < rows else strands[: max(rows - 2, 0)]
        lines = [strand.line(now) for strand in fits]
        if len(fits) < len(strands) and rows > 1:
            lines.append(plain(f"    and {len(strands) - len(fits)} more", "dim"))
        return [*lines, status_line(now, self._figures())][-rows:]

    def _figures(self) -> Iterator[str]:
        busy = sum(strand.what == SESSION for strand in self._strands.values())
        yield f"lanes {busy}/{self._lanes}"
        yield f"ready {self._ready}"
        yield f"merged {self._merges}"
        if self._spent or self._budget is not None:
            of = f"/{money(self._budget)}" if self._budget is not None else ""
            yield money(self._spent) + of


_ENDINGS = (
    *(told.SessionEnded, told.Submitted, told.WorkMerged),
    *(told.CompletedWithoutCommit, told.RunFailed, told.RunParked),
)


def _task(task: str) -> Piece:
    return Piece(padded(task, TASK_COLUMNS) + " ", "bold")


def _agent(data: told.RunNews) -> str:
    return one_line(data.agent or "the agent")


def _comments(data: told.GateSpoke) -> Iterator[ViewLine]:
    """What reviewers said about single places."""
    said = [one_line(each) for each in data.comments]
    left = len(said) - SHOWN_COMMENTS
    more = [f"{plural(left, 'more comment')}: hookline gate list {data.task_id}"] * (left > 0)
    for line in (*said[:SHOWN_COMMENTS], *more):
        yield ViewLine((_task(data.task_id), Piece(BELOW, "dim"), Piece(line)), wraps=True, hangs=2)


def _told(data: told.TaskNews, style: str, text: str) -> ViewLine:
    return ViewLine((_task(data.task_id), Piece(text, style)), wraps=True)


def _help(data: told.RunParked | told.CannotBegin) -> Iterator[ViewLine]:
    if data.help:
        yield plain(f"  = help: {one_line(data.help)}", "dim", wraps=True)
