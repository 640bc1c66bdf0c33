"""The MCP server over HTTP: who is let in, and that the same tools are behind the door."""

from __future__ import annotations

import re
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.e2e.conftest import Cli
from tests.e2e.mcp_rig import Agent

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping

TOKEN = "a-token-of-some-length"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "tester", "version": "1"},
    },
}


class Served:
    """A server that listens, and what it said when it began."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stderr is not None
        self.said = process.stderr.readline() + process.stderr.readline()
        found = re.search(r"http://\S+", self.said)
        assert found, self.said
        self.url = found[0]
        self.port = self.url.rpartition(":")[2].partition("/")[0]
        self._http = httpx2.Client(timeout=30)

    def post(self, token: str | None, **headers: str) -> httpx2.Response:
        given = {"Accept": "application/json, text/event-stream", **headers}
        if token is not None:
            given["Authorization"] = f"Bearer {token}"
        return self._http.post(self.url, json=INITIALIZE, headers=given)

    def end(self) -> None:
        """End it by a signal."""
        self._http.close()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(100) == 130


@contextmanager
def served(cli: Cli, *options: str, env: Mapping[str, str] | None = None) -> Iterator[Served]:
    server = Served(cli.start("mcp", "--http", "0", *options, env=env))
    yield server
    server.end()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    runner = Cli(tmp_path_factory.mktemp("http"))
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def server(shared: Cli) -> Iterator[Served]:
    """A server that was given its token by the environment."""
    with served(shared, env={"HOOKLINE_MCP_TOKEN": TOKEN}) as running:
        assert TOKEN not in running.said
        yield running


def talk(url: str, token: str) -> Agent:
    """An agent that comes over HTTP."""
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30)
    return Agent(Client(streamable_http_client(url, http_client=http)), close=http.aclose)


def test_the_right_token_opens_the_same_tools(shared: Cli, server: Served) -> None:
    with talk(server.url, TOKEN) as agent:
        task, loop = agent.loop("promise")
        said = "<promise>COMPLETE</promise>"
        answer = agent("iteration_validate", iterationId=loop, agentOutput=said)
        assert answer["completionSignal"] == "COMPLETE"
        # Hooks do not learn the token.
        _, loop = agent.loop({"hookType": "command", "command": "env; exit 1"})
        answer = agent("iteration_validate", iterationId=loop)
        assert "HOOKLINE_POINT=stop" in answer["nextPrompt"]
        assert TOKEN not in str(answer)
    assert shared.task(task)["state"] == "active"


def test_no_other_token_does(server: Served) -> None:
    for token in (None, "wrong", TOKEN + "x", TOKEN[:-1], TOKEN.upper()):
        answer = server.post(token)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert TOKEN not in answer.text
    assert server.post(None, Authorization=TOKEN).status_code == 401
    assert server.post(TOKEN).status_code == 200


def test_host_and_origin_are_compared_whole(server: Served) -> None:
    port = server.port
    for host in (
        *("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1"),
        *("127.0.0.1:evil.example", f"127.0.0.1:{port}.evil.example", f"127.0.0.1:{port}0"),
        *(f"localhost:{port}@evil.example", f"x.localhost:{port}", "127.0.0.1:", "[::1]"),
    ):
        assert server.post(TOKEN, Host=host).status_code == 421, host
    for origin in (
        *("http://evil.example", "null", "http://localhost:1234.evil.example"),
        *(
            "http://localhost:evil.example",
            "http://localhost:@evil.example",
            "http://localhost:",
        ),
        *("http://localhost.evil.example", "https://localhost:1", "http://127.0.0.1:1/x"),
    ):
        assert server.post(TOKEN, Origin=origin).status_code == 403, origin
    for host in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
        answer = server.post(TOKEN, Host=f"{host}:{port}", Origin=f"http://{host}:{port}")
        assert answer.status_code == 200, host
    assert server.post(TOKEN, Origin="http://localhost:6274").status_code == 200
    assert server.post(TOKEN, Origin="http://localhost").status_code == 200
    assert server.post(None, Host="evil.example").status_code == 401


def test_a_token_is_made_where_none_is_given(cli: Cli) -> None:
    with served(cli) as server:
        token = server.said.splitlines()[1].rpartition(" ")[2]
        assert len(token) >= 32
        assert server.post(token).status_code == 200
        assert server.post(None).status_code == 401


def test_a_token_from_a_file(cli: Cli) -> None:
    path = cli.put("token", TOKEN + "\n", 0o600)
    with served(cli, "--token-file", str(path)) as server:
        assert server.post(TOKEN).status_code == 200
        assert TOKEN not in server.said


@pytest.mark.parametrize(("text", "mode"), [(TOKEN, 0o644), ("short", 0o600), ("ä" * 40, 0o600)])
def test_a_file_that_is_no_good(cli: Cli, text: str, mode: int) -> None:
    path = cli.put("token", text, mode)
    result = cli("mcp", "--http", "0", "--token-file", str(path))
    assert (result.code, result.stdout) == (2, "")
    assert str(path) in result.stderr
    assert text not in result.stderr


def test_a_port_in_use_and_options_that_belong_elsewhere(cli: Cli, server: Served) -> None:
    result = cli("mcp", "--http", server.port)
    assert (result.code, f"port {server.port}" in result.stderr) == (1, True)
    assert cli("mcp", "--host", "0.0.0.0").code == 2
    assert cli("mcp", "--http", "70000").code == 2
