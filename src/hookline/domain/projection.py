"""What each event means for the task graph: the one definition that tables and folds share.

`changes` is pure: an event in, the new values of its task's columns out. The store applies them
to rows, `Fold` applies them to dictionaries, and `doctor` compares the two.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from hookline.domain import tasks as t

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

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


def changes(event_type: str, data: Mapping[str, Any], timestamp: str) -> Columns:
    """The columns of the event's task that change, with their new values."""
    return _MEANINGS[event_type](data, timestamp)


def _created(data: Mapping[str, Any], timestamp: str) -> Columns:
    return {
        "state": t.CREATED,
        "goal": data["goal"],
        "labels": tuple(data.get("labels", ())),
        "priority": data.get("priority", t.DEFAULT_PRIORITY),
        "type": data.get("type"),
        "desired_deliverables": tuple(data.get("deliverables", ())),
        "parent": data.get("parentTaskId"),
        "notes": tuple(data.get("notes", ())),
        "changes": data.get("changes"),
        "created_at": timestamp,
    }


def _updated(data: Mapping[str, Any], timestamp: str) -> Columns:
    new = data["changes"]
    return {
        column: tuple(new[wire]) if column in LISTS else new[wire]
        for column, wire in UPDATABLE.items()
        if wire in new
    }


_MEANINGS: dict[str, Callable[[Mapping[str, Any], str], Columns]] = {
    "task_created": _created,
    "task_ready": lambda data, at: {"state": t.READY},
    "task_claimed": lambda data, at: {"claim_agent": data["agent"], "claim_token": data["token"]},
    "task_released": lambda data, at: {"state": data["state"], **_NO_CLAIM},
    "task_started": lambda data, at: {"state": t.ACTIVE, "started_at": data.get("startedAt", at)},
    "task_updated": _updated,
    "task_blocked": lambda data, at: {
        "state": t.BLOCKED,
        "block_reason": data.get("reason"),
        "required_knowledge": tuple(data.get("requiredKnowledge", ())),
        **_NO_CLAIM,
    },
    "task_unblocked": lambda data, at: {
        "state": data["state"],
        "block_reason": None,
        "required_knowledge": (),
    },
    "task_submitted": lambda data, at: {"state": t.SUBMITTED, "result": data.get("result")},
    "task_needs_continuation": lambda data, at: {
        "state": t.NEEDS_CONTINUATION,
        "block_reason": data.get("reason"),
        **_NO_CLAIM,
    },
    "task_completed": lambda data, at: {
        "state": t.COMPLETED,
        "result": data.get("result"),
        "artifacts": tuple(data.get("artifacts", ())),
        "completed_at": data.get("completedAt", at),
        "block_reason": None,
        **_NO_CLAIM,
    },
    "task_failed": lambda data, at: {"state": t.FAILED, "result": data.get("error"), **_NO_CLAIM},
    "task_cancelled": lambda data, at: {"state": t.CANCELLED, **_NO_CLAIM},
    "task_deleted": lambda data, at: {},
    # A ready task that gets an unmet dependency waits again.
    "dependency_added": lambda data, at: {"state": data["state"]} if "state" in data else {},
    "dependency_removed": lambda data, at: {},
}


def changed_together() -> dict[str, tuple[str, ...]]:
    """Columns of a task that change at once, by what changes them; an update may change several."""
    found = {kind: tuple(meaning(defaultdict(str), "")) for kind, meaning in _MEANINGS.items()}
    found |= {f"{column}_updated": (column,) for column in UPDATABLE}
    del found["task_created"]
    return {name: columns for name, columns in found.items() if columns}


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
            self._link((node, t.SPAWNED_BY, data["parentTaskId"]))
        elif event.type == "dependency_added":
            self._link((data["fromId"], data["edgeType"], data["toId"]))
        elif event.type == "dependency_removed":
            self._unlink((data["fromId"], t.DEPENDS_ON, data["toId"]))
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
            and kind == t.DEPENDS_ON
            and self.tasks[target]["state"] not in t.SETTLED
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
