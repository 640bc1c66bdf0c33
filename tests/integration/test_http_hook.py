"""HTTP hooks against real servers on this machine, and the addresses that are never asked."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from hookline.adapters.agents.local_agents import LocalAgents
from hookline.adapters.network.http import HttpClient
from hookline.adapters.processes.process import LocalProcesses
from hookline.domain.text.cleaning import Cleaner
from hookline.errors import HookFailure, HookTimeout
from hookline.hooks.kinds import Call, World, load_kind
from hookline.hooks.registry import Hook
from hookline.ports.network import CannotReach, HttpReply
from tests.inbox import certified

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookline.domain.hooks.records import Reply

MIB = 1024 * 1024


class Server(ThreadingHTTPServer):
    """Keeps what it was asked; each path answers in its own way."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of these tests."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append((self.path, headers, body))
        answer = getattr(self, f"answer_{self.path.strip('/').split('/')[0]}", self.answer_json)
        answer()

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer_json(self) -> None:
        self.send(200, b'{"status": "success"}')

    def answer_text(self) -> None:
        self.send(202, b"accepted\xff")

    def answer_list(self) -> None:
        self.send(200, b"[1]")

    def answer_nothing(self) -> None:
        self.send(204, b"")

    def answer_broken(self) -> None:
        self.send(503, b"e" * 5000)

    def answer_missing(self) -> None:
        self.send(404, b"")

    def answer_moved(self) -> None:
        self.send(307, b"", location=f"{self.server.url}/json")

    def answer_compressed(self) -> None:
        self.send(200, b"\x1f\x8b", content_encoding="gzip")

    def answer_full(self) -> None:
        self.send(200, b"x" * MIB)

    def answer_long(self) -> None:
        self.send(200, b"x" * (MIB + 1))

    def answer_endless(self) -> None:
        self.send_response(200)
        self.end_headers()
        while not self.server.over.is_set():
            self.wfile.write(b"x" * 65536)

    def answer_drip(self) -> None:
        self.send_response(200)
        self.end_headers()
        while not self.server.over.wait(0.05):
            self.wfile.write(b"x")

    def answer_garbage(self) -> None:
        self.wfile.write(b"HTTQ/1.1 correct-horse-battery garbage\r\n\r\n")

    def answer_silence(self) -> None:
        self.server.over.wait()

    def answer_hangup(self) -> None:
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Tests need no access log."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.over.set()
        running.shutdown()
        thread.join()


def post(url: str, timeout: float = 10, limit: int = MIB) -> HttpReply:
    return asyncio.run(HttpClient().post(url, body=b"{}", headers={}, timeout=timeout, limit=limit))


async def nobody(hook: Any) -> Any:
    """These hooks are not made of others."""
    raise AssertionError(hook)


def call(
    url: str,
    *,
    headers: dict[str, str] | None = None,
    values: dict[str, str] | None = None,
    environ: dict[str, str] | None = None,
    timeout: float = 10,
    point: str = "stop",
) -> Reply:
    hook = Hook(name="h", points=("stop",), kind="http", target=url, headers=headers or {})
    processes = LocalProcesses("/nowhere")
    world = World(
        root="/",
        folder="/",
        processes=processes,
        http=HttpClient(),
        agents=LocalAgents({}, None, "/", processes),
        environ=environ or {},
        ask=nobody,
    )
    this_call = Call(
        point=point,
        payload=b'{"n": 1}',
        values=values or {},
        env={"HOOKLINE_IDEMPOTENCY_KEY": "d-12"},
        timeout=timeout,
    )
    return asyncio.run(load_kind("http")(hook, this_call, world))


def test_the_payload_is_posted_and_an_object_is_the_answer(server: Server) -> None:
    reply = call(f"{server.url}/json")
    assert reply.answer == {"status": "success"}
    assert reply.exit_code is None
    [(path, headers, body)] = server.seen
    assert (path, json.loads(body)) == ("/json", {"n": 1})
    assert headers["content-type"] == "application/json"
    assert headers["user-agent"] == "hookline"
    assert headers["idempotency-key"] == "d-12"
    assert headers["host"] == f"127.0.0.1:{server.server_port}"


def test_a_name_is_resolved_and_sent_as_the_host(server: Server) -> None:
    assert call(f"http://localhost:{server.server_port}/json").answer == {"status": "success"}
    assert server.seen[0][1]["host"] == f"localhost:{server.server_port}"


@pytest.mark.parametrize(
    ("path", "text"), [("text", "accepted\ufffd"), ("list", "[1]"), ("nothing", "")]
)
def test_another_body_is_text_where_text_is_wanted(server: Server, path: str, text: str) -> None:
    reply = call(f"{server.url}/{path}", point="post_iteration")
    assert (reply.answer, reply.text, reply.exit_code) == (text, text, None)
    with pytest.raises(HookFailure, match="expected a JSON object"):
        call(f"{server.url}/{path}")


def test_headers_are_filled_from_the_environment(server: Server) -> None:
    call(
        f"{server.url}/json",
        headers={"Authorization": "Bearer $TOKEN", "X-Two": "${A}-$A $$5", "User-Agent": "mine"},
        environ={"TOKEN": "t0ken", "A": "a"},
    )
    headers = server.seen[0][1]
    assert headers["authorization"] == "Bearer t0ken"
    assert headers["x-two"] == "a-a $5"
    assert headers["user-agent"] == "mine"


@pytest.mark.parametrize(
    ("value", "environ", "message"),
    [
        ("Bearer $TOKEN", {}, "TOKEN, which is not set"),
        ("costs $5", {}, r"\$\$"),
        ("$TOKEN", {"TOKEN": "secret\r\nX-Other: 1"}, "characters"),
        ("$TOKEN", {"TOKEN": "sécret"}, "characters"),
    ],
)
def test_a_header_that_cannot_be_sent_is_a_failure(
    server: Server, value: str, environ: dict[str, str], message: str
) -> None:
    with pytest.raises(HookFailure, match=message) as caught:
        call(f"{server.url}/json", headers={"Authorization": value}, environ=environ)
    assert "Authorization" in str(caught.value)
    assert "cret" not in str(caught.value)
    assert server.seen == []


def test_variables_stay_one_piece_of_the_path_or_query(server: Server) -> None:
    call(
        f"{server.url}/json/{{{{task_id}}}}?q={{{{ error }}}}",
        values={"task_id": "a/b?c#d", "error": "x&y=1 ü {{task_id}}"},
    )
    assert server.seen[0][0] == ("/json/a%2Fb%3Fc%23d?q=x%26y%3D1%20%C3%BC%20%7B%7Btask_id%7D%7D")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://{{session}}/x", "only the path and the query"),
        ("http://127.0.0.1:{{session}}/x", "only the path and the query"),
        ("{{session}}://127.0.0.1/x", "not an http"),
        ("ftp://127.0.0.1/x", "not an http"),
        ("/just/a/path", "not an http"),
        ("http://127.0.0.1/{{nothing}}", "nothing"),
        ("http://127.0.0.1/a/{{session}}/b", "lead elsewhere"),
    ],
)
def test_a_url_that_may_not_be_used(url: str, message: str) -> None:
    with pytest.raises(HookFailure, match=message):
        call(url, values={"session": ".."})


def test_an_error_status_is_a_failure_with_the_begin_of_its_body(server: Server) -> None:
    with pytest.raises(HookFailure, match="503") as caught:
        call(f"{server.url}/broken")
    assert caught.value.stdout == "e" * 2048
    assert not isinstance(caught.value, HookTimeout)
    with pytest.raises(HookFailure, match=r"404$"):
        call(f"{server.url}/missing")


def test_a_redirect_is_not_followed(server: Server) -> None:
    with pytest.raises(HookFailure, match=r"307.*not followed"):
        call(f"{server.url}/moved")
    assert [path for path, _, _ in server.seen] == ["/moved"]


def test_an_answer_over_the_limit_is_a_failure(server: Server) -> None:
    assert call(f"{server.url}/full", point="post_iteration").text == "x" * MIB
    for path in ("long", "endless"):
        with pytest.raises(HookFailure, match="1 MiB"):
            call(f"{server.url}/{path}")


def test_the_body_is_capped_by_the_callers_limit(server: Server) -> None:
    assert post(f"{server.url}/endless", limit=1000) == HttpReply(200, b"x" * 1000)


def test_a_compressed_answer_is_refused(server: Server) -> None:
    with pytest.raises(CannotReach, match="compressed"):
        post(f"{server.url}/compressed")
    assert server.seen[0][1]["accept-encoding"] == "identity"


@pytest.mark.parametrize("path", ["drip", "silence"])
def test_the_deadline_is_one_for_the_whole_exchange(server: Server, path: str) -> None:
    started = time.monotonic()
    with pytest.raises(HookTimeout, match=r"0\.5 s"):
        call(f"{server.url}/{path}", timeout=0.5)
    assert 0.4 < time.monotonic() - started < 100


def test_a_server_that_hangs_up_or_is_not_there(server: Server) -> None:
    with pytest.raises(HookFailure, match="cannot reach"):
        call(f"{server.url}/hangup")
    port = server.server_port
    server.shutdown()
    server.server_close()
    with pytest.raises(HookFailure, match="cannot reach"):
        call(f"http://127.0.0.1:{port}/json")


def test_an_answer_that_is_no_http_is_told_without_secrets(server: Server) -> None:
    client = HttpClient(Cleaner({"MY_TOKEN": "correct-horse-battery"}))
    asked = client.post(f"{server.url}/garbage", body=b"{}", headers={}, timeout=10, limit=MIB)
    with pytest.raises(CannotReach, match=r"HTTQ/1\.1 \[redacted MY_TOKEN\] garbage"):
        asyncio.run(asked)


def test_a_name_without_an_address(server: Server) -> None:
    with pytest.raises(CannotReach, match=r"no-such-host\.invalid"):
        post("http://no-such-host.invalid/")


@pytest.mark.parametrize(
    "host",
    [
        *("169.254.169.254", "169.254.0.1", "2852039166", "0xa9fea9fe"),
        *("[fe80::1]", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]"),
        *("0.0.0.0", "[::]", "0", "224.0.0.1", "[ff02::1]", "[::ffff:0.0.0.0]"),
    ],
)
def test_addresses_that_are_never_asked(host: str) -> None:
    with pytest.raises(CannotReach, match="refused"):
        post(f"http://{host}/latest/meta-data", timeout=5)


@pytest.mark.parametrize(
    "url", ["http://user:pw@127.0.0.1/", "http://user@127.0.0.1/", "http://", "ftp://x/", "x"]
)
def test_urls_that_are_never_asked(url: str) -> None:
    with pytest.raises(CannotReach) as caught:
        post(url)
    assert "pw" not in str(caught.value)


def test_proxies_of_the_environment_are_not_used(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert post(f"{server.url}/json").status == 200


@pytest.fixture
def secure(server: Server, tmp_path: Path) -> Path:
    """Make the server speak TLS as `localhost`; returns its certificate."""
    context, certificate = certified(tmp_path)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return certificate


def test_tls_verifies_the_name_and_not_the_address(
    server: Server, secure: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(secure))
    assert post(f"https://localhost:{server.server_port}/json").status == 200
    with pytest.raises(CannotReach, match=r"(?i)certificate"):
        post(f"https://127.0.0.1:{server.server_port}/json")


def test_a_certificate_that_nobody_vouches_for_is_refused(server: Server, secure: Path) -> None:
    with pytest.raises(CannotReach, match=r"(?i)certificate"):
        post(f"https://localhost:{server.server_port}/json")
    assert server.seen == []
