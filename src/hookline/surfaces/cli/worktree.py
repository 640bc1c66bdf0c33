"""`hookline worktree`: the checkouts of tasks, and removing those that are no longer needed."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.repository import Kept, RepositoryError
from hookline.domain.tasks import ACTIVE, is_task_id, task_id, task_number
from hookline.surfaces.cli.command import Command, no_arguments
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import next_step, note, paint, say, say_json, untrusted
from hookline.wiring.calls import repository

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.adapters.repository import GitRepository
    from hookline.app import App
    from hookline.domain.repository import Cleaned, Worktree


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


async def _look(git: GitRepository) -> list[tuple[Worktree, int, tuple[str, ...]]]:
    rows = []
    for worktree in await git.worktrees():
        tip = f"refs/heads/{worktree.branch}"
        ahead = await git.commits_ahead(git.root, worktree.base, tip)
        rows.append((worktree, ahead, await git.unsaved(worktree.task)))
    return rows


def _as_json(worktree: Worktree, ahead: int, unsaved: tuple[str, ...]) -> dict[str, Any]:
    return {**msgspec.to_builtins(worktree), "ahead": ahead, "unsaved": unsaved}


def _line(worktree: Worktree, ahead: int, unsaved: tuple[str, ...]) -> str:
    state = "its folder is gone" if worktree.lost else "; ".join(unsaved) or "nothing unsaved"
    commits = f"{ahead} commit{'' if ahead == 1 else 's'} ahead of {untrusted(worktree.base)}"
    return f"{worktree.task:8} {worktree.branch:20} {commits}; {untrusted(state)}"


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
    if known is not None and known.state == ACTIVE:
        return Kept(task, ("the task is active: somebody works there",))
    return await git.clean(task)


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
