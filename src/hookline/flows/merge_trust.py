"""Before a merge: does the work change what trust covers? Then a person looks at it first."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from hookline.hooks.framing import framed
from hookline.project import CONFIG_NAME

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from hookline.domain.repository import Prepared
    from hookline.flows.effects import Surroundings
    from hookline.ports.work import Repository

# How a merge ends that is made later: once a person trusts it, or the forge lets it in.
UNTRUSTED, WAITS = "untrusted", "waits"
SHOWN = 10
ERRORS = 50


@asynccontextmanager
async def project_at(repository: Repository, root: str, commit: str) -> AsyncIterator[str]:
    """The project as a commit has it: its own folder in a checkout that is gone afterwards."""
    top = (await repository.describe()).top or root
    inside = os.path.relpath(os.path.realpath(root), os.path.realpath(top))
    async with repository.scratch(commit) as path:
        yield os.path.normpath(os.path.join(path, inside))


async def unfit_result(around: Surroundings, prepared: Prepared) -> dict[str, Any] | None:
    """Why a merge waits for a person's trust, or fails as it breaks the configuration."""
    trust, repository = around.merge_trust(), around.repository
    assert repository is not None
    names = await repository.changed_between(prepared.base_head, prepared.sha)
    configures = CONFIG_NAME in names
    if not (configures or (trust is not None and trust.may_concern(names))):
        return None
    async with project_at(repository, around.root, prepared.sha) as folder:
        if errors := around.configuration_errors(folder) if configures else []:
            return _broken(errors)
        found = trust.untrusted(folder, names) if trust is not None else []
    if not found:
        return None
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return {
        "status": UNTRUSTED,
        "message": f"the work changes what trust covers: {', '.join(found[:SHOWN])}{more}",
        "sha": prepared.sha,
        "base": prepared.base_head,
    }


def _broken(errors: list[str]) -> dict[str, Any]:
    """Nothing configured would run with it any more, so that nobody is asked to trust it."""
    prompt = (
        "Your work breaks the configuration of Hookline: with it no hook, gate or agent of the"
        " project would run. Fix these errors. `hookline check` shows them in this folder. If the"
        " task does not ask for a change there, undo yours.\n\n"
    )
    told = framed("The errors", "\n".join(errors[:ERRORS]))
    more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
    message = f"the work breaks the configuration: {errors[0]}{more}"
    return {"status": "failed", "message": message, "remediationPrompt": prompt + told}
