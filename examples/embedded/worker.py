"""A program that uses Hookline as a library: a store, a hook in this process, and a work loop."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from hookline import App, Event, HookContext, hook
from hookline.domain.payloads import TaskCompleted
from hookline.tasks import claims, verbs


@hook("task_completed", priority=50)
async def celebrate(event: Event, context: HookContext) -> list[dict[str, Any]]:
    """Print what was finished; the last of the three asks for a party."""
    data = msgspec.convert(event.data, TaskCompleted)
    task = context.graph.task(event.node_id)
    print(f"{task.id} {task.goal}: {data.result}")
    if context.event_log.events(types=["task_completed"])[2:]:
        return [{"type": "create_task", "payload": {"goal": "Party", "labels": ["fun"]}}]
    return []


def main() -> None:
    """Add three tasks, work through them as an agent would, and show what is left."""
    app = App.open()
    app.registry.register(celebrate)
    try:
        design = app.change(verbs.add, "Design")
        build = app.change(verbs.add, "Build", depends_on=[design.id])
        app.change(verbs.add, "Ship", depends_on=[build.id])
        for _ in range(3):
            task = app.change(claims.claim_next, "worker-1")
            assert task.claim is not None
            holder = verbs.Holder(token=task.claim.token)
            app.change(verbs.start, task.id, holder=holder)
            app.change(verbs.complete, task.id, result="done", holder=holder)
            asyncio.run(app.deliver())
        with app.read() as view:
            print("ready:", ", ".join(task.goal for task in view.graph.ready(10, app.store.now())))
    finally:
        app.close()


if __name__ == "__main__":
    main()
