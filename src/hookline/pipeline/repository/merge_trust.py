"""Before a merge: if the work changes what trust covers, a person looks at it first."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from hookline.domain.text.excerpts import first_few
from hookline.hooks.framing import framed
from hookline.pipeline.repository.requests import UNTRUSTED, MergeResult
from hookline.project import CONFIG_NAME

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from hookline.domain.work.repository import Prepared
    from hookline.flows.attempt import Surroundings
    from hookline.ports.repository import Repository

SHOWN = 10
ERRORS = 50
# In a worktree `hookline check` alone is about the project that the worktree belongs to.
CHECK = 'HOOKLINE_DIR="$PWD/.hookline" hookline check'


@asynccontextmanager
async def project_at(
    repository: Repository, root: str, commit: str, base: str
) -> AsyncIterator[str]:
    """The project's folder in a temporary checkout of a commit."""
    top = (await repository.describe()).top or root
    inside = os.path.relpath(os.path.realpath(root), os.path.realpath(top))
    async with repository.scratch(commit, base) as path:
        yield os.path.normpath(os.path.join(path, inside))


async def unfit_result(around: Surroundings, prepared: Prepared) -> MergeResult | None:
    """Why a merge waits for a person's trust, or fails because it breaks the configuration."""
    trust, repository = around.merge_trust(), around.repository
    assert repository is not None
    names = await repository.history.changed_between(prepared.base_head, prepared.sha)
    configures = CONFIG_NAME in names
    if not (configures or (trust is not None and trust.may_concern(names))):
        return None
    async with project_at(repository, around.root, prepared.sha, prepared.base_head) as folder:
        if errors := around.configuration_errors(folder) if configures else []:
            return _broken(errors)
        found = trust.untrusted(folder, names) if trust is not None else []
    if not found:
        return None
    return MergeResult(
        status=UNTRUSTED,
        message=f"the work changes what trust covers: {first_few(found, SHOWN)}",
        sha=prepared.sha,
        base=prepared.base_head,
    )


def _broken(errors: list[str]) -> MergeResult:
    """Reject work that breaks the configuration, instead of asking a person to trust it."""
    prompt = (
        "With hookline.yaml as your work has it, no hook, gate or agent of the project would run."
        " If the task does not ask for a change in it, undo yours, which is allowed. If it does,"
        f" fix these errors, which `{CHECK}` shows in this folder.\n\n"
    )
    told = framed("The errors", "\n".join(errors[:ERRORS]))
    message = f"the work breaks the configuration: {first_few(errors, 1)}"
    return MergeResult(status="failed", message=message, remediation_prompt=prompt + told)
