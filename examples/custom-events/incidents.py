"""A failed deployment becomes a task, and an event of its own that others may subscribe to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hookline import Event, HookContext


def open_incident(event: Event, context: HookContext) -> list[dict[str, Any]]:
    """Add the most urgent task, and log that an incident is open."""
    environment = event.data.get("environment", "an unnamed environment")
    task = {
        "goal": f"Find out why the deployment to {environment} failed",
        "labels": ["incident"],
        "priority": 0,
    }
    return [
        {"type": "create_task", "payload": task},
        {"type": "log", "payload": {"type": "incident_opened", "data": event.data}},
    ]
