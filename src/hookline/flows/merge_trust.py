"""Before a merge: does the work change what trust covers? Then a person looks at it first."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from hookline.domain.repository import Prepared
    from hookline.flows.effects import Surroundings
    from hookline.ports.work import Repository

# How a merge ends that is made later: once a person trusts it, or the forge lets it in.
UNTRUSTED, WAITS = "untrusted", "waits"
SHOWN = 10


@asynccontextmanager
async def project_at(repository: Repository, root: str, commit: str) -> AsyncIterator[str]:
    """The project as a commit has it: its own folder in a checkout that is gone afterwards."""
    top = (await repository.describe()).top or root
    inside = os.path.relpath(os.path.realpath(root), os.path.realpath(top))
    async with repository.scratch(commit) as path:
        yield os.path.normpath(os.path.join(path, inside))


async def untrusted_result(around: Surroundings, prepared: Prepared) -> dict[str, Any] | None:
    """Why a merge waits for a person's trust; None if it need not."""
    trust, repository = around.merge_trust(), around.repository
    assert repository is not None
    if trust is None:
        return None
    names = await repository.changed_between(prepared.base_head, prepared.sha)
    if not trust.may_concern(names):
        return None
    async with project_at(repository, around.root, prepared.sha) as folder:
        found = trust.untrusted(folder, names)
    if not found:
        return None
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return {
        "status": UNTRUSTED,
        "message": f"the work changes what trust covers: {', '.join(found[:SHOWN])}{more}",
        "sha": prepared.sha,
        "base": prepared.base_head,
    }
