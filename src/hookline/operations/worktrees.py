"""The worktrees of tasks: what removing one would lose, and removing finished ones."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline.domain.tasks import ACTIVE, OPEN, Task, is_task_id, shown_state
from hookline.domain.work.repository import Cleaned, Kept, RepositoryError, Worktree, branch_of
from hookline.pipeline.gate_verbs import run_of
from hookline.sessions.starting import session_on
from hookline.wiring.project.clones import work_elsewhere
from hookline.wiring.working.repositories import repository

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.domain.work.places import WorkPlace
    from hookline.ports.repository import Repository
    from hookline.ports.store import View


class TaskWorktree(NamedTuple):
    """How far a worktree is ahead of its base, if known, and what is unsaved in it."""

    worktree: Worktree
    ahead: int | None
    unsaved: tuple[str, ...]


class WorktreeElsewhere(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A task's worktree in another clone of the project, and the copy with which to continue it."""

    task: str
    branch: str
    clone: str
    copied_at: str | None
    copied_bytes: int
    left_out: tuple[str, ...]


def worktrees_elsewhere(app: App) -> list[WorktreeElsewhere]:
    """The worktrees that other clones have which share the store."""
    return [_elsewhere(*each) for each in work_elsewhere(app).items()]


def _elsewhere(task_id: str, place: WorkPlace) -> WorktreeElsewhere:
    copy = place.copy
    return WorktreeElsewhere(
        task=task_id,
        branch=branch_of(task_id),
        clone=place.holder,
        copied_at=copy.taken_at if copy else None,
        copied_bytes=copy.size if copy else 0,
        left_out=copy.left_out if copy else (),
    )


async def worktrees(app: App) -> list[TaskWorktree]:
    """The worktree of each task."""
    git = repository(app)
    return [await _look_at(git, worktree) for worktree in await git.worktrees.list()]


async def _look_at(git: Repository, worktree: Worktree) -> TaskWorktree:
    tip = f"refs/heads/{worktree.branch}"
    try:
        ahead = (
            await git.history.commits_ahead(git.root, worktree.base, tip) if worktree.head else None
        )
        return TaskWorktree(worktree, ahead, await git.worktrees.unsaved(worktree.task))
    except RepositoryError as problem:  # the others are shown anyway
        return TaskWorktree(worktree, None, (problem.message,))


async def clean(app: App, named: list[str], *, discard: bool = False) -> list[Cleaned | Kept]:
    """Remove the worktrees of these tasks, or of all, that are no longer needed.

    `discard` removes what is unsaved in those that are named too, if their tasks are over.
    """
    git = repository(app)
    tasks = named or [each.task for each in await git.worktrees.list()]
    return [await _clean_one(app, git, task, discard=discard) for task in tasks]


async def _clean_one(
    app: App, git: Repository, task: str, *, discard: bool = False
) -> Cleaned | Kept:
    with app.read() as view:
        known = view.graph.find(task) if is_task_id(task) else None
        used = _why_in_use(view, known) if known is not None else None
    if used is None and discard and known is not None and known.state in OPEN:
        used = f"the task is {shown_state(known.state)}; `hookline task cancel {task}` ends it"
    if used is not None:
        return Kept(task, (used,))
    try:
        found = await (git.worktrees.discard if discard else git.worktrees.clean)(task)
    except RepositoryError as problem:  # the others are cleaned anyway
        return Kept(task, (problem.message,))
    is_over = is_task_id(task) and (known is None or known.state not in OPEN)
    if isinstance(found, Kept) and is_over and not discard:
        return msgspec.structs.replace(found, can_go=True)
    return found


async def remove_finished(app: App) -> None:
    """Remove worktrees of tasks that ended without a commit, if nothing is lost."""
    folder = os.path.join(app.project.folder, "worktrees")
    names = os.listdir(folder) if os.path.isdir(folder) else ()
    with app.read() as view:
        found = [view.graph.find(name) for name in names if is_task_id(name)]
    for task in found:
        if task is not None and task.state not in OPEN and not task.commits_count:
            await _clean_one(app, repository(app), task.id)  # `worktree list` shows what stays


def _why_in_use(view: View, task: Task) -> str | None:
    """Why a task's worktree is still needed, even if all of it is saved."""
    if task.state == ACTIVE or session_on(view, task.id) is not None:
        return "the task is active: someone is working there"
    if run_of(view, task.id) is not None:
        return "its work is going through its gates"
    return None
