"""An agent's word that its session's work is done; the session decides what it is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.tasks import OPEN, SPAWNED_BY
from hookline.errors import HooklineError
from hookline.tasks.verbs import optional_text

if TYPE_CHECKING:
    from hookline.domain.events import Event
    from hookline.domain.tasks import Task
    from hookline.ports.store import GraphView, Transaction

PROMISED = "session_promise"
_SHOWN = 20


class TasksOpen(HooklineError):
    """Tasks of this session are still open."""

    code = "tasks-open"


def promise_done(tx: Transaction, run: str, task: str, summary: str | None = None) -> Event:
    """Promise that a session is done; refused while tasks that came from its task are open."""
    left = open_descendants(tx.graph, task)
    if left:
        lines = [f"{each.id} ({each.state}): {_title(each)}" for each in left[:_SHOWN]]
        more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
        raise TasksOpen(
            f"{len(left)} tasks of this session are open: {'; '.join(lines)}{more}",
            help="finish them with task_complete, or give them up with task_update and"
            ' {"state": "cancelled"}; then call session_complete again',
        )
    data = {"type": "COMPLETE", "summary": optional_text("summary", summary)}
    return tx.append(PROMISED, run, data)


def open_descendants(graph: GraphView, task: str) -> list[Task]:
    """The tasks that came from a task, directly or not, and are not over."""
    found: list[Task] = []
    seen, waiting = {task}, [task]
    while waiting:
        for edge in graph.edges_to(waiting.pop(), SPAWNED_BY):
            if edge.from_id not in seen:
                seen.add(edge.from_id)
                waiting.append(edge.from_id)
                found.append(graph.task(edge.from_id))
    return [each for each in found if each.state in OPEN]


def _title(task: Task) -> str:
    return task.goal.strip().splitlines()[0][:80]
