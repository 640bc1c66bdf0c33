"""The result of a worker: the tasks that it dealt with, and their status."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.sessions.turns import AgentProblem
from hookline.domain.tasks import ACTIVE, BLOCKED, DEPENDS_ON, OPEN, READY
from hookline.domain.tasks import FAILED as TASK_FAILED
from hookline.queries import blockers
from hookline.queries.reports.merges import merges_since
from hookline.sessions.spending import WholeCost, cost_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hookline.app import App
    from hookline.ports.store import View
    from hookline.worker.loop import Worker
    from hookline.worker.task_picker import TaskPicker


# The status of a task that cannot continue without help, by the name of its list.
_KINDS = {
    "sent_back": blockers.SENT_BACK,
    "waiting": blockers.AT_GATES,
    "parked": blockers.STUCK,
    "blocked": BLOCKED,
}


class WorkAccount(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """How a worker ended; `tasks` are the states of those that it dealt with.

    What it leaves behind is listed, its own or not: `waiting` are the tasks at their
    gates, `failed` those that failed and that others depend on, `held_back` the tasks that depend
    on one of these, `held` those that someone else works on, `not_taken` those that no agent of
    this worker may take, or can. `unable` are the agents that cannot work. `why` has a reason for
    each that waits for something.
    """

    outcome: str
    reason: str | None
    begun: int
    limit: str | None
    usd: float
    cost: WholeCost
    tasks: dict[str, str]
    merged: list[str]
    merged_untested: list[str]
    sent_back: list[str]
    waiting: list[str]
    parked: list[str]
    blocked: list[str]
    failed: list[str]
    left_alone: list[str]
    held_back: list[str]
    held: list[str]
    not_taken: list[str]
    unable: dict[str, AgentProblem]
    why: dict[str, str]

    @property
    def needs_person(self) -> bool:
        """Whether something is left that needs a person."""
        with_person = self.sent_back, self.waiting, self.parked, self.blocked, self.failed
        return any((*with_person, self.not_taken, self.unable))


def account(app: App, worker: Worker, picker: TaskPicker, place: int) -> WorkAccount:
    """How a worker ended, from the store's log since a position."""
    limit = worker.kept_from()
    with app.read() as view:
        cost = cost_of(picker.spending.turns(view))
        merges = [run for run in merges_since(view, place) if run.run_id in picker.merges]
        known = [view.graph.find(each) for each in sorted(picker.tasks, key=_number)]
        tasks = [task for task in known if task is not None]
        found = blockers.all_blockers(app, view)
        in_order = sorted(found, key=_number)
        kinds = {
            name: [each for each in in_order if found[each].kind == kind]
            for name, kind in _KINDS.items()
        }
        left_alone = sorted(picker.choice.left, key=_number)
        stuck = (*chain.from_iterable(kinds.values()), *left_alone)
        over = view.graph.tasks(states=(TASK_FAILED,))
        failed = [task.id for task in over if _dependents(view, (task.id,))]
        held = _held(view, app.store.now())
        not_taken, unable = picker.choice.not_for_any_lane(view), picker.choice.unable.now(view)
        return WorkAccount(
            outcome="stopped" if worker.is_stopping else "limit" if limit else "done",
            reason=worker.why if worker.is_stopping else None,
            begun=worker.begun,
            limit=limit,
            usd=cost.usd or 0.0,
            cost=cost,
            tasks={task.id: task.state for task in tasks},
            merged=[run.input["taskId"] for run in merges],
            merged_untested=[run.input["taskId"] for run in merges if run.value.get("untested")],
            **kinds,
            failed=failed,
            left_alone=left_alone,
            held_back=_dependents(view, (*stuck, *failed)),
            held=[each for each in held if each not in stuck],
            not_taken=not_taken,
            unable=unable,
            why={
                **{each: found[each].reason for each in stuck if each in found},
                **{each: _why_not_taken(app, view, each, unable) for each in not_taken},
            },
        )


def _why_not_taken(app: App, view: View, task_id: str, unable: Collection[str]) -> str:
    task = view.graph.task(task_id)
    if (found := blockers.blocker(app, view, task)) is not None:
        return found.reason
    implementers = blockers.implementers(app, task.type)
    lame = [name for name in implementers or unable if name in unable]
    if lame:
        return f"no agent here can take it: {', '.join(lame)} cannot work"
    return f"no agent here may take it: tasks of type {task.type} are for {', '.join(implementers)}"


def _held(view: View, now: str) -> list[str]:
    """The tasks that someone has claimed."""
    tasks = view.graph.tasks(states=(READY, ACTIVE))
    return [task.id for task in tasks if task.claim and task.claim.lease_until > now]


def _dependents(view: View, tasks: Sequence[str]) -> list[str]:
    """The tasks that depend on these, directly or not."""
    seen, waiting = set(tasks), list(tasks)
    while waiting:
        edges = view.graph.edges_to(waiting.pop(), DEPENDS_ON)
        new = {edge.from_id for edge in edges} - seen
        seen |= new
        waiting += new
    found = [view.graph.task(each) for each in seen.difference(tasks)]
    return sorted((task.id for task in found if task.state in OPEN), key=_number)


def _number(task_id: str) -> int:
    return int(task_id.removeprefix("T-"))
