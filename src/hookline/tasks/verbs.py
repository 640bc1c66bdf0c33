"""What can be done with a task. Each verb checks, then appends events; the tables follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain.projection import UPDATABLE
from hookline.domain.tasks import (
    CREATED,
    DEFAULT_PRIORITY,
    NO_CHANGES,
    READY,
    Task,
    check_transition,
)
from hookline.errors import BadInput, ClaimRefused, IllegalTransition, StaleClaim
from hookline.tasks.dependencies import link
from hookline.tasks.types import ANY_TYPE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.ports.store import Transaction
    from hookline.tasks.types import Types

MAX_TEXT = 64 * 1024
MAX_ITEMS = 1000
MAX_PRIORITY = 1_000_000


class Holder(NamedTuple):
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
    priority: int = DEFAULT_PRIORITY,
    task_type: str | None = None,
    depends_on: Sequence[str] = (),
    parent: str | None = None,
    notes: Sequence[str] = (),
    changes: str | None = None,
    types: Types = ANY_TYPE,
) -> Task:
    """Add a task; without unmet dependencies it is ready at once."""
    created = create(
        tx,
        goal,
        deliverables=deliverables,
        labels=labels,
        priority=priority,
        task_type=task_type,
        parent=parent,
        notes=notes,
        changes=changes,
        types=types,
    )
    for target in dict.fromkeys(depends_on):
        link(tx, created.id, target)
    return promote(tx, created.id)


def create(
    tx: Transaction,
    goal: str,
    *,
    deliverables: Sequence[str] = (),
    labels: Sequence[str] = (),
    priority: int = DEFAULT_PRIORITY,
    task_type: str | None = None,
    parent: str | None = None,
    notes: Sequence[str] = (),
    changes: str | None = None,
    types: Types = ANY_TYPE,
) -> Task:
    """Add a task that waits: its dependencies are still to come."""
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
    return tx.graph.task(identifier)


def promote(tx: Transaction, identifier: str) -> Task:
    """Make a waiting task ready if nothing holds it back."""
    task = tx.graph.task(identifier)
    if task.state == CREATED and tx.graph.unmet(identifier) == 0:
        tx.append("task_ready", task.id, {})
        return tx.graph.task(identifier)
    return task


def make_ready(tx: Transaction, identifier: str) -> Task:
    """Make a waiting task ready; one that still has unmet dependencies is refused."""
    task = tx.graph.task(identifier)
    event_type = check_transition(task, "ready")
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
    """Begin to work on a task."""
    task = _held(tx, identifier, holder)
    data = {"context": {} if context is None else context}
    return _record(tx, task, check_transition(task, "start"), _dated(data, "startedAt", at))


def complete(
    tx: Transaction,
    identifier: str,
    *,
    result: str | None = None,
    artifacts: Sequence[str] = (),
    at: str | None = None,
    holder: Holder = ANYONE,
) -> Task:
    """Say that a task is done."""
    task = _held(tx, identifier, holder)
    data = {
        "result": optional_text("result", result),
        "artifacts": check_texts("artifacts", artifacts),
    }
    return _record(tx, task, check_transition(task, "complete"), _dated(data, "completedAt", at))


def submit(
    tx: Transaction, identifier: str, *, result: str | None = None, holder: Holder = ANYONE
) -> Task:
    """Hand a task's work to its gates."""
    task = _held(tx, identifier, holder)
    return _record(
        tx, task, check_transition(task, "submit"), {"result": optional_text("result", result)}
    )


def send_back(
    tx: Transaction, identifier: str, *, reason: str, found: dict[str, Any] | None = None
) -> Task:
    """Return submitted work to whoever goes on with it; `found` is what they should know."""
    task = tx.graph.task(identifier)
    data = {"reason": optional_text("reason", reason), **(found or {})}
    return _record(tx, task, check_transition(task, "continue"), data)


def block(
    tx: Transaction,
    identifier: str,
    *,
    reason: str,
    required_knowledge: Sequence[str] = (),
    holder: Holder = ANYONE,
) -> Task:
    """Say that a task cannot go on, and what it lacks."""
    task = _held(tx, identifier, holder)
    data = {
        "reason": check_text("reason", reason),
        "requiredKnowledge": check_texts("required knowledge", required_knowledge),
    }
    return _record(tx, task, check_transition(task, "block"), data)


def unblock(tx: Transaction, identifier: str, *, holder: Holder = ANYONE) -> Task:
    """Let a blocked task go on: ready, or waiting where a dependency is still unmet."""
    task = _held(tx, identifier, holder)
    event_type = check_transition(task, "unblock")
    return _record(tx, task, event_type, {"state": _resting_state(tx, task)})


def fail(
    tx: Transaction, identifier: str, *, error: str | None = None, holder: Holder = ANYONE
) -> Task:
    """Give a task up because of an error."""
    task = _held(tx, identifier, holder)
    return _record(
        tx, task, check_transition(task, "fail"), {"error": optional_text("error", error)}
    )


def cancel(
    tx: Transaction, identifier: str, *, reason: str | None = None, holder: Holder = ANYONE
) -> Task:
    """Say that nobody wants a task any more; its dependents no longer wait for it."""
    task = _held(tx, identifier, holder)
    return _record(
        tx, task, check_transition(task, "cancel"), {"reason": optional_text("reason", reason)}
    )


def delete(tx: Transaction, identifier: str, *, holder: Holder = ANYONE) -> int:
    """Remove a task and its edges; how many edges went with it."""
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
        raise BadInput(
            f"cannot update {', '.join(unknown) or 'nothing'}",
            help=f"fields that can be updated: {', '.join(UPDATABLE.values())}, note",
        )
    for name, value in new.items():
        new[name] = _checked_field(name, value)
    if "type" in new:
        types.check_change(task, new["type"])
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
        raise BadInput(
            f"{name} has {size:,} bytes, at most {MAX_TEXT:,} fit",
            help="write large content to a file and name the file",
        )
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
        raise BadInput(f"{name}: {len(found)} entries, at most {MAX_ITEMS} fit")
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
        raise ClaimRefused(
            f"{task.id} is claimed by {claim.agent} until {claim.lease_until}",
            help="take another one: `hookline task next --claim`",
        )


def _held(tx: Transaction, identifier: str, holder: Holder) -> Task:
    task = tx.graph.task(identifier)
    check_holder(task, holder, tx.now)
    return task


def _record(tx: Transaction, task: Task, event_type: str, data: dict[str, Any]) -> Task:
    tx.append(event_type, task.id, data)
    return tx.graph.task(task.id)


def _resting_state(tx: Transaction, task: Task) -> str:
    return READY if tx.graph.unmet(task.id) == 0 else CREATED


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
    """What is known of the changes that a task makes: that there are none."""
    if value != NO_CHANGES:
        raise BadInput(f"changes can only be '{NO_CHANGES}'", help="leave it out otherwise")
    return NO_CHANGES


def check_count(name: str, value: Any) -> int:
    """A whole number that counts something."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadInput(f"{name} must be a whole number from 0, not {value!r}")
    return value
