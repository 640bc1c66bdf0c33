"""Beginning a task's work: its base is chosen, its worktree made, and where it began is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.repository import RepositoryError
from hookline.flows.judged import export_task
from hookline.tasks import work_record
from hookline.wiring.calls import repository

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.domain.repository import Worktree


async def check_repository(app: App) -> None:
    """Refuse a repository in which nothing can be done, before any task is begun."""
    git = repository(app)
    state = await git.describe()
    if state.blocking is not None:
        raise RepositoryError(state.blocking.message, help=state.blocking.help)
    await pin_base(app, await git.base_branch())


async def pin_base(app: App, branch: str | None = None) -> None:
    """Choose the base for good, unless the configuration names it or it was chosen before.

    Without a branch it is what the repository says now: later checkouts change nothing for tasks.
    """
    git = repository(app)
    if not git.base_is_chosen:
        chosen = branch or await git.base_branch()
        app.change(work_record.pin_base, chosen)


async def pin_first_base(app: App) -> None:
    """Choose the base of a project that is set up, before its first commit too."""
    git = repository(app)
    unborn = await git.unborn_branch()
    if unborn is None or git.base_is_chosen:
        await pin_base(app)
    else:
        app.change(work_record.pin_base, unborn, unborn=True)


async def person(app: App) -> str:
    """Who types this: as git knows them, else by the name of their account."""
    return await repository(app).identity() or str(app.metadata()["triggeredBy"])


async def begin_work(app: App, task_id: str) -> Worktree:
    """The worktree of a task, with the task in it as a file."""
    await pin_base(app)
    git = repository(app)
    place = await git.worktree(task_id)
    with app.read() as view:
        task = view.graph.task(task_id)
        is_known = work_record.start_of(view, task.id) is not None
    if place.fresh or not is_known:
        start = await git.merge_base(place.folder, place.base)
        app.change(work_record.note_start, place, start)
    with app.read() as view:
        export_task(view, task, place.folder)
    return place
