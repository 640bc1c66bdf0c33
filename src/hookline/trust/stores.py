"""Which stores are this user's own: one that came with a repository is only read until trusted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.digest import sha256
from hookline.errors import Untrusted
from hookline.trust.grants import grant_path
from hookline.trust.private import prove_writable, read_private, remove, write_private

if TYPE_CHECKING:
    from hookline.project import Project


def recorded_store(home: str, project: Project) -> str | None:
    """The id of the store that this user made or adopted in the project's folder."""
    try:
        found = read_private(_record(home, project))
    except Untrusted:
        return None
    return None if found is None else os.fsdecode(found)


def owns_store(home: str, project: Project, store_id: str) -> bool:
    """Whether this user created or adopted the store in the project's folder."""
    return recorded_store(home, project) == store_id


def adopt_store(home: str, project: Project, store_id: str) -> None:
    """Remember the store as this user's own."""
    write_private(_record(home, project), os.fsencode(store_id))


def prove_adoptable(home: str, project: Project) -> None:
    """Fail if the records of an adoption, of the store and of its folder, cannot be written."""
    prove_writable(_record(home, project))
    prove_writable(grant_path(home, project))


def forget_store(home: str, project: Project) -> None:
    """Remember no store for this folder."""
    remove(_record(home, project))


def _record(home: str, project: Project) -> str:
    folder = os.fsencode(os.path.realpath(project.folder))
    return os.path.join(home, "stores", sha256(folder).hexdigest())
