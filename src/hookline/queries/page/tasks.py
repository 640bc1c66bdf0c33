"""The list of tasks, and a task's story from idea to merge."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from hookline.domain import tasks as t
from hookline.domain.hooks.names import short_name
from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.tasks import Task
from hookline.hooks.history.explain import Explanation
from hookline.pipeline.gate_reviews import GateReview, gate_reviews
from hookline.queries.page.sessions import SessionRow, session_row
from hookline.queries.page.shown import EventRow, Shown, Text, Way, event_row, newest_seq, text
from hookline.queries.page.ways import task_ways
from hookline.queries.reports.project import task_report
from hookline.queries.reports.proofs import NONE, Proof
from hookline.queries.why import why
from hookline.sessions.spending import WholeCost, cost_of, turns_of
from hookline.tasks import notes
from hookline.tasks.task_runs import live_sessions, runs_on

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookline.app import App
    from hookline.ports.store import View

# The newest events of a task that its story has; the log has them all.
MOST_EVENTS = 1000


class TaskRow(Shown):
    """A task in a line: what it waits for, and the run of the session that works on it.

    `seq` is its newest event.
    """

    task: Task
    unmet: list[str]
    session: str | None
    seq: int


class TasksPage(Shown):
    """Tasks in the order in which they are taken; `next` is the `after` of those that follow.

    `counts` is how many there are in each state.
    """

    seq: int
    tasks: list[TaskRow]
    counts: dict[str, int]
    next: str | None


class TaskLink(Shown):
    """Another task, in a few words."""

    id: str
    goal: str
    state: str


class GateRow(Shown):
    """What a gate said about the work, and what its author answered."""

    seq: int
    at: str | None
    point: str
    gate: str
    status: str
    message: str
    comments: list[str]
    remediation: Text | None
    answer: str
    output: Text | None
    ms: float | None
    run_id: str | None


class TaskPage(Shown):
    """A task's story: its events, sessions and gates, what it cost, and why it is as it is.

    `outcome` is what came of it, such as `merged untested` or `completed unproven`, `proofs` are
    what checked it.
    """

    seq: int
    task: Task
    outcome: str
    outcome_why: str | None
    proofs: list[Proof]
    depends_on: list[TaskLink]
    dependents: list[TaskLink]
    parent: TaskLink | None
    parts: list[TaskLink]
    events: list[EventRow]
    sessions: list[SessionRow]
    gates: list[GateRow]
    notes: list[str]
    cost: WholeCost
    why: Explanation
    diff: str | None
    ways: list[Way]


class TaskFilter(NamedTuple):
    """Which tasks: in a state, with a label, of a type; `over` are those that are done, too.

    `names` are the only ones that are wanted, in whatever state.
    """

    state: str | None = None
    label: str | None = None
    type: str | None = None
    over: bool = False
    names: tuple[str, ...] | None = None


def tasks_page(app: App, wanted: TaskFilter, after: str | None, limit: int) -> TasksPage:
    """Tasks in the order in which they are taken."""
    with app.read() as view:
        everything = view.graph.tasks(states=t.STATES)
        whole = wanted.over or wanted.names is not None
        states = (wanted.state,) if wanted.state else t.STATES if whole else t.OPEN
        found = view.graph.tasks(states=states, label=wanted.label, task_type=wanted.type)
        if wanted.names is not None:
            found = [task for task in found if task.id in wanted.names]
        found.sort(key=_order)
        if after is not None:
            border = _order(view.graph.task(after))
            found = [task for task in found if _order(task) > border]
        settled = {task.id for task in everything if task.state in t.SETTLED}
        working = {run.input["taskId"]: run.run_id for run in live_sessions(view)}
        return TasksPage(
            seq=view.log.last(),
            tasks=[_row(view, task, settled, working) for task in found[:limit]],
            counts=dict(Counter(task.state for task in everything)),
            next=found[limit - 1].id if len(found) > limit else None,
        )


def _order(task: Task) -> tuple[int, int]:
    return task.priority, t.task_number(task.id)


def _row(view: View, task: Task, settled: set[str], working: Mapping[str, str]) -> TaskRow:
    return TaskRow(
        task=task,
        unmet=[each for each in task.depends_on if each not in settled],
        session=working.get(task.id),
        seq=newest_seq(view, task.id) or 0,
    )


# A task's story


def task_page(app: App, identifier: str) -> TaskPage:
    """Everything about one task."""
    reported = task_report(app, identifier).tasks[0]
    with app.read() as view:
        task = view.graph.task(identifier)
        runs = list(runs_on(view, task.id, SESSION))
        parts = (edge.from_id for edge in view.graph.edges_to(task.id, t.SPAWNED_BY))
        waiting = (edge.from_id for edge in view.graph.edges_to(task.id, t.DEPENDS_ON))
        has_work = any(runs_on(view, task.id)) or task.state in (t.SUBMITTED, t.COMPLETED)
        return TaskPage(
            seq=view.log.last(),
            task=task,
            outcome=reported.outcome,
            outcome_why=reported.why,
            proofs=reported.proofs,
            depends_on=_links(view, task.depends_on),
            dependents=_links(view, waiting),
            parent=next(iter(_links(view, filter(None, [task.parent_task_id]))), None),
            parts=_links(view, parts),
            events=[event_row(each) for each in view.log.events(node_id=task.id)[-MOST_EVENTS:]],
            sessions=[session_row(view, run) for run in runs],
            gates=[gate_row(each) for each in gate_reviews(view, task.id, app.blobs)],
            notes=[each.text for each in notes.listed(view.log, task=task.id)],
            cost=cost_of(turns_of(view, task.id)),
            why=why(app, view, task.id),
            diff=f"/api/tasks/{task.id}/diff" if has_work else None,
            ways=task_ways(view, task.id),
        )


def _links(view: View, names: Iterable[str]) -> list[TaskLink]:
    found = (view.graph.find(name) for name in names)
    return [TaskLink(id=e.id, goal=e.goal, state=e.state) for e in found if e is not None]


def gate_row(review: GateReview) -> GateRow:
    said = review.verdict
    prompt = said.remediation_prompt
    return GateRow(
        seq=said.seq,
        at=said.started_at,
        point=said.point,
        gate=short_name(said.hook or "no gate"),
        status=said.status if said.hook else NONE,
        message=said.message,
        comments=review.comments,
        remediation=text(prompt) if prompt else None,
        answer=review.answer,
        output=text(said.output) if said.output else None,
        ms=said.duration_ms,
        run_id=said.run,
    )
