"""Opening a store on a server, with what only those need that have one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from hookline.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from hookline.adapters.store.postgres.inspection import Durability as Durability
    from hookline.adapters.store.postgres.inspection import ServerInspection as ServerInspection
    from hookline.adapters.store.postgres.store import PostgresStore
    from hookline.ports.feeds import Feeds
    from hookline.ports.store import Blobs, Store
    from hookline.project import Project


def open_server(
    url: str,
    *,
    read_only: bool = False,
    admit: Callable[[str], None] | None = None,
    listen: str | None = None,
    waits: bool | None = None,
    seen: bytes | None = None,
    keep_seen: Callable[[bytes], None] = lambda position: None,
) -> Store:
    """The store at a URL; `admit` hears the identity of one that was there before.

    `seen` is how far its log was seen before, and `keep_seen` remembers how far it is seen now.
    """
    with _installed():
        from hookline.adapters.store.postgres.losses import recorded_history
        from hookline.adapters.store.postgres.store import PostgresStore
    history = recorded_history(seen, keep_seen)
    store = PostgresStore(url, read_only=read_only, admit=admit, waits=waits, history=history)
    store.listen = listen
    return store


@contextmanager
def repaired(store: Store) -> Iterator[Callable[[], None]]:
    """Changes that repair what the server has lost; in the last one, the result is called."""
    database = _shared(store).database
    database.history.is_repaired = True
    try:
        yield database.repaired
    finally:
        database.history.is_repaired = False


def inspected_server(url: str) -> AbstractContextManager[ServerInspection]:
    """A store on a server, to be looked at by the doctor."""
    with _installed():
        from hookline.adapters.store.postgres.inspection import inspected_server
    return inspected_server(url)


def server_blobs(store: Store) -> Blobs:
    """The large values of a project on a server."""
    from hookline.adapters.store.postgres.blobs import ServerBlobs

    shared = _shared(store)
    return ServerBlobs(shared.connect(), shared.project)


def server_feeds(project: Project, store: Store) -> Feeds:
    """The feed of the sessions of a project on a server."""
    from hookline.adapters.feeds.server_feed import ServerFeed

    shared = _shared(store)
    listen = shared.listen or shared.address.server
    return ServerFeed(project.folder, shared.connect, shared.project, listen)


def _shared(store: Store) -> PostgresStore:
    from hookline.adapters.store.postgres.store import PostgresStore

    assert isinstance(store, PostgresStore)  # others are here
    return store


@contextmanager
def _installed() -> Iterator[None]:
    try:
        yield
    except ImportError as problem:
        help = "pip install 'hookline[postgres]'"
        raise StoreError(f"PostgreSQL cannot be used: {problem}", help=help) from problem
