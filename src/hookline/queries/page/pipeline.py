"""The way of work to the base branch: lanes, gates as lights, the merge queue."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal

from hookline.domain.hooks.names import short_name
from hookline.domain.tasks import SUBMITTED
from hookline.domain.timestamps import iso
from hookline.domain.work.submissions import MERGE, SUBMIT
from hookline.hooks.gates.verdicts import verdicts_of
from hookline.pipeline.gate_verbs import open_runs, queued
from hookline.points import HOLDING
from hookline.queries.page.shown import Shown
from hookline.queries.sessions import SessionFacts, facts
from hookline.queries.submissions import submission_state
from hookline.queries.waiting.gates import waiting
from hookline.tasks.task_runs import live_sessions, runs_on
from hookline.wiring.running.hosts import workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.domain.tasks import Task
    from hookline.hooks.gates.verdicts import GateVerdict
    from hookline.ports.store import View

Light = Literal["passed", "failed", "waits", "asked", "skipped", "overridden", "not yet"]
_LIGHTS: Mapping[str, Light] = {
    "success": "passed",
    "skip": "skipped",
    "pending": "waits",
}


class WorkerRow(Shown):
    """A process that takes tasks."""

    pid: int
    since: str
    command: str


class GateLight(Shown):
    """The last that a gate said about the work, as a light."""

    point: str
    gate: str
    light: Light
    message: str
    at: str | None
    ms: float | None
    seq: int | None


class WorkRow(Shown):
    """A task's work on its way, with a light for each gate."""

    task_id: str
    goal: str
    state: str
    run_id: str | None
    flow: str | None
    outcome: str | None
    reason: str | None
    since: str | None
    until: str | None
    lights: list[GateLight]


class QueuedMerge(Shown):
    """A merge in the queue; the first one may merge. `seq` is its position."""

    place: int
    task_id: str
    run_id: str
    goal: str
    seq: int


class PipelinePage(Shown):
    """Who works on what, which gates said what, and what merges next."""

    seq: int
    workers: list[WorkerRow]
    lanes: list[SessionFacts]
    work: list[WorkRow]
    queue: list[QueuedMerge]


def pipeline_page(app: App) -> PipelinePage:
    """The way of all work that is not merged."""
    with app.read() as view:
        known = [facts(view, run) for run in live_sessions(view)]
        runs = {run.input["taskId"]: run for run in open_runs(view)}
        left = [task for task in view.graph.tasks(states=(SUBMITTED,)) if task.id not in runs]
        on_their_way = ((view.graph.find(task_id), run) for task_id, run in runs.items())
        return PipelinePage(
            seq=view.log.last(),
            workers=[_worker(each.pid, each.since) for each in workers(app.project.folder)],
            lanes=[each for each in known if each.is_alive],
            work=[
                *(_gated(app, view, task, run) for task, run in on_their_way if task is not None),
                *(_left(task) for task in left),
            ],
            queue=list(_queue(view)),
        )


def _worker(pid: int, since: float) -> WorkerRow:
    return WorkerRow(pid=pid, since=iso(since), command="hookline stop work")


def _gated(app: App, view: View, task: Task, run: Run) -> WorkRow:
    state, wait = submission_state(view, run, app.blobs), waiting(view, run.run_id)
    return WorkRow(
        task_id=task.id,
        goal=task.goal,
        state=task.state,
        run_id=run.run_id,
        flow=run.flow,
        outcome=state.outcome,
        reason=wait.reason if wait is not None else state.reason,
        since=wait.since if wait is not None else run.updated_at,
        until=wait.until if wait is not None else None,
        lights=list(_lights(app, view, task, run)),
    )


def _left(task: Task) -> WorkRow:
    """Submitted work that no run takes on its way."""
    return WorkRow(
        task_id=task.id,
        goal=task.goal,
        state=task.state,
        run_id=None,
        flow=None,
        outcome=None,
        reason="no process takes it through its gates",
        since=None,
        until=None,
        lights=[],
    )


def _lights(app: App, view: View, task: Task, run: Run) -> Iterator[GateLight]:
    """The gates that apply, in order, and what each said last."""
    last = {(each.point, each.hook): each for each in _verdicts(view, task, run)}
    switches = view.switches.all()
    for point in HOLDING:
        gates = app.scopes.hooks_at(point, agent=run.input.get("agent"), task_type=task.type)
        for hook in gates:
            said = last.pop((point, hook.name), None)
            if said is not None:
                yield _light(said)
            elif switches.get(hook.name, hook.enabled):
                yield GateLight(
                    point=point,
                    gate=short_name(hook.name),
                    light="not yet",
                    message="",
                    at=None,
                    ms=None,
                    seq=None,
                )
    yield from (_light(said) for said in last.values() if said.hook is not None)


def _verdicts(view: View, task: Task, run: Run) -> Iterator[GateVerdict]:
    """What gates said on the way of this work: a merge follows the submission that passed."""
    if run.flow == MERGE:
        before = deque(runs_on(view, task.id, SUBMIT), maxlen=1)
        for each in before:
            yield from verdicts_of(view, each)
    yield from verdicts_of(view, run)


def _light(said: GateVerdict) -> GateLight:
    light = "asked" if said.is_under_way else _LIGHTS.get(said.status, "failed")
    return GateLight(
        point=said.point,
        gate=short_name(said.hook or ""),
        light=light,
        message=said.message,
        at=said.started_at,
        ms=said.duration_ms,
        seq=said.seq,
    )


def _queue(view: View) -> Iterator[QueuedMerge]:
    for place, (run_id, seq) in enumerate(queued(view), 1):
        task_id = str(view.runs.find(run_id).input["taskId"])
        task = view.graph.find(task_id)
        yield QueuedMerge(
            place=place,
            task_id=task_id,
            run_id=run_id,
            goal=task.goal if task is not None else "",
            seq=seq,
        )
