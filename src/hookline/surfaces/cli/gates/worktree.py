"""`hookline worktree`: the checkouts of tasks, and removing those that are no longer needed."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.repository import Kept, RepositoryError
from hookline.domain.tasks import task_id, task_number
from hookline.operations.worktrees import clean, worktrees
from hookline.surfaces.cli.command import Command, no_arguments, task_argument
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import answer, next_step, note, paint, say, say_json, untrusted

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.domain.repository import Cleaned, Worktree


def _list(args: Namespace) -> None:
    with reading() as app:
        found = asyncio.run(worktrees(app))
    shown = [{**msgspec.to_builtins(w), "ahead": a, "unsaved": u} for w, a, u in found]
    lines = [_line(*row) for row in found] or ["no task has a worktree"]
    if answer(args, shown, *lines) and not all(unsaved for _, _, unsaved in found):
        next_step("hookline worktree clean", "removes those with nothing unsaved")


def _line(worktree: Worktree, ahead: int | None, unsaved: tuple[str, ...]) -> str:
    state = "its folder is gone" if worktree.lost else "; ".join(unsaved) or "nothing unsaved"
    if ahead is not None:
        commits = f"{ahead} commit{'' if ahead == 1 else 's'} ahead of {untrusted(worktree.base)}"
        state = f"{commits}; {state}"
    elif not worktree.head:
        state = f"its branch is gone; {state}"
    return f"{worktree.task:8} {worktree.branch:20} {untrusted(state)}"


def _clean_arguments(p: ArgumentParser) -> None:
    task_argument(p, nargs="*", help="the tasks (default: all that no longer need one)")


def _clean(args: Namespace) -> None:
    named = [task_id(task_number(text)) for text in args.task]
    with reading() as app:
        found = asyncio.run(clean(app, named))
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
            f"kept, because not everything is saved: {untrusted(reasons)}",
            help="commit and push the work, or merge it; then run this again",
        )


def _outcome(each: Cleaned | Kept) -> dict[str, Any]:
    if isinstance(each, Kept):
        return {"task": each.task, "removed": False, "unsaved": each.unsaved}
    return {"task": each.task, "removed": each.removed, "unsaved": ()}


def _tell(each: Cleaned | Kept) -> None:
    if isinstance(each, Kept):
        reasons = untrusted("; ".join(each.unsaved))
        note(f"{paint('kept', 'yellow', sys.stderr)} {each.task}: {reasons}")
    else:
        say(f"{each.task}: {'removed' if each.removed else 'nothing to remove'}")


WORKTREE_COMMANDS = {
    "list": Command("list the worktrees of tasks, and what is unsaved", no_arguments, _list),
    "clean": Command("remove worktrees with nothing unsaved", _clean_arguments, _clean),
}
