"""What happens to the tasks of a worker, read from the log and from the feeds of its runs.

Runs in the thread that shows it, over its own connection, so that nobody who watches holds
up the work.
"""

from __future__ import annotations

import time
from collections import deque
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from hookline import typed
from hookline.domain.events import FIRED, MERGED_UNTESTED, Event
from hookline.domain.runs.model import PARKED, Run
from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.sessions.model import LIVE, STANDING
from hookline.domain.sessions.turns import AgentProblem
from hookline.domain.timestamps import iso, seconds
from hookline.domain.work.submissions import MERGE, SUBMIT, untested
from hookline.errors import StoreError
from hookline.hooks.gates.verdicts import asked_person
from hookline.pipeline.gate_verbs import open_runs
from hookline.queries.waiting.gates import waiting
from hookline.sessions.spending import Spending
from hookline.tasks.task_runs import live_sessions
from hookline.wiring.project.stores import open_store
from hookline.worker import records
from hookline.worker.gate_news import GateNews, RunUnderWay
from hookline.worker.records import WorkRecord, record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from hookline.app import App
    from hookline.ports.feeds import FeedRecord
    from hookline.ports.store import Store, View

MOST_READY = 1000
FIGURES_AGAIN = 1.0
_FLOWS = frozenset({SESSION, SUBMIT, MERGE})
Told = WorkRecord | records.FeedLine | records.Figures


class News:
    """What is new about some tasks; `tasks` may grow while it is read."""

    def __init__(self, app: App, tasks: Collection[str], after: int) -> None:
        self._url, self._feeds = app.store.url, app.feeds
        self._tasks, self._place = tasks, after
        self._store: Store | None = None
        self._gates = GateNews(after, app.blobs)
        self._spending = Spending(tasks, after)
        self._strands: dict[str, RunUnderWay] = {}
        self._said: deque[WorkRecord] = deque()
        self._next_figures = 0.0
        self._looked = iso(time.time())

    def put(self, data: records.TaskNews) -> None:
        """Report something that is in no log; from any thread."""
        self._said.append(record(data))

    def new(self) -> Iterator[Told]:
        """What happened since the last call."""
        while self._said:
            yield self._said.popleft()
        try:
            if self._store is None:
                self._store = open_store(self._url, read_only=True, waits=False)
            with self._store.read() as view:
                found = [*self._told_by_feeds(view), *self._logged(view), *self._figures(view)]
        except StoreError:  # busy now; nothing is missed by looking later
            return
        yield from found

    # Feeds

    def _told_by_feeds(self, view: View) -> Iterator[Told]:
        for strand in list(self._strands.values()):
            lines = [line for line in strand.reader.new() if _is_of(line, strand)]
            found: list[tuple[str, Told]] = []
            if lines and strand.run.flow != SESSION:
                told = (
                    *self._gates.verdicts(view, strand.task_id),
                    *self._gates.troubles(view, strand),
                )
                found = [(each.timestamp, each) for each in told]
            for line in lines:
                moment = line["timestamp"]
                found.append((moment, records.FeedLine(strand.run.run_id, line)))
                if strand.run.flow != SESSION and line["type"] == "turn_started":
                    found.append((moment, record(records.Remediation(**strand.about), moment)))
            # Gates can have run again since the turn that fixes what they found.
            yield from (each for _, each in sorted(found, key=itemgetter(0)))

    # The log

    def _logged(self, view: View) -> Iterator[WorkRecord]:
        for event in view.log.events(types=tuple(_HEAR), after=self._place):
            self._place = event.seq
            yield from _HEAR[event.type](self, view, event)

    def _open(self, since: str, run: Run) -> RunUnderWay:
        strand = self._strands[run.run_id] = self._strand(run, since)
        return strand

    def _strand(self, run: Run, since: str) -> RunUnderWay:
        return RunUnderWay(run, run.input["taskId"], since, self._feeds.reader(run.run_id))

    def _session_begins(self, view: View, event: Event) -> Iterator[WorkRecord]:
        run = view.runs.find(event.node_id)
        # A session that waited for its model reports that it continues, too.
        if run.input["taskId"] in self._tasks and run.run_id not in self._strands:
            yield self._begins(run, event.timestamp, resumed=event.type != "session_started")

    def _begins(self, run: Run, since: str, *, resumed: bool) -> WorkRecord:
        about, given = self._open(since, run).about, run.input
        name, goal = given["name"], given["goal"]
        begun = records.TaskBegun(**about, session=name, goal=goal, resumed=resumed)
        return record(begun, since)

    def _session_ended(self, view: View, event: Event) -> Iterator[WorkRecord]:
        strand = self._strands.pop(event.node_id, None)
        if strand is not None:
            data = event.data
            ended = records.SessionEnded(
                **strand.about,
                session=data.get("session"),
                outcome=data["outcome"],
                reason=data["reason"],
                message=data.get("message"),
                iterations=data.get("iterations"),
                waits_for=data.get("waitsFor", []),
                problem=typed.convert(data.get("problem"), AgentProblem | None),
            )
            yield record(ended, event.timestamp)

    def _submission_begins(self, view: View, event: Event) -> Iterator[WorkRecord]:
        if event.node_id in self._tasks:
            yield self._is_submitted(view.runs.find(event.data["run"]), event.timestamp)

    def _is_submitted(self, run: Run, since: str) -> WorkRecord:
        about = self._open(since, run).about
        return record(records.SubmissionStarted(**about, flow=run.flow), since)

    def _run_ended(self, view: View, event: Event) -> Iterator[WorkRecord]:
        run = view.runs.find(event.node_id)
        strand = self._strands.pop(event.node_id, None) or self._unseen(run, event)
        if strand is None:
            return
        if run.flow != SESSION:
            yield from self._gates.verdicts(view, strand.task_id)
        value = run.value if isinstance(run.value, dict) else {}
        outcome = value.get("outcome") if event.type == "run_completed" else None
        if event.type != "run_completed":
            reason = run.error or run.reason or run.status
            failed = records.RunFailed(**strand.about, flow=run.flow, reason=reason)
            yield record(failed, event.timestamp)
        elif outcome == "merged":
            yield from self._is_merged(strand, event, value["sha"], value.get("untested"))
        elif outcome == "submitted":
            done = records.Submitted(**strand.about, pr_url=value.get("prUrl"))
            yield record(done, event.timestamp)
        elif outcome == "completed" and run.flow != SESSION:
            yield record(records.CompletedWithoutCommit(**strand.about), event.timestamp)

    def _task_completed(self, view: View, event: Event) -> Iterator[WorkRecord]:
        """Report a merge before what follows it: dependents start from now on."""
        run_id, artifacts = event.metadata.get("run"), event.data.get("artifacts")
        if event.node_id not in self._tasks or not run_id or not artifacts:
            return
        run = view.runs.find(run_id)
        strand = self._strands.get(run_id) or self._unseen(run, event)
        if strand is not None and run.flow == MERGE:
            yield from self._gates.verdicts(view, strand.task_id)
            why = untested(view.log.events(node_id=event.node_id, types=(MERGED_UNTESTED,)))
            yield from self._is_merged(strand, event, artifacts[0], why)

    def _is_merged(
        self, strand: RunUnderWay, event: Event, sha: str, why: str | None
    ) -> Iterator[WorkRecord]:
        """The merge, and why it is untested, if it is."""
        if self._gates.is_new(("merged", strand.run.run_id)):
            yield record(records.WorkMerged(**strand.about, sha=sha, untested=why), event.timestamp)

    def _unseen(self, run: Run, event: Event) -> RunUnderWay | None:
        """A run that began before the first look."""
        if run.flow not in _FLOWS or run.input.get("taskId") not in self._tasks:
            return None
        return self._strand(run, event.timestamp)

    def _parked(self, view: View, event: Event) -> Iterator[WorkRecord]:
        """A run that needs a person, although no one paused it."""
        strand = self._strands.get(event.node_id)
        run = view.runs.find(event.node_id)
        if strand is not None and "until" not in event.data and _is_stuck(view, run):
            why, help = event.data.get("reason"), event.data.get("help")
            parked = records.RunParked(**strand.about, flow=run.flow, reason=why, help=help)
            yield record(parked, event.timestamp)
        elif strand is not None and strand.run.flow != SESSION:
            yield from self._gates.verdicts(view, strand.task_id)
            yield from self._gates.asks_person(view, strand, event)
            yield from self._gates.asked_again(view, strand, event)

    def _session_waits(self, view: View, event: Event) -> Iterator[WorkRecord]:
        yield from self._model_wait(event, event.data)

    def _gates_wait(self, view: View, event: Event) -> Iterator[WorkRecord]:
        if event.data["kind"] == "sleep":  # they wait for the model of the fixing agent
            yield from self._model_wait(event, event.data["args"])

    def _model_wait(self, event: Event, wait: Mapping[str, Any]) -> Iterator[WorkRecord]:
        strand = self._strands.get(event.node_id)
        if strand is not None:
            until = iso(seconds(event.timestamp) + wait["seconds"])
            waits = records.ModelWaits(**strand.about, reason=wait.get("reason"), at=until)
            yield record(waits, event.timestamp)

    def _sent_back(self, view: View, event: Event) -> Iterator[WorkRecord]:
        if event.node_id in self._tasks:
            yield from self._gates.verdicts(view, event.node_id)
            reason = event.data.get("reason")
            yield record(records.SentBack(task_id=event.node_id, reason=reason), event.timestamp)

    def _fired(self, view: View, event: Event) -> Iterator[WorkRecord]:
        if event.node_id in self._tasks:
            yield from self._gates.verdicts(view, event.node_id)

    # Figures

    def _figures(self, view: View) -> Iterator[Told]:
        if time.monotonic() < self._next_figures:
            return
        self._next_figures = time.monotonic() + FIGURES_AGAIN
        ready = view.graph.ready(MOST_READY, iso(time.time()))
        strands = self._strands
        spent = {e.task_id: self._spending.usd(view, e.task_id) for e in strands.values()}
        waits = {each: waiting(view, each) for each in strands}
        yield records.Figures(len(ready), self._spending.usd(view), spent, waits)
        # A run can only have been taken over since the last look, and has reported something since.
        since, self._looked = self._looked, iso(time.time())
        yield from self._taken_over(view, since)

    def _taken_over(self, view: View, since: str) -> Iterator[WorkRecord]:
        """Runs that another process began, and that continue here."""
        for run in live_sessions(view):
            if self._is_new(run) and view.runs.value(run.run_id, STANDING) == LIVE:
                yield self._begins(run, since, resumed=True)
        for run in open_runs(view):
            if self._is_new(run):
                self._gates.take_over(view, run)
                yield self._is_submitted(run, since)

    def _is_new(self, run: Run) -> bool:
        return run.run_id not in self._strands and run.input["taskId"] in self._tasks


_HEAR: dict[str, Callable[[News, View, Event], Iterator[WorkRecord]]] = {
    "session_started": News._session_begins,
    "session_resumed": News._session_begins,
    # The session of a killed worker resumes without an event.
    "session_iteration": News._session_begins,
    "session_iteration_ended": News._session_begins,
    "session_waits": News._session_waits,
    "effect_requested": News._gates_wait,
    "session_ended": News._session_ended,
    "submission_started": News._submission_begins,
    FIRED: News._fired,
    "task_completed": News._task_completed,
    "run_completed": News._run_ended,
    "run_failed": News._run_ended,
    "run_cancelled": News._run_ended,
    "run_parked": News._parked,
    "task_needs_continuation": News._sent_back,
}


def _is_stuck(view: View, run: Run) -> bool:
    """Whether a run is stuck: parked, not paused by anyone, and no gate asks a person."""
    if run.status != PARKED or run.wake_at is not None:
        return False
    if run.flow == SESSION:
        return bool(view.runs.value(run.run_id, STANDING) == LIVE)
    return asked_person(view, run) is None


def _is_of(line: FeedRecord, strand: RunUnderWay) -> bool:
    """Whether a feed's line is not from an earlier run with that id, in a store that is gone."""
    stamp = line.get("timestamp")
    return isinstance(stamp, str) and stamp >= strand.since
