"""Where work goes and where it began: recorded, so that no checkout has to be asked later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain.events import SYSTEM_NODE, Event
from hookline.domain.tasks import NO_CHANGES, REVIEW, Task
from hookline.tasks.planned import is_done_by_parts
from hookline.tasks.registrations import adopted_at

if TYPE_CHECKING:
    from hookline.domain.work.repository import Worktree
    from hookline.ports.store import Transaction, View

PINNED, BEGAN = "base_pinned", "work_began"
STARTED, SUBMITTED = "task_started", "task_submitted"
UPDATED, SENT_BACK = "task_updated", "task_needs_continuation"


class Base(NamedTuple):
    """The branch that finished work goes into; `unborn` if it had no commit when it was chosen."""

    branch: str
    unborn: bool


def pinned_base(view: View) -> Base | None:
    """The branch that finished work goes into; None until one is chosen."""
    pinned = view.log.events(node_id=SYSTEM_NODE, types=(PINNED,), after=adopted_at(view.log))
    if not pinned:
        return None
    data = pinned[-1].data
    return Base(str(data["branch"]), data.get("unborn") is True)


def pin_base(tx: Transaction, branch: str, *, unborn: bool = False) -> None:
    """Choose the branch that finished work goes into; the first that has a commit counts."""
    known = pinned_base(tx)
    if known is None or (known.unborn and known != (branch, unborn)):
        tx.append(PINNED, SYSTEM_NODE, {"branch": branch, **({"unborn": True} if unborn else {})})


def base_of(view: View, task_id: str) -> str | None:
    """The branch that the work of a task began on, and goes into; None if it was not recorded."""
    began = view.log.events(node_id=task_id, types=(BEGAN,), after=adopted_at(view.log))
    return str(began[-1].data["base"]) if began else None


def is_untouched(view: View, task_id: str) -> bool:
    """Whether nobody has begun or submitted work on a task; 0.1 recorded only its start."""
    return not view.log.events(node_id=task_id, types=(BEGAN, STARTED, SUBMITTED, SENT_BACK))


def start_of(view: View, task_id: str) -> str | None:
    """The commit that the branch of a task began at; None if it was not recorded."""
    began = view.log.events(node_id=task_id, types=(BEGAN,))
    return str(began[-1].data["start"]) if began else None


def reported_reasons(view: View, task: Task) -> str:
    """All reasons for which gates sent the work of a task back, as people were told them."""
    events = view.log.events(node_id=task.id, types=(SENT_BACK,))
    return "\n".join(str(event.data.get("reason")) for event in events if event.data.get("gate"))


def is_excused(view: View, task: Task) -> bool:
    """Whether no commit is expected: a person said so, parts were merged, or it is a review.

    A label that an agent gave a task from its session does not count.
    """
    if task.changes == NO_CHANGES or is_done_by_parts(view, task):
        return True
    if REVIEW not in task.labels:
        return False
    events = view.log.events(node_id=task.id, types=("task_created", UPDATED))
    labelled = [event for event in events if "labels" in _fields(event)]
    return "session" not in labelled[-1].metadata


def _fields(event: Event) -> dict[str, Any]:
    fields: dict[str, Any] = event.data["changes"] if event.type == UPDATED else event.data
    return fields


def note_start(tx: Transaction, place: Worktree, start: str) -> None:
    """Record where the branch of a task begins."""
    tx.append(BEGAN, place.task, {"branch": place.branch, "base": place.base, "start": start})
