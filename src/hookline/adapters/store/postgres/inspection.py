"""A store on a server as `hookline doctor` looks at it: nothing is touched."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import psycopg

from hookline.adapters.feeds.listening import is_direct
from hookline.adapters.store.postgres.server import OPTIONS
from hookline.adapters.store.postgres.store import PostgresStore
from hookline.adapters.store.statements import SCHEMA_VERSION
from hookline.immutable import Immutable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.adapters.store.store import View


_DURABILITY = b"""
SELECT current_setting('fsync') = 'on', current_setting('synchronous_commit'),
    current_setting('synchronous_standby_names'), (SELECT count(*) FROM pg_stat_replication)
"""


class Durability(Immutable):
    """What a server does with a change before it acknowledges it, and who follows it."""

    writes_out: bool
    commit: str
    synchronous: str
    standbys: int


class ServerInspection:
    """One moment of a store on a server; the server itself looks after its files."""

    schema = SCHEMA_VERSION

    def __init__(self, view: View, store: PostgresStore) -> None:
        self._view = view
        self._store = store
        self._store_id = store.id
        # What the server has lost, if that was noticed and not repaired.
        self.lost = [*store.notices]

    def durability(self) -> Durability:
        """What happens to acknowledged changes if the server crashes or is replaced."""
        with closing(self._store.connect()) as server, server.translated():
            row = server.run(_DURABILITY, first=True).fetchone()
        assert row is not None
        return Durability(*row)

    def is_told(self, listen: str | None) -> bool:
        """Whether what is stored reaches those who wait, and no pooler swallows it."""
        url = listen or self._store.address.server
        own = self._store.connect()
        with closing(own), own.translated(), psycopg.connect(url, **OPTIONS) as connection:
            return is_direct(connection)

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
        yield ServerInspection(view, store)
