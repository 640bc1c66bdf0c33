"""The report of a project since a moment: what was done, what is proven, what it cost, what waits.

Only the store is read here; `queries/reports/diffs.py` adds what git knows.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from hookline.domain import tasks as states
from hookline.domain.events import RUN_ENDS
from hookline.domain.sessions import model as outcomes
from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.work.submissions import MERGE, SUBMIT
from hookline.pipeline.gate_verbs import open_runs
from hookline.queries.blockers import all_blockers
from hookline.queries.reports.changes import OWN_FOLDER, Change
from hookline.queries.reports.merges import MERGED, MergedWork, merged_by
from hookline.queries.reports.proofs import (
    Proof,
    gate_proofs,
    merge_proofs,
    session_proofs,
    session_unproven,
    stop_proofs,
    why_unproven,
)
from hookline.queries.session_details import last_checks, session_trees
from hookline.queries.sessions import facts, last_ending
from hookline.queries.waiting.attention import items
from hookline.queries.waiting.item import Item
from hookline.sessions.spending import WholeCost, cost_of, turns_of
from hookline.tasks.task_runs import live_sessions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.domain.tasks import Task
    from hookline.ports.store import Blobs, View

UNTESTED, UNPROVEN = "merged untested", "completed unproven"
SENT_BACK, AT_GATES, UNDER_WAY, DELETED = "sent back", "at its gates", "under way", "deleted"
GOOD = (MERGED, states.COMPLETED)
BAD = (UNTESTED, UNPROVEN, states.FAILED, states.BLOCKED, SENT_BACK)
# How many tasks a report tells, the newest.
MOST = 200
_NEWS = tuple(
    f"task_{name}"
    for name in ("completed", "failed", "cancelled", "blocked", "needs_continuation", "submitted")
)
_STATES = {
    states.NEEDS_CONTINUATION: SENT_BACK,
    states.SUBMITTED: AT_GATES,
    states.ACTIVE: UNDER_WAY,
}


class ReportedSession(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A session that did something, and its status.

    `proven` is whether its own checks, or those of its task, passed.
    """

    run_id: str
    name: str
    task_id: str
    agent: str | None
    status: str
    iterations: int
    proven: bool
    why: str | None = None


class ReportedTask(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A task about which something happened: its outcome, why, what proves it, what it cost."""

    task_id: str
    goal: str
    state: str
    outcome: str
    why: str | None
    merged: MergedWork | None
    proofs: list[Proof]
    cost: WholeCost
    change: Change | None = None


class ProjectReport(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """What happened in a project from one moment to another; `cost` is that of its tasks."""

    project: str
    since: str
    until: str
    tasks: list[ReportedTask]
    left_out: int
    sessions: list[ReportedSession]
    cost: WholeCost
    waiting: list[Item]

    def with_outcome(self, *outcomes: str) -> list[ReportedTask]:
        """The tasks that came to one of these ends."""
        return [task for task in self.tasks if task.outcome in outcomes]


def project_report(app: App, since: str) -> ProjectReport:
    """What happened since a moment."""
    with app.read() as view:
        place = view.log.before(since)
        runs = list(_runs(view, place, since))
        worked_on = [run.input["taskId"] for run in runs]
        named = [event.node_id for event in view.log.events(types=_NEWS, after=place)]
        # What happened last is told last.
        tasks = list(dict.fromkeys(reversed([*worked_on, *named])))[::-1]
        return _Reporter(app, view, runs).report(tasks, since, items(app, view))


def task_report(app: App, task_id: str) -> ProjectReport:
    """The same about one task: all that ever happened to it."""
    with app.read() as view:
        task = view.graph.task(task_id)
        runs = [run for run in view.runs.of_flow(SESSION) if run.input["taskId"] == task.id]
        since = task.created_at or app.store.now()
        waiting = [each for each in items(app, view) if task.id in (each.id, each.node)]
        return _Reporter(app, view, runs).report([task.id], since, waiting)


def _runs(view: View, place: int, since: str) -> Iterator[Run]:
    """Sessions, submissions and merges that ended after a position, or continued since a moment."""
    ended = view.log.events(types=sorted(RUN_ENDS), after=place)
    over = (view.runs.find(event.node_id) for event in ended)
    yield from (run for run in over if run.flow in (SESSION, SUBMIT, MERGE))
    going = (*live_sessions(view), *open_runs(view))
    yield from (run for run in going if (run.updated_at or "") >= since)


class _Reporter:
    """Puts a report together, from one view of the store."""

    def __init__(self, app: App, view: View, runs: Sequence[Run]) -> None:
        self._app, self._view = app, view
        self._sessions = [run for run in runs if run.flow == SESSION]
        self._blockers = all_blockers(app, view)

    def report(self, tasks: Sequence[str], since: str, waiting: list[Item]) -> ProjectReport:
        """The report about these tasks."""
        told = tasks[-MOST:]
        turns = {task_id: turns_of(self._view, task_id) for task_id in told}
        found = [self._task(each, cost_of(turns[each])) for each in told]
        outcomes = {task.task_id: task.outcome for task in found}
        return ProjectReport(
            project=os.path.basename(self._app.project.root),
            since=since,
            until=self._app.store.now(),
            tasks=found,
            left_out=len(tasks) - len(told),
            sessions=[_session(self._view, run, outcomes) for run in self._sessions],
            cost=cost_of([turn for each in turns.values() for turn in each]),
            waiting=waiting,
        )

    def _task(self, task_id: str, cost: WholeCost) -> ReportedTask:
        view, task = self._view, self._view.graph.find(task_id)
        started = view.log.events(node_id=task_id, types=("submission_started",))
        gated = [view.runs.find(event.data["run"]) for event in started]
        own = [run for run in self._sessions if run.input["taskId"] == task_id]
        merges = (merged_by(view, run) for run in gated if run.flow == MERGE)
        merged = next((each for each in merges if each is not None), None)
        proofs = [*gate_proofs(view, task_id, gated), *(merge_proofs(merged) if merged else ())]
        for run in own[-1:] if merged is None else ():
            proofs += [*session_proofs(view, run, self._app.blobs), *stop_proofs(view, run)]
        outcome = _outcome(task, merged, proofs, is_claimed=bool(own) and not _is_empty(gated))
        return ReportedTask(
            task_id=task_id,
            goal=task.goal if task is not None else "",
            state=task.state if task is not None else DELETED,
            outcome=outcome,
            why=self._why(task, outcome, merged, proofs),
            merged=merged,
            proofs=proofs,
            cost=cost,
            change=_change(view, merged, [*own, *gated], self._app.blobs),
        )

    def _why(
        self, task: Task | None, outcome: str, merged: MergedWork | None, proofs: Sequence[Proof]
    ) -> str | None:
        if merged is not None:
            return merged.untested
        if outcome == UNPROVEN:
            return why_unproven({each.status for each in proofs})
        if task is None:
            return None
        found = self._blockers.get(task.id)
        return found.reason if found is not None else task.block_reason or task.result


def _outcome(
    task: Task | None, merged: MergedWork | None, proofs: Sequence[Proof], *, is_claimed: bool
) -> str:
    """What came of a task; `is_claimed` is whether an agent says that it is done."""
    if merged is not None:
        return UNTESTED if merged.untested else MERGED
    if task is None:
        return DELETED
    if task.state == states.COMPLETED and is_claimed:
        return UNPROVEN if why_unproven({each.status for each in proofs}) else states.COMPLETED
    return _STATES.get(task.state, task.state)


def _is_empty(gated: Sequence[Run]) -> bool:
    """Whether work was submitted that needed no commit, so that nothing could be checked."""
    last = gated[-1].value if gated else None
    return isinstance(last, dict) and last.get("outcome") == states.COMPLETED


def _session(view: View, run: Run, of_tasks: Mapping[str, str]) -> ReportedSession:
    known, ended = facts(view, run), last_ending(view, run.run_id)
    status, of_task = outcomes.outcome_word(known.status, known.limit), of_tasks.get(known.task_id)
    is_claim = status == outcomes.COMPLETED and of_task == UNPROVEN
    return ReportedSession(
        run_id=run.run_id,
        name=known.name,
        task_id=known.task_id,
        agent=known.agent,
        status=UNPROVEN if is_claim else status,
        iterations=ended.get("iterations", known.iteration) if ended else known.iteration,
        proven=of_task in GOOD or session_unproven(view, run) is None,
        why=known.reason,
    )


def _change(
    view: View, merged: MergedWork | None, runs: Sequence[Run], blobs: Blobs
) -> Change | None:
    """What to compare to see what work changes; None if nobody worked on it here."""
    if merged is not None:
        return Change(older=merged.before, newer=merged.sha)
    if not runs:
        return None
    last = runs[-1]
    if branch := last.input.get("branch"):
        # Until work is submitted, nothing commits what its agent left.
        tree = last_checks(view, last, blobs).tree if last.flow == SESSION else None
        return Change(older=last.input["base"], newer=f"refs/heads/{branch}", fork=True, tree=tree)
    older, newer = session_trees(view, last, blobs)
    if older and newer:
        return Change(older=older, newer=newer)
    return Change(older="", newer="", unknown=OWN_FOLDER)
