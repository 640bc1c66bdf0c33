"""What happens to the tasks of a worker, read from the log and from the feeds of its runs.

Runs in the thread that shows it, over a connection of its own, so that nobody who watches holds
up the work.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.adapters.blobs import FileBlobs
from hookline.adapters.feed import FeedReader
from hookline.adapters.store.sqlite import SqliteStore
from hookline.domain.events import FIRED, MERGED_UNTESTED
from hookline.domain.moments import iso, seconds
from hookline.domain.runs import PARKED
from hookline.domain.sessions import FLOW as SESSION
from hookline.domain.sessions import LIVE, STANDING
from hookline.domain.submissions import MERGE, SUBMIT, untested
from hookline.errors import StoreError
from hookline.flows.gate_verbs import open_runs, wait_of
from hookline.flows.judgements import trouble_of
from hookline.flows.spending import Spending
from hookline.hooks.verdicts import asked_person, merge_wait, verdicts
from hookline.surfaces.cli.attention_gates import asked_help
from hookline.surfaces.cli.work_waits import waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from hookline.domain.events import Event
    from hookline.domain.runs import Run
    from hookline.hooks.verdicts import Verdict
    from hookline.ports.store import View
    from hookline.project import Project

# Records that are only for those who look at the lanes: a line of a feed, and figures.
FEED, FIGURES = "feed", "figures"
MOST_READY = 1000
FIGURES_AGAIN = 1.0
_FLOWS = frozenset({SESSION, SUBMIT, MERGE})


def record(kind: str, timestamp: str | None = None, **data: Any) -> dict[str, Any]:
    """A record as `--json` shows it."""
    return {"type": kind, "timestamp": timestamp or iso(time.time()), "data": data}


class Strand(NamedTuple):
    """A run that is under way for one of the tasks, and what it tells."""

    run: Run
    task_id: str
    since: str
    reader: FeedReader


class News:
    """What is new about some tasks; `tasks` may grow while it is read."""

    def __init__(self, project: Project, tasks: Collection[str], after: int) -> None:
        self._project = project
        self._tasks = tasks
        self._place = after
        self._store: SqliteStore | None = None
        self._blobs = FileBlobs(project.blobs)
        self._spending = Spending(tasks, after)
        self._strands: dict[str, Strand] = {}
        self._told: set[object] = set()
        self._said: deque[dict[str, Any]] = deque()
        self._begun = after
        # From where on verdicts on a task count whose gates others had begun to ask.
        self._since: dict[str, int] = {}
        self._next_figures = 0.0
        self._looked = iso(time.time())

    def put(self, kind: str, **data: Any) -> None:
        """Tell something that stands in no log; from any thread."""
        self._said.append(record(kind, **data))

    def new(self) -> Iterator[dict[str, Any]]:
        """What happened since the last time."""
        while self._said:
            yield self._said.popleft()
        try:
            if self._store is None:
                self._store = SqliteStore(self._project.database, read_only=True)
            with self._store.read() as view:
                found = [*self._told_by_feeds(view), *self._logged(view), *self._figures(view)]
        except StoreError:  # busy now; nothing is missed by looking later
            return
        yield from found

    # Feeds

    def _told_by_feeds(self, view: View) -> Iterator[dict[str, Any]]:
        for strand in list(self._strands.values()):
            lines = [line for line in strand.reader.new() if _is_of(line, strand)]
            if lines and strand.run.flow != SESSION:
                yield from self._verdicts(view, strand.task_id)
                yield from self._troubles(view, strand)
            for line in lines:
                yield {"type": FEED, "run": strand.run.run_id, "line": line}
                if strand.run.flow != SESSION and line["type"] == "turn_started":
                    yield self._about(strand, "remediation", line["timestamp"])

    def _about(self, strand: Strand, kind: str, timestamp: str, **more: Any) -> dict[str, Any]:
        agent = strand.run.input.get("agent")
        place = {"taskId": strand.task_id, "runId": strand.run.run_id, "agent": agent}
        return record(kind, timestamp, **place, **more)

    def _verdicts(self, view: View, task_id: str) -> Iterator[dict[str, Any]]:
        for each in verdicts(view, task_id, after=self._since.get(task_id, self._begun)):
            key = _key(each)
            if key not in self._told and not each.is_under_way:
                self._told.add(key)
                yield record("gate", each.started_at, taskId=task_id, **_shown(each))

    def _troubles(self, view: View, strand: Strand) -> Iterator[dict[str, Any]]:
        """Why work is not merged, where no gate says so."""
        for effect in view.runs.effects(view.runs.find(strand.run.run_id)):
            key = (strand.run.run_id, effect.effect_id)
            if effect.resolved_at is None or key in self._told:
                continue
            self._told.add(key)
            trouble = trouble_of(effect, self._blobs)
            if trouble is not None and (effect.resolved_seq or 0) > self._begun:
                name, reason = trouble
                more = {"name": name, "reason": reason}
                yield self._about(strand, "trouble", effect.resolved_at, **more)

    # The log

    def _logged(self, view: View) -> Iterator[dict[str, Any]]:
        for event in view.log.events(types=tuple(_HEAR), after=self._place):
            self._place = event.seq
            yield from _HEAR[event.type](self, view, event)

    def _open(self, since: str, run: Run) -> Strand:
        reader = FeedReader(self._project.folder, run.run_id)
        strand = Strand(run, run.input["taskId"], since, reader)
        self._strands[run.run_id] = strand
        return strand

    def _session_begins(self, view: View, event: Event) -> Iterator[dict[str, Any]]:
        run = view.runs.find(event.node_id)
        # A session that waited for its model says that it goes on, too.
        if run.input["taskId"] in self._tasks and run.run_id not in self._strands:
            yield self._begins(run, event.timestamp, resumed=event.type != "session_started")

    def _begins(self, run: Run, since: str, *, resumed: bool) -> dict[str, Any]:
        more = {"session": run.input["name"], "goal": run.input["goal"], "resumed": resumed}
        return self._about(self._open(since, run), "task_begun", since, **more)

    def _session_ended(self, view: View, event: Event) -> Iterator[dict[str, Any]]:
        strand = self._strands.pop(event.node_id, None)
        if strand is not None:
            named = ("session", "outcome", "reason", "message", "iterations")
            ended = {name: event.data.get(name) for name in named}
            yield self._about(strand, "session_ended", event.timestamp, **ended)

    def _submission_begins(self, view: View, event: Event) -> Iterator[dict[str, Any]]:
        if event.node_id in self._tasks:
            yield self._is_submitted(view.runs.find(event.data["run"]), event.timestamp)

    def _is_submitted(self, run: Run, since: str) -> dict[str, Any]:
        return self._about(self._open(since, run), "submission_started", since, flow=run.flow)

    def _run_ended(self, view: View, event: Event) -> Iterator[dict[str, Any]]:
        run = view.runs.find(event.node_id)
        strand = self._strands.pop(event.node_id, None) or self._unseen(run, event)
        if strand is None:
            return
        if run.flow != SESSION:
            yield from self._verdicts(view, strand.task_id)
        value = run.value if isinstance(run.value, dict) else {}
        if event.type != "run_completed":
            reason = run.error or run.reason or run.status
            yield self._about(strand, "run_failed", event.timestamp, flow=run.flow, reason=reason)
        elif value.get("outcome") == "merged":
            yield from self._is_merged(strand, event, value["sha"], value.get("untested"))
        elif value.get("outcome") == "submitted":
            yield self._about(strand, "submitted", event.timestamp, **_some(value, "prUrl"))
        elif value.get("outcome") == "completed" and run.flow != SESSION:
            yield self._about(strand, "completed", event.timestamp)

    def _task_completed(self, view: View, event: Event) -> Iterator[dict[str, Any]]:
        """After a merge, before what follows it: dependents begin from now on."""
        run_id, artifacts = event.metadata.get("run"), event.data.get("artifacts")
        if event.node_id not in self._tasks or not run_id or not artifacts:
            return
        run = view.runs.find(run_id)
        strand = self._strands.get(run_id) or self._unseen(run, event)
        if strand is not None and run.flow == MERGE:
            yield from self._verdicts(view, strand.task_id)
            why = untested(view.log.events(node_id=event.node_id, types=(MERGED_UNTESTED,)))
            yield from self._is_merged(strand, event, artifacts[0], why)

    def _is_merged(
        self, strand: Strand, event: Event, sha: str, why: str | None
    ) -> Iterator[dict[str, Any]]:
        """It is merged, and why untested, if it is."""
        key = ("merged", strand.run.run_id)
        if key not in self._told:
            self._told.add(key)
            yield self._about(strand, "merged", event.timestamp, sha=sha, untested=why)

    def _unseen(self, run: Run, event: Event) -> Strand | None:
        """A run that began before anybody looked."""
        if run.flow not in _FLOWS or run.input.get("taskId") not in self._tasks:
            return None
        return Strand(run, run.input["taskId"], event.timestamp, FeedReader("", run.run_id))

    def _parked(self, view: View, event: Event) -> Iterator[dict[str, Any]]:
        """A run that only a person gets going again, although it was not asked to rest."""
        strand = self._strands.get(event.node_id)
        run = view.runs.find(event.node_id)
        if strand is not None and "until" not in event.data and is_stuck(view, run):
            why = {name: event.data.get(name) for name in ("reason", "help")}
            yield self._about(strand, "parked", event.timestamp, flow=run.flow, **why)
        elif strand is not None and strand.run.flow != SESSION:
            yield from self._verdicts(view, strand.task_id)
            yield from self._asks_person(view, strand, event)
            yield from self._asked_again(view, strand, event)

    def _asks_person(self, view: View, strand: Strand, event: Event) -> Iterator[dict[str, Any]]:
        """A merge that waits for a person's trust or word, which no gate tells of."""
        merge = merge_wait(view, strand.run)
        if merge is None or not merge.waits_for_person:
            return
        key = ("asks", strand.run.run_id, merge.message)
        if key not in self._told:
            self._told.add(key)
            hint, command = asked_help(strand.run, merge)
            yield self._about(strand, "asks_person", event.timestamp, reason=hint, command=command)

    def _asked_again(self, view: View, strand: Strand, event: Event) -> Iterator[dict[str, Any]]:
        """When gates are asked again that wait for no person; told once, as what they say is."""
        if "until" not in event.data or wait_of(view, strand.run) is None:
            return
        own = (each for each in verdicts(view, strand.task_id) if each.run == strand.run.run_id)
        merge = merge_wait(view, strand.run)
        said = [*own, *([merge] if merge is not None else [])]
        key = ("again", _key(said[-1]) if said else None)
        if key not in self._told:
            self._told.add(key)
            more = {"hook": said[-1].hook if said else None, "at": event.data.get("until")}
            more |= {"message": merge.message} if merge is not None else {}
            yield self._about(strand, "asked_again", event.timestamp, **more)

    def _session_waits(self, view: View, event: Event) -> Iterator[dict[str, Any]]:
        yield from self._model_wait(event, event.data)

    def _gates_wait(self, view: View, event: Event) -> Iterator[dict[str, Any]]:
        if event.data["kind"] == "sleep":  # they sleep for the model of whoever fixes the work
            yield from self._model_wait(event, event.data["args"])

    def _model_wait(self, event: Event, wait: dict[str, Any]) -> Iterator[dict[str, Any]]:
        strand = self._strands.get(event.node_id)
        if strand is not None:
            more = {"reason": wait.get("reason"), "at": _later(event, wait["seconds"])}
            yield self._about(strand, "model_wait", event.timestamp, **more)

    def _sent_back(self, view: View, event: Event) -> Iterator[dict[str, Any]]:
        if event.node_id in self._tasks:
            yield from self._verdicts(view, event.node_id)
            reason = event.data.get("reason")
            yield record("sent_back", event.timestamp, taskId=event.node_id, reason=reason)

    def _fired(self, view: View, event: Event) -> Iterator[dict[str, Any]]:
        if event.node_id in self._tasks:
            yield from self._verdicts(view, event.node_id)

    # Figures

    def _figures(self, view: View) -> Iterator[dict[str, Any]]:
        if time.monotonic() < self._next_figures:
            return
        self._next_figures = time.monotonic() + FIGURES_AGAIN
        ready = view.graph.ready(MOST_READY, iso(time.time()))
        spent = {
            each.task_id: self._spending.usd(view, each.task_id) for each in self._strands.values()
        }
        waits = {each: waiting(view, each) for each in self._strands}
        usd = self._spending.usd(view)
        yield record(FIGURES, ready=len(ready), usd=usd, spent=spent, waits=waits)
        # Whatever was taken over was so after the last look, and has told something since.
        since, self._looked = self._looked, iso(time.time())
        yield from self._taken_over(view, since)

    def _taken_over(self, view: View, since: str) -> Iterator[dict[str, Any]]:
        """What others had begun, and goes on here."""
        for run_id in view.sessions.live():
            run = view.runs.find(run_id)
            if self._is_new(run) and view.runs.value(run_id, STANDING) == LIVE:
                yield self._begins(run, since, resumed=True)
        for flow in (SUBMIT, MERGE):
            for run in open_runs(view, flow):
                if self._is_new(run):
                    asked = (e for e in view.runs.pending(run) if e.kind == "hook")
                    began = min((e.requested_seq for e in asked), default=self._begun)
                    self._since[run.input["taskId"]] = min(began, self._begun)
                    yield self._is_submitted(run, since)

    def _is_new(self, run: Run) -> bool:
        return run.run_id not in self._strands and run.input["taskId"] in self._tasks


_HEAR: dict[str, Callable[[News, View, Event], Iterator[dict[str, Any]]]] = {
    "session_started": News._session_begins,
    "session_resumed": News._session_begins,
    # The session of a worker that was killed goes on without a word.
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


def is_stuck(view: View, run: Run) -> bool:
    """Whether a run rests that nobody put to rest, and that no gate asks a person about."""
    if run.status != PARKED or run.wake_at is not None:
        return False
    if run.flow == SESSION:
        return bool(view.runs.value(run.run_id, STANDING) == LIVE)
    return asked_person(view, run) is None


def _is_of(line: dict[str, Any], strand: Strand) -> bool:
    """Whether a feed's line is not of an earlier run of that number, in a store that is gone."""
    stamp = line.get("timestamp")
    return isinstance(stamp, str) and stamp >= strand.since


def _key(verdict: Verdict) -> object:
    """Gates that wait are asked again and again; what they say then is told once."""
    place = None if verdict.status == "pending" else verdict.seq
    return (place, verdict.run, verdict.point, verdict.hook, verdict.message)


def _shown(verdict: Verdict) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(verdict)
    named = ("point", "hook", "status", "message", "durationMs", "remediationPrompt")
    shown = {name: found.get(name) for name in named}
    return {"runId": verdict.run, **shown, "waitsForPerson": verdict.waits_for_person}


def _later(event: Event, pause: float) -> str:
    return iso(seconds(event.timestamp) + pause)


def _some(value: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value.get(name) for name in names}
