"""One PostgreSQL server for all processes that run tests together; the last one ends it.

As a program it is that server's keeper: it stays until nobody has the file open any more that all
who use the server have locked, however they ended.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.postgres_server import PostgresServer, running

if TYPE_CHECKING:
    from collections.abc import Iterator

USERS, STARTING, ADDRESS = "postgres-users", "postgres-starting", "postgres-address"


@contextmanager
def shared_server(place: Path) -> Iterator[PostgresServer]:
    """The server of the processes that share a folder, started if there is none."""
    with open(place / USERS, "ab") as users:
        # A server that is being stopped is waited for.
        fcntl.flock(users, fcntl.LOCK_SH)
        with open(place / STARTING, "ab") as starting:
            fcntl.flock(starting, fcntl.LOCK_EX)
            if not (place / ADDRESS).exists():
                _start(place)
        yield PostgresServer(Path((place / ADDRESS).read_text()))


def _start(place: Path) -> None:
    command = (sys.executable, "-m", "tests.shared_postgres", str(place))
    root = Path(__file__).parents[1]
    log = place / "postgres-log"
    with open(log, "ab") as errors:
        keeper = subprocess.Popen(
            command,
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,  # whoever interrupts the tests ends it by ending them
        )
    assert keeper.stdout is not None
    with keeper.stdout:
        assert keeper.stdout.readline(), log.read_text()
    keeper.returncode = 0  # it outlives this process, which has nothing more to do with it


def _keep(place: Path) -> None:
    address = place / ADDRESS
    with running() as server, open(place / USERS, "ab") as users:
        address.write_text(str(server.folder))
        print("started", flush=True)
        fcntl.flock(users, fcntl.LOCK_EX)
        address.unlink()
        server.stop()


if __name__ == "__main__":
    _keep(Path(sys.argv[1]))
