"""The built-in hooks on task events: pure functions from an event and the graph to actions.

They run inside the transaction that caused the event, so what they ask for is never lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.hooks.records import Action
from hookline.domain.tasks import CREATED, DEPENDS_ON
from hookline.domain.timestamps import seconds
from hookline.hooks.builtin import NAMED_BUILTINS, REACT_BUILTINS
from hookline.hooks.registry import Hook, built_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hookline.domain.events import Event
    from hookline.ports.store import GraphView


def auto_create_review_task(event: Event, graph: GraphView) -> list[Action]:
    """Make a review task when an agent's task is completed."""
    task = graph.task(event.node_id)
    if "agent" not in task.labels or "review" in task.labels:
        return []
    review = {
        "goal": f"Review: {task.goal}",
        "deliverables": ["Review completed", "Feedback provided"],
        "labels": ["review", *task.labels],
        "priority": task.priority,
        "parentTaskId": task.id,
    }
    return [Action("create_task", review)]


def check_dependency_satisfaction(event: Event, graph: GraphView) -> list[Action]:
    """Make tasks ready whose last dependency was met, removed or given up."""
    settled = event.data.get("toId", event.node_id)
    waiting = [graph.task(identifier) for identifier in _waiting(event, graph)]
    ready = [task for task in waiting if task.state == CREATED and graph.unmet(task.id) == 0]
    return [action for task in ready for action in _make_ready(task.id, settled)]


def promote_stranded(graph: GraphView, stranded: Iterable[str]) -> list[Action]:
    """Make tasks ready whose last dependency was met while the hook above was off."""
    actions = []
    for identifier in stranded:
        settled = graph.task(identifier).depends_on
        actions += _make_ready(identifier, settled[-1] if settled else None)
    return actions


def _make_ready(identifier: str, settled: str | None) -> list[Action]:
    """Without a settled task, the dependencies were removed, and none was satisfied."""
    ready = Action("update_task", {"taskId": identifier, "action": "transition_to_ready"})
    if settled is None:
        return [ready]
    data = {"dependentTaskId": identifier, "completedTaskId": settled}
    notice = {"type": "dependency_satisfied", "nodeId": identifier, "data": data}
    return [ready, Action("log", notice)]


def _waiting(event: Event, graph: GraphView) -> Iterator[str]:
    if event.type == "dependency_removed":
        yield event.data["fromId"]
    elif event.type == "task_deleted":
        yield from event.data.get("dependents", ())
    else:
        yield from (edge.from_id for edge in graph.edges_to(event.node_id, DEPENDS_ON))


def track_agent_task_lifecycle(event: Event, graph: GraphView) -> list[Action]:
    """Log how long an agent's completed task took, and what it was."""
    if event.type != "task_completed":
        return []
    task = graph.task(event.node_id)
    if "agent" not in task.labels:
        return []
    duration = None
    if task.started_at and task.completed_at:
        duration = round((seconds(task.completed_at) - seconds(task.started_at)) * 1000)
    metrics = {
        "goal": task.goal,
        "labels": list(task.labels),
        "priority": task.priority,
        "durationMs": duration,
        "deliverables": list(task.desired_deliverables),
    }
    return [Action("log", {"type": "agent_metrics", "nodeId": task.id, "data": metrics})]


def native_hooks() -> list[Hook]:
    """The hooks that steer a run unless something else does; the engine knows what they do."""
    described = {
        "native-orchestrator": "Carry out everything that can run now.",
        "native-finalization": "Continue until the run is over.",
    }
    return [
        built_in(name, NAMED_BUILTINS[name], position=position, description=description)
        for position, (name, description) in enumerate(described.items(), start=1)
    ]


def lifecycle_hooks() -> list[Hook]:
    """The three, with their priorities."""
    handlers = {
        auto_create_review_task: 10,
        check_dependency_satisfaction: 20,
        track_agent_task_lifecycle: 50,
    }
    found = enumerate(zip(REACT_BUILTINS.items(), handlers.items(), strict=True))
    return [
        built_in(
            *(name, points),
            priority=priority,
            position=position,
            description=(handler.__doc__ or "").strip(),
            handler=handler,
        )
        for position, ((name, points), (handler, priority)) in found
    ]
