"""Which processes are behind a connection from this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.processes.identity import NO_PROC
from hookline.adapters.processes.sockets import peers
from hookline.wiring.running.peers import is_agents
from tests.e2e.conftest import eventually

if TYPE_CHECKING:
    from pathlib import Path

KEEPS = "import os, socket, sys; s = socket.socket(fileno=int(sys.argv[1])); sys.stdin.read()"


@pytest.fixture(params=["127.0.0.1", "127.0.0.2", "::1"])
def ends(request: pytest.FixtureRequest) -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection: the client's and the server's."""
    host: str = request.param
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as listening:
        client = socket.create_connection(listening.getsockname()[:2])
        server, _ = listening.accept()
    return client, server


def names(server: socket.socket) -> tuple[tuple[str, int], tuple[str, int]]:
    """The addresses of the client and of the server, as the server knows them."""
    client, own = server.getpeername()[:2], server.getsockname()[:2]
    return (client[0], client[1]), (own[0], own[1])


def test_the_process_that_holds_the_other_end_is_found(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    client, server = ends
    with client, server:
        assert peers(*names(server)) == [os.getpid()]


def test_a_connection_that_nobody_holds_any_more_is_an_agents(
    ends: tuple[socket.socket, socket.socket], tmp_path: Path
) -> None:
    client, server = ends
    with server:
        addresses = names(server)
        client.close()
        assert peers(*addresses) is None
        assert is_agents(str(tmp_path), *addresses)


def test_of_another_machine_nothing_is_known(tmp_path: Path) -> None:
    addresses = ("192.0.2.1", 40000), ("192.0.2.2", 443)
    assert peers(*addresses) is None
    assert not is_agents(str(tmp_path), *addresses)


def test_without_proc_nothing_is_known(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(NO_PROC, "1")
    client, server = ends
    with client, server:
        assert peers(*names(server)) == []
        assert not is_agents(str(tmp_path), *names(server))


def test_an_agent_that_inherited_the_connection_is_found(tmp_path: Path) -> None:
    folder = tmp_path / ".hookline"
    folder.mkdir()
    marks = {"HOOKLINE_DIR": str(folder), "HOOKLINE_AGENT": "bot"}
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = socket.create_connection(listening.getsockname())
        server, _ = listening.accept()
    with client, server:
        assert not is_agents(str(folder), *names(server))
        child = subprocess.Popen(
            (sys.executable, "-c", KEEPS, str(client.fileno())),
            env={**os.environ, **marks},
            stdin=subprocess.PIPE,
            pass_fds=(client.fileno(),),
        )
        with closing(client):
            eventually(lambda: is_agents(str(folder), *names(server)), "the start of the agent")
        child.communicate()
