"""The status of a project: what runs, what waits, what was done since a person last looked."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.events import MERGED_UNTESTED
from hookline.domain.runs import model as runs
from hookline.domain.sessions import model as sessions
from hookline.domain.text.display import untrusted
from hookline.domain.timestamps import iso
from hookline.domain.work.submissions import MERGE
from hookline.queries.reports.proofs import session_unproven
from hookline.queries.session_details import UsedLimit, countdown, endings, used_at_rest
from hookline.queries.sessions import PAUSED, WAITING, facts
from hookline.queries.waiting.attention import attention
from hookline.queries.waiting.item import Item
from hookline.tasks.task_runs import live_sessions
from hookline.wiring.running.hosts import advancing, workers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.app import App
    from hookline.domain.events import Event
    from hookline.ports.store import View
    from hookline.queries.sessions import SessionFacts


class AtWork(msgspec.Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    """Something that runs by itself: a session, a worker or a run of a flow.

    One that only waits has `until` and `reason`, one that was stopped its `reason` and the
    `minutes` that it worked.
    """

    kind: str
    name: str
    command: str
    since: str | None = None
    run_id: str | None = None
    task_id: str | None = None
    goal: str | None = None
    agent: str | None = None
    iteration: int | None = None
    limits: list[UsedLimit] = []
    until: str | None = None
    reason: str | None = None
    pid: int | None = None
    minutes: float | None = None


class FinishedItem(msgspec.Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    """A task that was merged, or a session that completed; `untested` is why nothing tested it."""

    id: str
    goal: str
    at: str
    untested: str | None = None


class StoreSize(msgspec.Struct, frozen=True):
    """How much a project's store holds."""

    bytes: int
    events: int


class Status(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """Everything that `hookline status` says; `since` is when someone last looked."""

    running: list[AtWork]
    parked: list[AtWork]
    resting: list[AtWork]
    waiting: list[Item]
    merged: list[FinishedItem]
    completed: list[FinishedItem]
    since: str
    store: StoreSize


def status(app: App, since: str) -> Status:
    """The status of a project, with what was finished since a moment."""
    waiting = attention(app)
    with app.read() as view:
        known = [facts(view, run) for run in live_sessions(view)]
        alive = [_session(view, each) for each in known if each.is_alive]
        size = StoreSize(app.store.size(), view.log.last())
        return Status(
            running=[
                *_workers(app),
                *(each for each in alive if each.until is None),
                *_flows(view),
            ],
            parked=[each for each in alive if each.until is not None],
            resting=[_session(view, each) for each in known if _rests(each)],
            waiting=waiting,
            merged=list(_merged(view, since)),
            completed=list(_completed(view, since)),
            since=since,
            store=size,
        )


def _rests(known: SessionFacts) -> bool:
    """Whether a person stopped or paused a session; why others wait is told elsewhere."""
    return known.status in (sessions.STOPPED, PAUSED) and not known.planned


def _workers(app: App) -> Iterator[AtWork]:
    for each in workers(app.project.folder):
        since, command = iso(each.since), "hookline stop work"
        yield AtWork(kind="worker", name="worker", pid=each.pid, since=since, command=command)


def _session(view: View, known: SessionFacts) -> AtWork:
    is_waiting, name = known.status == WAITING, untrusted(shlex.quote(known.name))
    return AtWork(
        kind="session",
        name=known.name,
        run_id=known.run_id,
        task_id=known.task_id,
        goal=known.goal,
        agent=known.agent,
        since=known.created_at,
        iteration=known.iteration,
        limits=countdown(view, known.run_id, endings(view, known.run_id)),
        until=known.until if is_waiting else None,
        reason=known.reason,
        pid=known.pid,
        minutes=used_at_rest(view, known.run_id).get("minutes"),
        command=f"hookline {'attach' if known.is_alive else 'resume'} {name}",
    )


def _flows(view: View) -> Iterator[AtWork]:
    """Runs of flows that a process advances; those of sessions are shown as such."""
    for run in view.runs.runs(status=runs.RUNNING):
        if run.flow != sessions.FLOW and advancing(view, run.run_id):
            command = f"hookline flow status {run.run_id}"
            yield AtWork(
                kind="run",
                name=run.flow,
                run_id=run.run_id,
                task_id=run.input.get("taskId"),
                since=run.created_at,
                command=command,
            )


def _merged(view: View, since: str) -> Iterator[FinishedItem]:
    gated = {run.input["taskId"] for run in view.runs.of_flow(MERGE)}
    for event in _news(view, since, "task_completed"):
        task = view.graph.find(event.node_id) if event.node_id in gated else None
        if task is not None:
            found = view.log.latest(task.id, (MERGED_UNTESTED,))
            untested = str(found.data["reason"]) if found is not None else None
            yield FinishedItem(id=task.id, goal=task.goal, at=event.timestamp, untested=untested)


def _completed(view: View, since: str) -> Iterator[FinishedItem]:
    """Sessions in a person's own folder; elsewhere the merge is what counts."""
    for event in _news(view, since, "session_ended"):
        run = view.runs.find(event.node_id)
        if event.data["outcome"] == sessions.COMPLETED and run.input.get("branch") is None:
            why = session_unproven(view, run)
            name, goal = run.input["name"], run.input["goal"]
            yield FinishedItem(id=name, goal=goal, at=event.timestamp, untested=why)


def _news(view: View, since: str, kind: str) -> list[Event]:
    return view.log.events(types=(kind,), after=view.log.before(since))
