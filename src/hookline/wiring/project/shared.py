"""The store of a project on a server: who may name it, and whether it is the one from before."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.domain.store_urls import EMBEDDED, project_name, read_store_url, with_project
from hookline.errors import StoreError, Untrusted
from hookline.immutable import Immutable
from hookline.project import CONFIG_NAME
from hookline.trust.stores import (
    Recorded,
    adopt_store,
    record_position,
    recorded,
    recorded_position,
)
from hookline.wiring.project.servers import open_server

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.config import Settings
    from hookline.ports.store import Store
    from hookline.project import Project
    from hookline.wiring.project.configured import Trust

VARIABLE, LISTEN = "HOOKLINE_STORE", "HOOKLINE_STORE_LISTEN"
REPLACED = "this is not the store that was used here before"


class SharedStore(Immutable):
    """A project's place on a server; `is_named` if the URL itself names the project."""

    url: str
    shown: str
    is_named: bool
    listen: str | None


def shared_store(
    project: Project,
    home: str,
    settings: Settings | None,
    trust: Trust | None,
    environ: Mapping[str, str],
) -> SharedStore | None:
    """The server that the environment, the project or the user names; None: the store is here.

    A repository could send this machine anywhere. So its file counts only while it is trusted, or
    if it names the server that this user has used for this folder.
    """
    if url := environ.get(VARIABLE):
        return _place(project, url, environ.get(LISTEN))
    found = settings.stores if settings is not None else {}
    if (own := found.get("project")) is not None:
        place = _place(project, own.url, own.listen)
        if place is None or (trust is not None and trust.verdict.trusted):
            return place
        known = recorded(home, project)
        if known is not None and known.url == place.shown:
            return SharedStore(place.url, place.shown, place.is_named, None)
        raise Untrusted(
            f"{CONFIG_NAME} keeps the store at {place.shown}, and is not trusted",
            help="review it, then run `hookline trust`",
        )
    users = found.get("user")
    return None if users is None else _place(project, users.url, users.listen)


def _place(project: Project, url: str, listen: str | None) -> SharedStore | None:
    if url == EMBEDDED:
        return None
    whole = with_project(url, project_name(os.path.basename(project.root)))
    return SharedStore(whole, read_store_url(whole).shown, whole == url, listen)


def open_shared(
    project: Project, home: str, place: SharedStore, *, read_only: bool = False
) -> Store:
    """The store there; a new one is made for writing. StoreAbsent if there is none to read."""
    known = recorded(home, project)
    before = known.store_id if known is not None else None

    def admit(store_id: str) -> None:
        # Two folders of the same name are not the same project.
        if not place.is_named and before != store_id:
            name = read_store_url(place.url).project
            raise StoreError(
                f"{place.shown} has a project '{name}' that is not known to be this one",
                help=f"to share it, add project={name} to the URL; else use another name there",
            )

    store = open_server(
        place.url,
        read_only=read_only,
        admit=admit,
        listen=place.listen,
        seen=recorded_position(home, project),
        keep_seen=lambda position: record_position(home, project, position),
    )
    if before is not None and before != store.id:
        store.notices.append(REPLACED)
    if not read_only and known != Recorded(store.id, place.shown):
        adopt_store(home, project, store.id, place.shown)
    return store
