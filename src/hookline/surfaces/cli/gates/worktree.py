"""`hookline worktree`: the checkouts of tasks, and removing those that are no longer needed."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.tasks import task_id, task_number
from hookline.domain.work.repository import Cleaned, Kept, RepositoryError
from hookline.errors import UsageError
from hookline.operations.worktrees import clean, worktrees, worktrees_elsewhere
from hookline.surfaces.cli.command import Command, no_arguments, task_argument
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import answer, next_step, note, paint, say, say_json, untrusted
from hookline.trust.people import refuse_agents

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.domain.work.repository import Worktree
    from hookline.operations.worktrees import WorktreeElsewhere


def _list(args: Namespace) -> None:
    with reading() as app:
        found = asyncio.run(worktrees(app))
        others = worktrees_elsewhere(app)
    own = [{**msgspec.to_builtins(w), "ahead": a, "unsaved": u} for w, a, u in found]
    shown = [*own, *msgspec.to_builtins(others)]
    lines = [*(_line(*row) for row in found), *map(_line_elsewhere, others)]
    lines = lines or ["no task has a worktree"]
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


def _line_elsewhere(worktree: WorktreeElsewhere) -> str:
    copied = f"copied at {worktree.copied_at}" if worktree.copied_at else "no copy of it"
    left_out = f" without {', '.join(worktree.left_out)}" if worktree.left_out else ""
    state = untrusted(f"in {worktree.clone}; {copied}{left_out}")
    return f"{worktree.task:8} {worktree.branch:20} {state}"


def _clean_arguments(p: ArgumentParser) -> None:
    task_argument(p, nargs="*", help="the tasks (default: all that no longer need one)")
    help = "also remove unsaved work of these tasks, if they are over; a git ref keeps it"
    p.add_argument("--discard", action="store_true", help=help)


def _clean(args: Namespace) -> None:
    named = [task_id(task_number(text)) for text in args.task]
    if args.discard:
        refuse_agents(os.environ, "worktree clean --discard")
        if not named:
            help = "`hookline worktree list` shows what is unsaved in each"
            raise UsageError("name the tasks whose work is to be discarded", help=help)
    with reading() as app:
        found = asyncio.run(clean(app, named, discard=args.discard))
    kept = [each for each in found if isinstance(each, Kept)]
    names = " ".join(each.task for each in kept if each.can_go)
    other = f"; or discard it: `hookline worktree clean {names} --discard`" if names else ""
    if not args.json:
        for each in found:
            _tell(each)
        if not found:
            say("no task has a worktree")
    elif not (named and kept):
        say_json([_outcome(each) for each in found])
    if named and kept:
        reasons = "; ".join(f"{each.task}: {', '.join(each.unsaved)}" for each in kept)
        if args.discard:
            raise RepositoryError(f"not discarded: {untrusted(reasons)}")
        raise RepositoryError(
            f"kept, because not everything is saved: {untrusted(reasons)}",
            help=f"commit and push the work, or merge it, then run this again{other}",
        )
    if other and not args.json:
        note(other.removeprefix("; or "))


def _outcome(each: Cleaned | Kept) -> dict[str, Any]:
    is_removed = isinstance(each, Cleaned) and each.removed
    outcome = {"task": each.task, "removed": is_removed, "unsaved": each.unsaved}
    return {**outcome, "rescued": each.rescued} if isinstance(each, Cleaned) else outcome


def _tell(each: Cleaned | Kept) -> None:
    reasons = untrusted("; ".join(each.unsaved))
    if isinstance(each, Kept):
        note(f"{paint('kept', 'yellow', sys.stderr)} {each.task}: {reasons}")
        return
    done = "discarded" if each.rescued else "removed" if each.removed else "nothing to remove"
    say(f"{each.task}: {done}{f': {reasons}' if reasons else ''}")
    for number, ref in enumerate(each.rescued, 1):
        branch = f"rescued-{each.task}" + (f"-{number}" if number > 1 else "")
        say(f"  to have it back: git branch {branch} {ref}")


WORKTREE_COMMANDS = {
    "list": Command("list the worktrees of tasks, and what is unsaved", no_arguments, _list),
    "clean": Command("remove worktrees with nothing unsaved", _clean_arguments, _clean),
}
