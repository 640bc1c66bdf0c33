"""Conflicts that an agent resolves by editing files: the git work before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.work.repository import Rebased, RepositoryError
from hookline.hooks.builtin.gates.conflict_prompts import (
    left_to_do,
    named_conflict,
    resolve_prompt,
)
from hookline.hooks.framing import framed

if TYPE_CHECKING:
    from hookline.pipeline.repository.requests import RepoRequest
    from hookline.ports.repository import Repository


class OpenedConflict(msgspec.Struct, omit_defaults=True):
    """A conflict in the files of a worktree, if `open`, with the prompt about it."""

    open: bool
    message: str = ""
    head: str | None = None
    onto: str | None = None
    prompt: str = ""
    note: str | None = None


class LeftToDo(msgspec.Struct):
    """What is left to do about a conflict."""

    message: str
    prompt: str
    note: str | None = None


async def open_conflict(repository: Repository, asked: RepoRequest) -> OpenedConflict:
    """Merge the base into the files; the prompt about them, if something conflicts."""
    base = asked.base
    try:
        found = await repository.conflicts.open(asked.worktree, base, branch=asked.branch)
    except RepositoryError as problem:  # preparing the work says what an agent can do about it
        return OpenedConflict(False, message=problem.message)
    if isinstance(found, Rebased):
        return OpenedConflict(False, head=found.head)
    prompt = resolve_prompt(base, found)
    return OpenedConflict(True, onto=found.onto, prompt=prompt, note=found.note)


async def still_open(repository: Repository, asked: RepoRequest) -> LeftToDo | None:
    """Why the conflict in a worktree is not resolved yet; None if nothing is left to do."""
    base = asked.base
    await _remember(repository, asked)
    # Without an answer, no turn of this run has been about the conflict.
    found = await repository.conflicts.find(asked.worktree, base, answered=asked.answered)
    if found is None or found.is_resolved:
        return None
    message = f"{named_conflict(base, found.files)}: {left_to_do(found)}"
    return LeftToDo(message, resolve_prompt(base, found), found.note)


async def close_conflict(repository: Repository, asked: RepoRequest) -> LeftToDo | None:
    """Commit a resolved conflict; what prevents it."""
    refused = await repository.conflicts.close(asked.worktree)
    if refused is None:
        return None
    prompt = (
        f"You resolved the conflict with {asked.base}, but git does not commit it. Find out why,"
        " and fix the cause in the files of this folder. Do not bypass a git hook with"
        " `--no-verify`. Do not abort the merge.\n\n" + framed("What git said", refused.output)
    )
    return LeftToDo(f"{refused.reason}: {refused.output}", prompt)


async def drop_conflict(repository: Repository, asked: RepoRequest) -> dict[str, str | None]:
    """Restore the worktree as it was before; the edits are kept."""
    try:
        await _remember(repository, asked)
        return {"kept": await repository.conflicts.drop(asked.worktree)}
    except RepositoryError as problem:
        return {"kept": None, "message": problem.message}


async def _remember(repository: Repository, asked: RepoRequest) -> None:
    """The open conflict that the run recorded, whatever an agent removed from the worktree."""
    if asked.note:
        await repository.conflicts.remember(asked.worktree, asked.note)
