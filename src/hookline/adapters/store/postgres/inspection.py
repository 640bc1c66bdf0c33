"""A store on a server as `hookline doctor` looks at it: nothing is touched."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from hookline.adapters.store.postgres.store import PostgresStore
from hookline.adapters.store.statements import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.adapters.store.store import View


class ServerInspection:
    """One moment of a store on a server; the server itself looks after its files."""

    schema = SCHEMA_VERSION

    def __init__(self, view: View, store_id: str) -> None:
        self._view = view
        self._store_id = store_id

    def damage(self) -> list[str]:
        return []

    def foreign_objects(self) -> list[str]:
        return []

    def store_id(self) -> str | None:
        return self._store_id

    def view(self, store_id: str) -> View:
        return self._view


@contextmanager
def inspected_server(url: str) -> Iterator[ServerInspection]:
    """A store on a server, opened for reading only."""
    with closing(PostgresStore(url, read_only=True)) as store, store.read() as view:
        yield ServerInspection(view, store.id)
