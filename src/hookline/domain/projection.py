"""What each event means for the task graph: the one definition that tables and folds share.

`changes` is pure: an event in, the new values of its task's columns out. The store applies them
to rows, `Fold` applies them to dictionaries, and `doctor` compares the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.tasks import (
    ACTIVE,
    BLOCKED,
    CANCELLED,
    COMPLETED,
    CREATED,
    DEFAULT_PRIORITY,
    DEPENDS_ON,
    FAILED,
    NEEDS_CONTINUATION,
    READY,
    SETTLED,
    SPAWNED_BY,
    SUBMITTED,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hookline.domain.events import Event

# Column -> its name on the wire, for the fields that `task_updated` may change.
UPDATABLE = {
    "goal": "goal",
    "labels": "labels",
    "priority": "priority",
    "type": "type",
    "desired_deliverables": "desiredDeliverables",
    "notes": "notes",
    "pr_url": "prUrl",
    "commits_count": "commitsCount",
    "turns_used": "turnsUsed",
    "changes": "changes",
}
LISTS = frozenset({"labels", "desired_deliverables", "artifacts", "required_knowledge", "notes"})

Columns = dict[str, Any]
_NO_CLAIM: Columns = {"claim_agent": None, "claim_token": None}


def changes(event_type: str, data: dict[str, Any], timestamp: str) -> Columns:
    """The columns of the event's task that change, with their new values."""
    return _MEANINGS[event_type](data, timestamp)


def _created(data: dict[str, Any], timestamp: str) -> Columns:
    return {
        "state": CREATED,
        "goal": data["goal"],
        "labels": tuple(data.get("labels", ())),
        "priority": data.get("priority", DEFAULT_PRIORITY),
        "type": data.get("type"),
        "desired_deliverables": tuple(data.get("deliverables", ())),
        "parent": data.get("parentTaskId"),
        "notes": tuple(data.get("notes", ())),
        "changes": data.get("changes"),
        "created_at": timestamp,
    }


def _ready(data: dict[str, Any], timestamp: str) -> Columns:
    return {"state": READY}


def _claimed(data: dict[str, Any], timestamp: str) -> Columns:
    return {"claim_agent": data["agent"], "claim_token": data["token"]}


def _released(data: dict[str, Any], timestamp: str) -> Columns:
    return {"state": data["state"], **_NO_CLAIM}


def _started(data: dict[str, Any], timestamp: str) -> Columns:
    return {"state": ACTIVE, "started_at": data.get("startedAt", timestamp)}


def _updated(data: dict[str, Any], timestamp: str) -> Columns:
    new = data["changes"]
    return {
        column: tuple(new[wire]) if column in LISTS else new[wire]
        for column, wire in UPDATABLE.items()
        if wire in new
    }


def _blocked(data: dict[str, Any], timestamp: str) -> Columns:
    return {
        "state": BLOCKED,
        "block_reason": data.get("reason"),
        "required_knowledge": tuple(data.get("requiredKnowledge", ())),
        **_NO_CLAIM,
    }


def _unblocked(data: dict[str, Any], timestamp: str) -> Columns:
    return {"state": data["state"], "block_reason": None, "required_knowledge": ()}


def _submitted(data: dict[str, Any], timestamp: str) -> Columns:
    return {"state": SUBMITTED, "result": data.get("result")}


def _needs_continuation(data: dict[str, Any], timestamp: str) -> Columns:
    return {"state": NEEDS_CONTINUATION, "block_reason": data.get("reason"), **_NO_CLAIM}


def _completed(data: dict[str, Any], timestamp: str) -> Columns:
    return {
        "state": COMPLETED,
        "result": data.get("result"),
        "artifacts": tuple(data.get("artifacts", ())),
        "completed_at": data.get("completedAt", timestamp),
        "block_reason": None,
        **_NO_CLAIM,
    }


def _failed(data: dict[str, Any], timestamp: str) -> Columns:
    return {"state": FAILED, "result": data.get("error"), **_NO_CLAIM}


def _cancelled(data: dict[str, Any], timestamp: str) -> Columns:
    return {"state": CANCELLED, **_NO_CLAIM}


def _taken_back(data: dict[str, Any], timestamp: str) -> Columns:
    return {"state": data["state"]} if "state" in data else {}


def _nothing(data: dict[str, Any], timestamp: str) -> Columns:
    return {}


_MEANINGS: dict[str, Callable[[dict[str, Any], str], Columns]] = {
    "task_created": _created,
    "task_ready": _ready,
    "task_claimed": _claimed,
    "task_released": _released,
    "task_started": _started,
    "task_updated": _updated,
    "task_blocked": _blocked,
    "task_unblocked": _unblocked,
    "task_submitted": _submitted,
    "task_needs_continuation": _needs_continuation,
    "task_completed": _completed,
    "task_failed": _failed,
    "task_cancelled": _cancelled,
    "task_deleted": _nothing,
    "dependency_added": _taken_back,
    "dependency_removed": _nothing,
}


class Fold:
    """The task graph rebuilt from its events alone."""

    def __init__(self) -> None:
        self.tasks: dict[str, Columns] = {}
        self.edges: set[tuple[str, str, str]] = set()
        self._touching: dict[str, set[tuple[str, str, str]]] = {}

    def add_all(self, events: Iterable[Event]) -> Fold:
        """Apply events in order."""
        for event in events:
            self.add(event)
        return self

    def add(self, event: Event) -> None:
        """Apply one event; types that carry no state change nothing."""
        if event.type not in _MEANINGS:
            return
        node, data = event.node_id, event.data
        self.tasks.setdefault(node, {}).update(changes(event.type, data, event.timestamp))
        if event.type == "task_created" and data.get("parentTaskId"):
            self._link((node, SPAWNED_BY, data["parentTaskId"]))
        elif event.type == "dependency_added":
            self._link((data["fromId"], data["edgeType"], data["toId"]))
        elif event.type == "dependency_removed":
            self._unlink((data["fromId"], DEPENDS_ON, data["toId"]))
        elif event.type == "task_deleted":
            del self.tasks[node]
            for edge in list(self._touching.pop(node, ())):
                self._unlink(edge)

    def unmet(self, task_id: str) -> int:
        """How many dependencies still hold this task back."""
        return sum(
            1
            for source, kind, target in self._touching.get(task_id, ())
            if source == task_id
            and kind == DEPENDS_ON
            and self.tasks[target]["state"] not in SETTLED
        )

    def _link(self, edge: tuple[str, str, str]) -> None:
        self.edges.add(edge)
        self._touching.setdefault(edge[0], set()).add(edge)
        self._touching.setdefault(edge[2], set()).add(edge)

    def _unlink(self, edge: tuple[str, str, str]) -> None:
        self.edges.discard(edge)
        for end in (edge[0], edge[2]):
            if end in self._touching:
                self._touching[end].discard(edge)
