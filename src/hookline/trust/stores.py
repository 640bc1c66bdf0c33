"""Which stores are this user's own: one that came with a repository is only read until trusted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.digest import sha256
from hookline.errors import Untrusted
from hookline.immutable import Immutable
from hookline.trust.grants import grant_path
from hookline.trust.private import prove_writable, read_private, remove, write_private

if TYPE_CHECKING:
    from hookline.project import Project


class Recorded(Immutable):
    """The store of a project's folder; `url`, without its password, if it is on a server."""

    store_id: str
    url: str


def recorded(home: str, project: Project) -> Recorded | None:
    """The store that this user made or adopted for the project's folder."""
    try:
        found = read_private(_record(home, project))
    except Untrusted:
        return None
    if found is None:
        return None
    store_id, _, url = os.fsdecode(found).partition("\n")
    return Recorded(store_id, url)


def recorded_store(home: str, project: Project) -> str | None:
    """The id of the store that this user made or adopted for the project's folder."""
    found = recorded(home, project)
    return None if found is None else found.store_id


def owns_store(home: str, project: Project, store_id: str) -> bool:
    """Whether this user created or adopted the store in the project's folder."""
    return recorded_store(home, project) == store_id


def adopt_store(home: str, project: Project, store_id: str, url: str = "") -> None:
    """Remember the store as this user's own."""
    write_private(_record(home, project), os.fsencode(f"{store_id}\n{url}" if url else store_id))


def recorded_position(home: str, project: Project) -> bytes | None:
    """How far the log of the project's store on a server was seen, as it was last recorded."""
    try:
        return read_private(f"{_record(home, project)}.seen")
    except Untrusted:
        return None


def record_position(home: str, project: Project, position: bytes) -> None:
    """Record that."""
    write_private(f"{_record(home, project)}.seen", position)


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
