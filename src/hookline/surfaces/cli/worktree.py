"""`hookline worktree`: the checkouts of tasks, and removing those that are no longer needed."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.repository import Kept, RepositoryError
from hookline.domain.tasks import ACTIVE, OPEN, is_task_id, task_id, task_number
from hookline.flows.gate_verbs import run_of
from hookline.flows.session_verbs import session_on
from hookline.surfaces.cli.command import Command, no_arguments
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import next_step, note, paint, say, say_json, untrusted
from hookline.wiring.calls import repository

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.adapters.repository import GitRepository
    from hookline.app import App
    from hookline.domain.repository import Cleaned, Worktree
    from hookline.domain.tasks import Task
    from hookline.ports.store import View

    Row = tuple[Worktree, int | None, tuple[str, ...]]


def _list(args: Namespace) -> None:
    with reading() as app:
        found = asyncio.run(_look(repository(app)))
    if args.json:
        say_json([_as_json(*row) for row in found])
        return
    for worktree, ahead, unsaved in found:
        say(_line(worktree, ahead, unsaved))
    if not found:
        say("no task has a worktree")
    elif not all(unsaved for _, _, unsaved in found):
        next_step("hookline worktree clean", "removes those with nothing unsaved")


async def _look(git: GitRepository) -> list[Row]:
    return [await _look_at(git, worktree) for worktree in await git.worktrees()]


async def _look_at(git: GitRepository, worktree: Worktree) -> Row:
    """How far it is ahead of its base, if that can be told, and what would be lost with it."""
    tip = f"refs/heads/{worktree.branch}"
    try:
        ahead = await git.commits_ahead(git.root, worktree.base, tip) if worktree.head else None
        return worktree, ahead, await git.unsaved(worktree.task)
    except RepositoryError as problem:  # the others are shown all the same
        return worktree, None, (problem.message,)


def _as_json(worktree: Worktree, ahead: int | None, unsaved: tuple[str, ...]) -> dict[str, Any]:
    return {**msgspec.to_builtins(worktree), "ahead": ahead, "unsaved": unsaved}


def _line(worktree: Worktree, ahead: int | None, unsaved: tuple[str, ...]) -> str:
    state = "its folder is gone" if worktree.lost else "; ".join(unsaved) or "nothing unsaved"
    if ahead is not None:
        commits = f"{ahead} commit{'' if ahead == 1 else 's'} ahead of {untrusted(worktree.base)}"
        state = f"{commits}; {state}"
    elif not worktree.head:
        state = f"its branch is gone; {state}"
    return f"{worktree.task:8} {worktree.branch:20} {untrusted(state)}"


def _clean_arguments(p: ArgumentParser) -> None:
    p.add_argument("task", nargs="*", help="the tasks (default: all whose worktrees are done with)")


def _clean(args: Namespace) -> None:
    named = [task_id(task_number(text)) for text in args.task]
    with reading() as app:
        found = asyncio.run(_sweep(app, named))
    kept = [each for each in found if isinstance(each, Kept)]
    if not args.json:
        for each in found:
            _tell(each)
        if not found:
            say("no task has a worktree")
    elif not (named and kept):
        say_json([_outcome(each) for each in found])
    if named and kept:
        reasons = "; ".join(f"{each.task}: {', '.join(each.unsaved)}" for each in kept)
        raise RepositoryError(
            f"not everything is saved, so it is kept: {untrusted(reasons)}",
            help="commit and push it, or merge it; then clean again",
        )


async def _sweep(app: App, named: list[str]) -> list[Cleaned | Kept]:
    git = repository(app)
    tasks = named or [each.task for each in await git.worktrees()]
    return [await _clean_one(app, git, task) for task in tasks]


async def _clean_one(app: App, git: GitRepository, task: str) -> Cleaned | Kept:
    with app.read() as view:
        known = view.graph.find(task) if is_task_id(task) else None
        used = _why_in_use(view, known) if known is not None else None
    if used is not None:
        return Kept(task, (used,))
    try:
        return await git.clean(task)
    except RepositoryError as problem:  # the others are cleaned all the same
        return Kept(task, (problem.message,))


async def remove_finished(app: App) -> None:
    """Remove worktrees of tasks that are over and came to no commit, if nothing is lost."""
    folder = os.path.join(app.project.folder, "worktrees")
    names = os.listdir(folder) if os.path.isdir(folder) else ()
    with app.read() as view:
        found = [view.graph.find(name) for name in names if is_task_id(name)]
    for task in found:
        if task is not None and task.state not in OPEN and not task.commits_count:
            await _clean_one(app, repository(app), task.id)  # `worktree list` shows what stays


def _why_in_use(view: View, task: Task) -> str | None:
    """Why a task's worktree is still needed, whatever is saved of it."""
    if task.state == ACTIVE or session_on(view, task.id) is not None:
        return "the task is active: somebody works there"
    if run_of(view, task.id) is not None:
        return "its work is on the way through its gates"
    return None


def _outcome(each: Cleaned | Kept) -> dict[str, Any]:
    unsaved = each.unsaved if isinstance(each, Kept) else ()
    return {
        "task": each.task,
        "removed": not isinstance(each, Kept) and each.removed,
        "unsaved": unsaved,
    }


def _tell(each: Cleaned | Kept) -> None:
    if isinstance(each, Kept):
        reasons = untrusted("; ".join(each.unsaved))
        note(f"{paint('kept', 'yellow', sys.stderr)} {each.task}: {reasons}")
    else:
        say(f"{each.task}: {'removed' if each.removed else 'there was nothing to remove'}")


WORKTREE_COMMANDS = {
    "list": Command("the worktree of each task, and what is unsaved", no_arguments, _list),
    "clean": Command("remove worktrees that hold nothing unsaved", _clean_arguments, _clean),
}
