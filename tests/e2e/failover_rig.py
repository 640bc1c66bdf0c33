"""A server, and one that takes its place without all that was acknowledged."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tests.e2e.conftest import eventually
from tests.postgres_server import PostgresServer, running, standby

if TYPE_CHECKING:
    from collections.abc import Iterator


class Pair(NamedTuple):
    """A server, and another one that follows it asynchronously."""

    primary: PostgresServer
    other: PostgresServer

    @property
    def url(self) -> str:
        """Whichever of both can be written."""
        hosts = f"{self.primary.folder},{self.other.folder}"
        writable = "&target_session_attrs=read-write&project=p&wait=100"
        return f"postgresql://hookline@/postgres?host={hosts}{writable}"

    def cut(self) -> None:
        """From now on the other one hears nothing more; it has heard all until now."""
        (at,) = self.primary.run("SELECT pg_current_wal_lsn()::text")[0]
        replayed = f"SELECT pg_last_wal_replay_lsn() >= '{at}'::pg_lsn"
        eventually(lambda: self.other.run(replayed) == [(True,)], "replication")
        self.other.stop()

    def fail_over(self) -> None:
        """The first one is gone for good, and the other one takes its place."""
        self.primary.stop()
        self.other.start()
        self.other.run("SELECT pg_promote(wait => true)")


@contextmanager
def followed() -> Iterator[Pair]:
    """Both, of which the other one follows."""
    with running("synchronous_commit=on", "fsync=on") as primary, standby(primary) as other:
        other.start()
        yield Pair(primary, other)
