"""What can be done with a task. Each verb checks, then appends events; the tables follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain import tasks as t
from hookline.domain.projection import UPDATABLE
from hookline.domain.tasks import Claim, Edge, Task
from hookline.errors import BadInput, ClaimRefused, IllegalTransition, StaleClaim, UnknownEdge
from hookline.immutable import Immutable
from hookline.tasks.types import ANY_TYPE, Types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.ports.store import Transaction


MAX_TEXT = 64 * 1024
MAX_ITEMS = 1000
MAX_PRIORITY = 1_000_000
# What every store can hold, and JSON readers count to.
MOST_COUNTED = 2**53 - 1


class Holder(Immutable):
    """Who writes to a task: an agent by name, and the token of its claim where it has one."""

    agent: str | None = None
    token: int | None = None


ANYONE = Holder()


def add(
    tx: Transaction,
    goal: str,
    *,
    deliverables: Sequence[str] = (),
    labels: Sequence[str] = (),
    priority: int = t.DEFAULT_PRIORITY,
    task_type: str | None = None,
    depends_on: Sequence[str] = (),
    parent: str | None = None,
    notes: Sequence[str] = (),
    changes: str | None = None,
    types: Types = ANY_TYPE,
    waits: bool = False,
) -> Task:
    """Add a task; without unmet dependencies it is ready at once, unless it `waits` for some."""
    parent, task_type = types.for_new(tx.graph, parent, task_type)
    data: dict[str, Any] = {
        "goal": check_text("goal", goal),
        "deliverables": check_texts("deliverables", deliverables),
        "labels": check_texts("labels", labels),
        "priority": check_priority(priority),
    }
    if task_type is not None:
        data["type"] = check_text("type", task_type)
    if parent is not None:
        data["parentTaskId"] = tx.graph.task(parent).id
    if notes:
        data["notes"] = check_texts("notes", notes)
    if changes is not None:
        data["changes"] = check_changes(changes)
    identifier = tx.next_task_id()
    tx.append("task_created", identifier, data)
    for target in dict.fromkeys(depends_on):
        link(tx, identifier, target)
    if not waits and tx.graph.unmet(identifier) == 0:
        tx.append("task_ready", identifier, {})
    return tx.graph.task(identifier)


def promote(tx: Transaction, identifier: str) -> Task:
    """Make a waiting task ready if nothing holds it back."""
    task = tx.graph.task(identifier)
    if task.state == t.CREATED and tx.graph.unmet(identifier) == 0:
        tx.append("task_ready", task.id, {})
        return tx.graph.task(identifier)
    return task


def make_ready(tx: Transaction, identifier: str) -> Task:
    """Make a waiting task ready; one that still has unmet dependencies is refused."""
    task = tx.graph.task(identifier)
    event_type = t.check_transition(task, "ready")
    unmet = tx.graph.unmet(task.id)
    if unmet:
        raise IllegalTransition(f"{task.id} still waits for {unmet} of its dependencies")
    return _record(tx, task, event_type, {})


def start(
    tx: Transaction,
    identifier: str,
    *,
    context: Any = None,
    at: str | None = None,
    holder: Holder = ANYONE,
) -> Task:
    """Start a task."""
    data = {"context": {} if context is None else context}
    return _do("start", tx, identifier, holder, _dated(data, "startedAt", at))


def complete(
    tx: Transaction,
    identifier: str,
    *,
    result: str | None = None,
    artifacts: Sequence[str] = (),
    at: str | None = None,
    holder: Holder = ANYONE,
) -> Task:
    """Complete a task."""
    data = {
        "result": optional_text("result", result),
        "artifacts": check_texts("artifacts", artifacts),
    }
    return _do("complete", tx, identifier, holder, _dated(data, "completedAt", at))


def submit(
    tx: Transaction, identifier: str, *, result: str | None = None, holder: Holder = ANYONE
) -> Task:
    """Submit a task's work to its gates."""
    return _do("submit", tx, identifier, holder, {"result": optional_text("result", result)})


def send_back(
    tx: Transaction, identifier: str, *, reason: str, found: dict[str, Any] | None = None
) -> Task:
    """Send submitted work back; `found` is what its next session should know."""
    data = {"reason": optional_text("reason", reason), **(found or {})}
    return _do("continue", tx, identifier, ANYONE, data)


def block(
    tx: Transaction,
    identifier: str,
    *,
    reason: str,
    required_knowledge: Sequence[str] = (),
    holder: Holder = ANYONE,
) -> Task:
    """Block a task, with what it lacks."""
    data = {
        "reason": check_text("reason", reason),
        "requiredKnowledge": check_texts("required knowledge", required_knowledge),
    }
    return _do("block", tx, identifier, holder, data)


def unblock(tx: Transaction, identifier: str, *, holder: Holder = ANYONE) -> Task:
    """Unblock a task: it becomes ready, or waiting if a dependency is unmet."""
    task = _held(tx, identifier, holder)
    event_type = t.check_transition(task, "unblock")
    state = t.READY if tx.graph.unmet(task.id) == 0 else t.CREATED
    return _record(tx, task, event_type, {"state": state})


def fail(
    tx: Transaction, identifier: str, *, error: str | None = None, holder: Holder = ANYONE
) -> Task:
    """Mark a task as failed."""
    return _do("fail", tx, identifier, holder, {"error": optional_text("error", error)})


def cancel(
    tx: Transaction, identifier: str, *, reason: str | None = None, holder: Holder = ANYONE
) -> Task:
    """Cancel a task; its dependents no longer wait for it."""
    return _do("cancel", tx, identifier, holder, {"reason": optional_text("reason", reason)})


def delete(tx: Transaction, identifier: str, *, holder: Holder = ANYONE) -> int:
    """Delete a task and its edges; how many edges were deleted."""
    task = _held(tx, identifier, holder)
    dependents = [e.from_id for e in tx.graph.edges_to(task.id, "depends_on")]
    edges = len(tx.graph.edges_from(task.id)) + len(tx.graph.edges_to(task.id))
    data: dict[str, Any] = {"edgesRemoved": edges}
    if dependents:
        data["dependents"] = dependents
    tx.append("task_deleted", task.id, data)
    return edges


def update(
    tx: Transaction,
    identifier: str,
    changes: dict[str, Any],
    *,
    holder: Holder = ANYONE,
    types: Types = ANY_TYPE,
) -> Task:
    """Change a task's fields; names are those of the wire, `note` adds to the notes."""
    task = _held(tx, identifier, holder)
    new = dict(changes)
    if "note" in new:
        new["notes"] = [*task.notes, check_text("note", new.pop("note"))]
    unknown = sorted(set(new) - set(UPDATABLE.values()))
    if unknown or not new:
        help = f"fields that can be updated: {', '.join(UPDATABLE.values())}, note"
        raise BadInput(f"cannot update {', '.join(unknown) or 'nothing'}", help=help)
    for name, value in new.items():
        new[name] = _checked_field(name, value)
    if "type" in new:
        types.check_change(task, new["type"])
    if "labels" in new:
        types.check_labels(task, new["labels"])
    return _record(tx, task, "task_updated", {"changes": new})


def check_text(name: str, value: Any, *, empty: bool = False) -> str:
    """A text of sensible length, or an error that names the field."""
    if not isinstance(value, str) or not (value.strip() or empty):
        raise BadInput(f"{name} must be text" if empty else f"{name} must be some text")
    try:
        size = len(value.encode())
    except UnicodeEncodeError as problem:
        raise BadInput(f"{name} is not valid Unicode text") from problem
    if size > MAX_TEXT:
        help = "put large content in a file and pass its name"
        raise BadInput(f"{name} has {size:,} bytes; the limit is {MAX_TEXT:,}", help=help)
    return value


def optional_text(name: str, value: Any) -> str | None:
    """A text that may be missing or empty."""
    return None if value is None else check_text(name, value, empty=True)


def check_texts(name: str, values: Any) -> list[str]:
    """A list of texts without repetitions, or an error that names the field."""
    if not isinstance(values, list | tuple):
        raise BadInput(f"{name} must be a list of texts")
    found = list(dict.fromkeys(check_text(name, value) for value in values))
    if len(found) > MAX_ITEMS:
        raise BadInput(f"{name}: {len(found)} entries; the limit is {MAX_ITEMS}")
    return found


def check_priority(value: Any) -> int:
    """A priority: a whole number, 0 first."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_PRIORITY:
        raise BadInput(
            f"priority must be a whole number from 0, not {value!r}", help="0 comes first"
        )
    return value


def check_holder(task: Task, holder: Holder, now: str) -> None:
    """Refuse a writer whose claim was superseded, and an agent that holds none."""
    claim = task.claim
    if holder.token is not None:
        if claim is None or claim.token != holder.token:
            raise StaleClaim(f"token {holder.token} is no longer the current claim on {task.id}")
        return
    if holder.agent and claim and claim.agent != holder.agent and claim.lease_until > now:
        raise taken(task, claim)


def taken(task: Task, claim: Claim) -> ClaimRefused:
    """The error for a task that another agent has claimed."""
    return ClaimRefused(
        f"{task.id} is claimed by {claim.agent} until {claim.lease_until}",
        help="take another one: `hookline task next --claim`",
    )


def _held(tx: Transaction, identifier: str, holder: Holder) -> Task:
    task = tx.graph.task(identifier)
    check_holder(task, holder, tx.now)
    return task


def _do(verb: str, tx: Transaction, identifier: str, holder: Holder, data: dict[str, Any]) -> Task:
    """Take a task from one state to the next, if its holder and its state allow that."""
    task = _held(tx, identifier, holder)
    return _record(tx, task, t.check_transition(task, verb), data)


def _record(tx: Transaction, task: Task, event_type: str, data: dict[str, Any]) -> Task:
    tx.append(event_type, task.id, data)
    return tx.graph.task(task.id)


def _dated(data: dict[str, Any], name: str, at: str | None) -> dict[str, Any]:
    return data if at is None else {**data, name: at}


def _checked_field(name: str, value: Any) -> Any:
    if name in ("labels", "desiredDeliverables", "notes"):
        return check_texts(name, value)
    if name == "priority":
        return check_priority(value)
    if name in ("commitsCount", "turnsUsed"):
        return check_count(name, value)
    if value is None and name in ("type", "prUrl", "changes"):
        return None
    if name == "changes":
        return check_changes(value)
    return check_text(name, value)


def check_changes(value: Any) -> str:
    """The only value of `changes`: that a task makes none."""
    if value != t.NO_CHANGES:
        raise BadInput(f"changes can only be '{t.NO_CHANGES}'", help="leave it out otherwise")
    return t.NO_CHANGES


def check_count(name: str, value: Any) -> int:
    """A whole number that counts something."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_COUNTED:
        shown = repr(value)[:80]
        raise BadInput(f"{name} must be a whole number from 0 to {MOST_COUNTED}, not {shown}")
    return value


def link(tx: Transaction, from_id: str, to_id: str) -> Edge:
    """Let one task depend on another; a ready task goes back to waiting if that is unmet."""
    source, target = tx.graph.task(from_id), tx.graph.task(to_id)
    if target.id in source.depends_on:
        raise BadInput(f"{source.id} already depends on {target.id}")
    tx.graph.make_room(source.id, target.id)
    data: dict[str, Any] = {"fromId": source.id, "toId": target.id, "edgeType": t.DEPENDS_ON}
    if source.state == t.READY and target.state not in t.SETTLED:
        data["state"] = t.CREATED
    tx.append("dependency_added", source.id, data)
    return Edge(source.id, target.id)


def unlink(tx: Transaction, from_id: str, to_id: str) -> Edge:
    """Let one task no longer depend on another."""
    source = tx.graph.task(from_id)
    target = tx.graph.task(to_id)
    if target.id not in source.depends_on:
        raise UnknownEdge(f"{source.id} does not depend on {target.id}")
    data = {"edgeId": t.edge_id(source.id, target.id), "fromId": source.id, "toId": target.id}
    tx.append("dependency_removed", source.id, data)
    return Edge(source.id, target.id)


def relink(
    tx: Transaction, from_id: str, *, add: Sequence[str] = (), remove: Sequence[str] = ()
) -> None:
    """Change what a task depends on, all or nothing."""
    for each in remove:
        unlink(tx, from_id, each)
    for each in add:
        link(tx, from_id, each)
