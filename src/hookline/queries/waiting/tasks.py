"""Tasks that wait for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.sessions import model as sessions
from hookline.domain.tasks import BLOCKED, NEEDS_CONTINUATION, READY
from hookline.pipeline.gate_verbs import run_of
from hookline.queries.blockers import untaken
from hookline.queries.waiting import gates
from hookline.queries.waiting.item import Item, sentence, since_state

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hookline.app import App
    from hookline.ports.store import View
    from hookline.queries.sessions import SessionFacts

_STATES = {BLOCKED: "it is blocked", NEEDS_CONTINUATION: "it was sent back"}


def held_up_tasks(app: App, view: View, found: Iterable[SessionFacts]) -> Iterator[Item]:
    """Tasks that are blocked or were sent back, but for those of sessions that wait themselves."""
    ways_on = (sessions.ESCALATED, sessions.LIMIT)
    told = {known.task_id for known in found if known.status in ways_on}
    for task in view.graph.tasks(states=(BLOCKED, NEEDS_CONTINUATION)):
        if task.id in told or run_of(view, task.id) is not None:
            continue  # reported by its session or its gates, with the next command
        why = f": {task.block_reason}" if task.block_reason else ""
        hint, command = gates.left_help(app, view, task)
        message = sentence(f"{_STATES[task.state]}{why}{f'; {hint}' if hint else ''}")
        since = since_state(view, task)
        key = f"task {task.id} {since}"
        yield Item("task", task.id, since, message, command, key, node=task.id, goal=task.goal)


def untaken_tasks(app: App, view: View) -> Iterator[Item]:
    """Tasks that could start if an agent that may take them were available."""
    able: set[str | None] = set()  # types that an agent can take
    for task in view.graph.tasks(states=(READY,)):
        found = untaken(app, view, task.id, task.type) if task.type not in able else None
        if found is None:
            able.add(task.type)
        elif task.claim is None:
            yield Item(
                "task",
                task.id,
                since_state(view, task),
                sentence(found.reason),
                found.command,
                f"untaken {task.id}",
                node=task.id,
                goal=task.goal,
            )
