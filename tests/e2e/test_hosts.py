"""Several hosts on one store: each knows nothing of the processes of the others.

Leases last for an hour here: what is taken over was given back.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.processes.identity import (
    owner_is_gone,
    owner_name,
    process_identity,
    this_process,
)
from tests.e2e.conftest import PATIENCE, Cli, eventually, freeze, is_running, kill, reapers
from tests.e2e.test_flow_crash import LONG, Relay
from tests.e2e.test_work import Workshop
from tests.postgres_server import new_project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.postgres_server import PostgresServer

SOCKET = ".s.PGSQL.5432"
ONE, TWO = {"HOOKLINE_HOST": "one"}, {"HOOKLINE_HOST": "two"}


@pytest.fixture
def shared(cli: Cli, postgres: PostgresServer) -> Cli:
    """A project on a server."""
    cli.env["HOOKLINE_STORE"] = new_project(postgres)
    return cli


class HostRelay(Relay):
    """A run that a process of one host works on, and one of another host waits for."""

    def __init__(self, cli: Cli, lease: str = "1h") -> None:
        super().__init__(cli)
        cli.configure(f"{LONG}hosts: {{lease: {lease}}}\n")

    def drive_on(self, host: dict[str, str], pause: float) -> subprocess.Popen[str]:
        """A process of a host that advances the run."""
        env = {"PAUSE": str(pause), **host}
        return self.cli.start("flow", "resume", self.run_id, "--json", env=env)

    def drive_on_two(self) -> tuple[subprocess.Popen[str], subprocess.Popen[str]]:
        """A process of a host that is in a long attempt, and one of another that waits for it."""
        first = self.drive_on(ONE, pause=600)
        self.wait_for_attempts(1)
        return first, self.drive_on(TWO, pause=0)

    def taken_over(self, second: subprocess.Popen[str]) -> None:
        """Wait until the other host has made the attempt again; the first one's has ended."""
        self.wait_for_attempts(2)
        assert not is_running(self.attempts()[0][1])
        assert second.wait(PATIENCE) == 0


@pytest.fixture
def relay(shared: Cli) -> Iterator[HostRelay]:
    relay = HostRelay(shared)
    yield relay
    shared.close()


def test_a_killed_process_gives_its_leases_back(relay: HostRelay) -> None:
    first, second = relay.drive_on_two()
    kill(first)
    relay.taken_over(second)
    assert relay.results() == ["work", "after"]


def test_a_stopped_process_loses_its_leases_and_changes_nothing(relay: HostRelay) -> None:
    first, second = relay.drive_on_two()
    freeze(first)
    try:
        relay.taken_over(second)
    finally:
        first.send_signal(signal.SIGCONT)
    assert first.wait(PATIENCE) == 0
    assert len(relay.attempts()) == 2
    assert relay.results() == ["work", "after"]


class Link:
    """A network between a host and the server, that can be cut: then nothing arrives any more."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self.folder = folder
        self._whole = threading.Event()
        self._whole.set()
        self._there = str(server.folder / SOCKET)
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / SOCKET))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, url: str, server: PostgresServer) -> str:
        """The URL of a store, by way of this network."""
        return url.replace(str(server.folder), str(self.folder))

    def close(self) -> None:
        self.mend()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def cut(self) -> None:
        self._whole.clear()

    def mend(self) -> None:
        self._whole.set()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                here = self._listening.accept()[0]
                threading.Thread(target=self._connect, args=(here,), daemon=True).start()

    def _connect(self, here: socket.socket) -> None:
        with here, socket.socket(socket.AF_UNIX) as there:
            there.connect(self._there)
            back = threading.Thread(target=self._carry, args=(there, here), daemon=True)
            back.start()
            self._carry(here, there)
            back.join()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self._whole.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


def test_a_host_that_is_cut_off_ends_its_work_before_another_begins(
    shared: Cli, postgres: PostgresServer
) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="hookline-link-") as folder,
        closing(Link(postgres, Path(folder))) as link,
    ):
        relay = HostRelay(shared, lease="6s")
        url = {"HOOKLINE_STORE": link.url(shared.env["HOOKLINE_STORE"], postgres)}
        first = relay.drive_on({**ONE, **url}, pause=600)
        relay.wait_for_attempts(1)
        child = relay.attempts()[0][1]
        second = relay.drive_on(TWO, pause=0)
        link.cut()
        relay.wait_for_attempts(2)
        assert not is_running(child)
        assert second.wait(PATIENCE) == 0
        link.mend()
        assert first.wait(PATIENCE) == 0
        assert len(relay.attempts()) == 2
        assert relay.results() == ["work", "after"]


def test_only_its_own_host_knows_that_a_process_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers count their processes apart, and hosts of one machine have names."""
    names = {}
    for host in ("one", "two"):
        monkeypatch.setenv("HOOKLINE_HOST", host)
        process = subprocess.Popen(("sleep", "60"))
        names[host] = owner_name(process_identity(process.pid) or this_process())
        assert not owner_is_gone(names[host])
        process.kill()
        process.wait()
    assert (owner_is_gone(names["one"]), owner_is_gone(names["two"])) == (False, True)
    monkeypatch.delenv("HOOKLINE_HOST")
    assert not any(map(owner_is_gone, names.values()))
    assert not owner_is_gone("another-boot/1:2:3")


@pytest.mark.torture
def test_a_task_continues_on_another_host_and_is_merged_once(shared: Cli) -> None:
    shop = Workshop(shared)
    shop.configure("hosts: {lease: 1h}\ntask_types: {code: {}}\n")
    (shop.outside / "wait").touch()
    task = shared.add("a part", "--type", "code")
    first = shared.start("work", "--json", env=ONE)
    eventually((shop.outside / f"begun.{task}").exists, "the agent at work")
    (process,) = reapers(first)
    os.kill(process, signal.SIGKILL)
    eventually(lambda: reapers(first) not in ([], [process]), "another reaper")
    second = shared.start("work", "--json", env=TWO)
    eventually(lambda: len(shared.json("hosts")) == 2, "the other host")
    kill(first)
    (shop.outside / "wait").unlink()
    eventually(lambda: shared.task(task)["state"] == "completed", "the merge")
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=PATIENCE)
    merges = shop.git("log", "--first-parent", "--merges", "--format=%s", "main").splitlines()
    assert len(merges) == 1
    assert shop.git("show", f"main:work-{task}.txt") == f"{task}\n"
