"""Tasks that a task was split into: each is merged on its own, and the task itself comes last.

So an agent can promise that its session is done only when they are over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.tasks import COMPLETED, NEEDS_CONTINUATION, OPEN, SETTLED, SPAWNED_BY, Task
from hookline.domain.text.excerpts import first_few
from hookline.errors import CycleError, HooklineError
from hookline.tasks.verbs import link, optional_text

if TYPE_CHECKING:
    from hookline.domain.events import Event
    from hookline.ports.store import GraphView, Transaction, View


def tasks_below(view: View, task_id: str) -> list[Task]:
    """Everything that a task spawned, directly or not, in order."""
    found = descendants(view.graph, task_id)
    return sorted(found, key=lambda task: (task.priority, len(task.id), task.id))


def descendants(graph: GraphView, task_id: str) -> list[Task]:
    """The tasks that came from a task, directly or not."""
    found: dict[str, Task] = {}
    waiting = [task_id]
    while waiting:
        for edge in graph.edges_to(waiting.pop(), SPAWNED_BY):
            if edge.from_id not in found:
                found[edge.from_id] = graph.task(edge.from_id)
                waiting.append(edge.from_id)
    return list(found.values())


def await_parts(tx: Transaction, task_id: str) -> list[str]:
    """Let a task depend on all tasks below it that are not done; those it now waits for."""
    task = tx.graph.task(task_id)
    parts = [each.id for each in tasks_below(tx, task.id) if each.state not in SETTLED]
    return [part for part in parts if part in task.depends_on or _linked(tx, task, part)]


def _linked(tx: Transaction, task: Task, part: str) -> bool:
    """Let a task depend on one of its parts, unless that waits for the task itself."""
    try:
        with tx.nested():
            link(tx, task.id, part)
    except CycleError:
        return False
    return True


def needs_no_plan(view: View, task: Task) -> bool:
    """Whether a task is part of a plan, was planned before, or has work to continue."""
    is_part = task.parent_task_id is not None
    return is_part or task.state == NEEDS_CONTINUATION or bool(_parts(view, task))


def is_done_by_parts(view: View, task: Task) -> bool:
    """Whether parts that a task waited for were merged, so that nothing may be left to commit."""
    return any(each.state == COMPLETED and each.commits_count for each in _parts(view, task))


def _parts(view: View, task: Task) -> list[Task]:
    spawned = {edge.from_id for edge in view.graph.edges_to(task.id, SPAWNED_BY)}
    return [view.graph.task(each) for each in task.depends_on if each in spawned]


PROMISED = "session_promise"
_SHOWN = 20


class TasksOpen(HooklineError, code="tasks-open"):
    """Tasks of this session are still open."""


def promise_done(tx: Transaction, run: str, task: str, summary: str | None = None) -> Event:
    """Promise that a session is done; refused while tasks that came from its task are open."""
    left = open_descendants(tx.graph, task)
    if left:
        lines = [f"{each.id} ({each.state}): {_title(each)}" for each in left]
        raise TasksOpen(
            f"{len(left)} tasks of this session are open: {first_few(lines, _SHOWN, '; ')}",
            help="finish them with task_complete, or cancel them with task_update and"
            ' {"state": "cancelled"}; then call session_complete again',
        )
    data = {"type": "COMPLETE", "summary": optional_text("summary", summary)}
    return tx.append(PROMISED, run, data)


def open_descendants(graph: GraphView, task: str) -> list[Task]:
    """The tasks that came from a task, directly or not, and are not over."""
    return [each for each in descendants(graph, task) if each.state in OPEN]


def _title(task: Task) -> str:
    return task.goal.strip().splitlines()[0][:80]
