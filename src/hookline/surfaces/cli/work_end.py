"""What a worker came to: the tasks that it dealt with, and how each stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.submissions import MERGE
from hookline.domain.tasks import ACTIVE, BLOCKED, DEPENDS_ON, OPEN, READY
from hookline.domain.tasks import FAILED as TASK_FAILED
from hookline.errors import FAILED, INTERRUPTED, LIMIT, NEEDS_PERSON, OK
from hookline.flows.spending import WholeCost, cost_of
from hookline.surfaces.cli.cost_show import spent_text
from hookline.surfaces.cli.live_text import plural
from hookline.surfaces.cli.task_standing import (
    AT_GATES,
    SENT_BACK,
    STUCK,
    all_standing,
    implementers,
    untaken,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookline.adapters.store.sqlite import View
    from hookline.app import App
    from hookline.domain.runs import Run
    from hookline.domain.tasks import Task
    from hookline.flows.worker import Worker
    from hookline.surfaces.cli.work_desk import WorkDesk

SHOWN = 10


class Account(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """How a worker ended; `tasks` are the states of those that it dealt with.

    What it leaves behind is named, whoever worked on it last: `waiting` are the tasks at their
    gates, `failed` those that failed and that others depend on, `held_back` the tasks that depend
    on one of these, `held` those that somebody else works on, `not_taken` those that no agent of
    this worker may take. `why` has a reason for each that waits for something.
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
    why: dict[str, str]

    @property
    def exit_code(self) -> int:
        """How the command ends."""
        codes = {"stopped": INTERRUPTED, "limit": LIMIT}
        if self.left_alone or self._needs_person:
            codes["done"] = FAILED if self.left_alone else NEEDS_PERSON
        return codes.get(self.outcome, OK)

    @property
    def _needs_person(self) -> bool:
        with_person = self.sent_back, self.waiting, self.parked, self.blocked, self.failed
        return any((*with_person, self.not_taken))

    @property
    def headline(self) -> str:
        """Why it ended."""
        stopped = f"stopped, {self.reason}" if self.reason else "stopped"
        said = {"stopped": stopped, "limit": f"the limit of {self.limit} is reached"}
        return said.get(self.outcome, "nothing is left to do")

    @property
    def summary(self) -> str:
        """What came of it, in a line."""
        return ", ".join(self._parts())

    def _parts(self) -> Iterator[str]:
        yield f"{plural(self.begun, 'task')} begun"
        yield f"{len(self.merged)} merged"
        for found, text in (
            (self.merged_untested, "of them merged untested"),
            (self.sent_back, "sent back"),
            (self.waiting, "waiting at a gate"),
            (self.parked, "parked"),
            (self.blocked, "blocked"),
            (self.failed, "failed"),
            (self.left_alone, "that cannot be begun"),
            (self.held_back, "held back by these"),
            (self.held, "held by somebody else"),
            (self.not_taken, "that no agent here may take"),
        ):
            if found:
                yield f"{len(found)} {text} ({named(found)})"
        if spent := spent_text(self.cost):
            parts = [(f"{each.role} {each.agent}", spent_text(each)) for each in self.cost.roles]
            roles = [f"{who} {part}" for who, part in parts if part]
            yield f"{spent} ({'; '.join(roles)})"

    @property
    def next(self) -> tuple[str, str]:
        """The next useful command."""
        if self._needs_person or self.left_alone:
            return "hookline attention", "what waits for you"
        if self.outcome in ("stopped", "limit"):
            return "hookline work", "goes on"
        return "hookline task graph", ""


def account(app: App, worker: Worker, desk: WorkDesk, place: int) -> Account:
    """How a worker ended, from what the store says since a place in its log."""
    limit = worker.kept_from()
    with app.read() as view:
        cost = cost_of(desk.spending.turns(view))
        merges = _merges(view, desk, place)
        known = [view.graph.find(each) for each in sorted(desk.tasks, key=_number)]
        tasks = [task for task in known if task is not None]
        found = all_standing(app, view)

        def standing(kind: str) -> list[str]:
            return sorted((each for each in found if found[each].kind == kind), key=_number)

        sent_back, waiting, parked = standing(SENT_BACK), standing(AT_GATES), standing(STUCK)
        blocked, left_alone = standing(BLOCKED), sorted(desk.left, key=_number)
        stuck = (*sent_back, *waiting, *parked, *blocked, *left_alone)
        failed = _needed(view, view.graph.tasks(states=(TASK_FAILED,)))
        held = _held(view, app.store.now())
        not_taken = desk.not_for_any_lane(view)
        return Account(
            outcome="stopped" if worker.is_stopping else "limit" if limit else "done",
            reason=worker.why if worker.is_stopping else None,
            begun=worker.begun,
            limit=limit,
            usd=cost.usd or 0.0,
            cost=cost,
            tasks={task.id: task.state for task in tasks},
            merged=[run.input["taskId"] for run in merges],
            merged_untested=[run.input["taskId"] for run in merges if run.value.get("untested")],
            sent_back=sent_back,
            waiting=waiting,
            parked=parked,
            blocked=blocked,
            failed=failed,
            left_alone=left_alone,
            held_back=_dependents(view, (*stuck, *failed)),
            held=[each for each in held if each not in stuck],
            not_taken=not_taken,
            why={
                **{each: found[each].reason for each in stuck if each in found},
                **{each: _why_not_taken(app, view.graph.task(each)) for each in not_taken},
            },
        )


def _why_not_taken(app: App, task: Task) -> str:
    if (found := untaken(app, task.type)) is not None:
        return found.reason
    names = ", ".join(implementers(app, task.type))
    return f"no agent here may take it: tasks of type {task.type} are for {names}"


def _held(view: View, now: str) -> list[str]:
    """The tasks that somebody has."""
    tasks = view.graph.tasks(states=(READY, ACTIVE))
    return [task.id for task in tasks if task.claim and task.claim.lease_until > now]


def _needed(view: View, tasks: Sequence[Task]) -> list[str]:
    """Those of some tasks that an open one depends on."""
    return [task.id for task in tasks if _dependents(view, (task.id,))]


def _dependents(view: View, tasks: Sequence[str]) -> list[str]:
    """What cannot begin before these are done, however many steps away."""
    seen, waiting = set(tasks), list(tasks)
    while waiting:
        edges = view.graph.edges_to(waiting.pop(), DEPENDS_ON)
        new = {edge.from_id for edge in edges} - seen
        seen |= new
        waiting += new
    found = [view.graph.task(each) for each in seen.difference(tasks)]
    return sorted((task.id for task in found if task.state in OPEN), key=_number)


def named(found: Sequence[str]) -> str:
    """The first of these tasks or runs, and how many more there are."""
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return ", ".join(found[:SHOWN]) + more


def _number(task_id: str) -> int:
    return int(task_id.removeprefix("T-"))


def _merges(view: View, desk: WorkDesk, place: int) -> list[Run]:
    ended = view.log.events(types=("run_completed",), after=place)
    found = [view.runs.find(event.node_id) for event in ended]
    return [
        run
        for run in found
        if run.flow == MERGE
        and run.run_id in desk.merges
        and isinstance(run.value, dict)
        and run.value.get("outcome") == "merged"
    ]
