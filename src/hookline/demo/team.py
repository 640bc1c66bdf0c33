"""A python hook: a function of the event that returns what should be done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hookline import Event, HookContext


def announce(event: Event, context: HookContext) -> list[dict[str, Any]]:
    """Ask for a task that tells the team what was finished."""
    task = context.graph.task(event.node_id)
    goal = f"Tell the team: {task.goal}"
    return [{"type": "create_task", "payload": {"goal": goal, "priority": 3}}]
