"""Starting a task's work: chooses its base, creates its worktree, records where it began."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.sessions.model import SessionBusy
from hookline.domain.work.repository import RepositoryError, Worktree
from hookline.pipeline.gate_verbs import run_of
from hookline.sessions.starting import refuse_second
from hookline.sessions.told.task_file import export_task
from hookline.tasks import work_record
from hookline.wiring.project.clones import work_elsewhere
from hookline.wiring.working.repositories import repository
from hookline.wiring.working.takeover import takeover

if TYPE_CHECKING:
    from hookline.app import App


async def check_repository(app: App) -> None:
    """Refuse a repository in which no work is possible, before any task is started."""
    git = repository(app)
    state = await git.describe()
    if state.blocking is not None:
        raise RepositoryError(state.blocking.message, help=state.blocking.help)
    await pin_base(app, await git.bases.branch())


async def pin_base(app: App, branch: str | None = None) -> None:
    """Choose the base permanently, unless the configuration names it or it was chosen before.

    Without a branch it is the repository's current one: later checkouts change nothing for tasks.
    """
    git = repository(app)
    if not git.bases.is_chosen:
        chosen = branch or await git.bases.branch()
        app.change(work_record.pin_base, chosen)


async def first_base(app: App) -> work_record.Base | None:
    """The base of a project that is being set up, even before its first commit; None if chosen."""
    git = repository(app)
    if git.bases.is_chosen:
        return None
    unborn = await git.bases.unborn_branch()
    found = work_record.Base(unborn or await git.bases.branch(), unborn is not None)
    with app.read() as view:
        return None if work_record.pinned_base(view) == found else found


async def person(app: App) -> str:
    """The user: the name from git, else that of the account."""
    return await repository(app).identity() or str(app.origin.metadata()["triggeredBy"])


async def bring_here(app: App, task_id: str) -> None:
    """Take a task's work over from another clone of the project, unless it is at work there."""
    if task_id in work_elsewhere(app):
        app.change(refuse_second, task_id)
        with app.read() as view:
            run = run_of(view, task_id)
        if run is not None:
            why = f"{task_id} is on its way through its gates ({run.run_id})"
            raise SessionBusy(why, help=f"`hookline submit {task_id}` continues it")
    if (others := takeover(app)) is not None:
        await others.bring(task_id, app.change)


async def begin_work(app: App, task_id: str) -> Worktree:
    """The worktree of a task, with the task in it as a file."""
    await pin_base(app)
    await bring_here(app, task_id)
    git = repository(app)
    with app.read() as view:
        first = work_record.is_untouched(view, task_id)
    place = await git.worktrees.open(task_id, first=first)
    with app.read() as view:
        task = view.graph.task(task_id)
        is_known = work_record.start_of(view, task.id) is not None
    # The task's dependencies may have been merged since its worktree was created.
    is_empty = not place.fresh and task.depends_on and not await git.worktrees.unsaved(task_id)
    if is_empty:
        await git.changes.rebase(place.folder, place.base, branch=place.branch)
    if place.fresh or is_empty or not is_known:
        start = await git.history.merge_base(place.folder, place.base)
        # First: whoever dies in between is not taken for one who has worked on it.
        clones = takeover(app)
        if clones is not None and (place.fresh or not await git.worktrees.unsaved(task_id)):
            clones.begin(place, app.change)
        app.change(work_record.note_start, place, start)
    with app.read() as view:
        export_task(view, task, place.folder)
    return place
