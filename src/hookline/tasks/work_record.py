"""Where work goes and where it began: on record, so that no checkout has to be asked later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain.events import SYSTEM_NODE
from hookline.domain.tasks import NO_CHANGES
from hookline.tasks.registrations import adopted_at

if TYPE_CHECKING:
    from hookline.domain.events import Event
    from hookline.domain.repository import Worktree
    from hookline.domain.tasks import Task
    from hookline.ports.store import Transaction, View

PINNED, BEGAN = "base_pinned", "work_began"
UPDATED = "task_updated"
REVIEW = "review"


class Base(NamedTuple):
    """The branch that finished work goes into; `unborn` if it had no commit when it was chosen."""

    branch: str
    unborn: bool


def pinned_base(view: View) -> Base | None:
    """The branch that finished work goes into; None as long as none was chosen."""
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


def start_of(view: View, task_id: str) -> str | None:
    """The commit that the branch of a task began at; None if nobody wrote it down."""
    began = view.log.events(node_id=task_id, types=(BEGAN,))
    return str(began[-1].data["start"]) if began else None


def is_excused(view: View, task: Task) -> bool:
    """Whether nobody expects commits: a person said so, or the task is a review.

    A label that an agent put on a task out of its session excuses nobody.
    """
    if task.changes == NO_CHANGES:
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
    """Write down where the branch of a task begins."""
    tx.append(BEGAN, place.task, {"branch": place.branch, "base": place.base, "start": start})
