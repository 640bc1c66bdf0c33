"""A review policy: finished work on sensitive code gets a second pair of eyes."""

from __future__ import annotations

from typing import Any

from hookline import Event, HookContext, hook


@hook("task_completed", name="security-review")
def security_review(event: Event, context: HookContext) -> list[dict[str, Any]]:
    """Ask for a security review, once per task, and note it on the task."""
    task = context.graph.task(event.node_id)
    spawned = [context.graph.task(edge.from_id) for edge in context.graph.edges_to(task.id)]
    if "security" in task.labels or any("security" in each.labels for each in spawned):
        return []
    review = {
        "goal": f"Security review: {task.goal}",
        "labels": ["security", "review"],
        "deliverables": ["Findings, or the words 'no findings'"],
        "priority": 0,
        "parentTaskId": task.id,
    }
    note = {"note": "a security review was asked for"}
    return [
        {"type": "create_task", "payload": review},
        {
            "type": "update_task",
            "payload": {"taskId": task.id, "action": "update", "payload": note},
        },
    ]
