"""Conflicts that an agent resolves by editing files: what the repository does before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.repository import Rebased, RepositoryError
from hookline.hooks.builtin.conflict_prompts import (
    found_prompt,
    left_to_do,
    named_conflict,
    resolve_prompt,
)
from hookline.hooks.framing import framed

if TYPE_CHECKING:
    from hookline.domain.repository import ConflictFile
    from hookline.ports.work import Repository


async def open_conflict(repository: Repository, args: dict[str, Any]) -> dict[str, Any]:
    """Merge the base into the files; the prompt about them, or none where nothing conflicts."""
    folder, base = args["worktree"], args["base"]
    try:
        found = await repository.open_conflict(folder, base, branch=args["branch"])
    except RepositoryError as problem:  # what an agent can do about it, preparing the work tells
        return {"open": False, "message": problem.message}
    if isinstance(found, Rebased):
        return {"open": False, "head": found.head}
    return {"open": True, "onto": found.onto, "prompt": resolve_prompt(base, found)}


async def still_open(repository: Repository, args: dict[str, Any]) -> dict[str, Any] | None:
    """Why the conflict in a worktree is not resolved yet; None if nothing is left to do."""
    base = args["base"]
    # Without it, no turn of this run has been about the conflict.
    answered = bool(args.get("answered"))
    found = await repository.conflict(args["worktree"], base, answered=answered)
    if found is None or found.is_resolved:
        return None
    message = f"{named_conflict(base, found.files)}: {left_to_do(found)}"
    return _refused(message, resolve_prompt(base, found))


async def close_conflict(repository: Repository, args: dict[str, Any]) -> dict[str, Any] | None:
    """Commit a conflict that is resolved; what stands in the way."""
    refused = await repository.close_conflict(args["worktree"])
    if refused is None:
        return None
    prompt = (
        f"You resolved the conflict with {args['base']}, but git does not commit it. Find out why,"
        " and fix the cause in the files of this folder. Do not bypass a hook of git with"
        " `--no-verify`. Do not abort the merge.\n\n" + framed("What git said", refused.output)
    )
    return _refused(f"{refused.reason}: {refused.output}", prompt)


async def drop_conflict(repository: Repository, args: dict[str, Any]) -> dict[str, Any]:
    """Bring the worktree back to before; what was edited is kept."""
    try:
        return {"kept": await repository.drop_conflict(args["worktree"])}
    except RepositoryError as problem:
        return {"kept": None, "message": problem.message}


def conflicting(
    base: str, onto: str, files: tuple[ConflictFile, ...], *, is_yours: bool
) -> dict[str, Any]:
    """What a merge comes to that is in conflict: `onto` if it can be opened for an agent."""
    return {
        "status": "conflict",
        "message": named_conflict(base, files),
        "remediationPrompt": found_prompt(base, onto, files, is_yours=is_yours),
        **({} if is_yours else {"onto": onto}),
    }


def _refused(message: str, prompt: str) -> dict[str, Any]:
    return {"refused": message, "remediationPrompt": prompt, "conflict": True}


ACTS = {"open_conflict": open_conflict, "drop_conflict": drop_conflict}
