"""Where work goes and where it began: on record, so that no checkout has to be asked later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.events import SYSTEM_NODE

if TYPE_CHECKING:
    from hookline.domain.repository import Worktree
    from hookline.ports.store import Transaction, View

PINNED, BEGAN = "base_pinned", "work_began"


def pinned_base(view: View) -> str | None:
    """The branch that finished work goes into; None as long as none was chosen."""
    pinned = view.log.events(node_id=SYSTEM_NODE, types=(PINNED,))
    return str(pinned[-1].data["branch"]) if pinned else None


def pin_base(tx: Transaction, branch: str) -> None:
    """Choose the branch that finished work goes into; the first choice counts."""
    if pinned_base(tx) is None:
        tx.append(PINNED, SYSTEM_NODE, {"branch": branch})


def start_of(view: View, task_id: str) -> str | None:
    """The commit that the branch of a task began at; None if nobody wrote it down."""
    began = view.log.events(node_id=task_id, types=(BEGAN,))
    return str(began[-1].data["start"]) if began else None


def note_start(tx: Transaction, place: Worktree, start: str) -> None:
    """Write down where the branch of a task begins."""
    tx.append(BEGAN, place.task, {"branch": place.branch, "base": place.base, "start": start})
