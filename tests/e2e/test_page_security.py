"""Who is let into the page, who decides there, and that nothing it shows becomes code."""

from __future__ import annotations

import json
import socket
import ssl
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httpx2
import pytest

from hookline.surfaces.web.routes import POST, ROUTES
from tests.e2e.conftest import PATIENCE, Cli, eventually
from tests.e2e.gate_rig import Repo
from tests.e2e.page_payloads import PAYLOADS
from tests.e2e.page_rig import Page, served
from tests.inbox import certified

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# What stands for the parts of addresses.
PARTS = {
    "task": "T-1",
    "run": "R-1",
    "hook": "x",
    "seq": "1",
    "chapter": "1",
    "call": "1",
    "effect": "x",
    "part": "text",
    "table": "gates",
}
FROM_THE_OUTSIDE = """
import sys, urllib.error, urllib.request
address, token, more = sys.argv[1:]
wanted = urllib.request.Request(address, b'{"goal": "mine"}', method="POST")
wanted.add_header("Authorization", f"Bearer {token}")
wanted.add_header("Content-Type", "application/json")
wanted.add_header(*more.split(": "))
try:
    print(urllib.request.urlopen(wanted).status)
except urllib.error.HTTPError as problem:
    print(problem.code, problem.read().decode())
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    runner = Cli(tmp_path_factory.mktemp("page"))
    runner.add("one")
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def page(shared: Cli) -> Iterator[Page]:
    with served(shared) as running:
        yield running


def addresses() -> list[tuple[str, str]]:
    """Every address of the API with its method, its parts filled in."""
    return [(route.method, route.path.format(**PARTS)) for route in ROUTES]


def raw(page: Page, request: bytes) -> bytes:
    """What the server answers to exactly these bytes."""
    with socket.create_connection(("127.0.0.1", page.port), timeout=PATIENCE) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        while part := connection.recv(65536):
            found += part
    return found


# Tokens


def test_nothing_is_told_without_the_token(page: Page) -> None:
    for method, path in [*addresses(), ("GET", "/api/openapi.json"), ("GET", "/nothing")]:
        for token in (None, "wrong", page.token + "x", page.token[:-1], page.token.upper()):
            answer = page.ask(method, path, token=token)
            assert answer.status_code == 401, (method, path)
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert "one" not in answer.text
    # Nor as a cookie or in the address, where others would find it.
    assert page.ask("GET", f"/api/tasks?token={page.token}", token=None).status_code == 401
    cookie = {"Cookie": f"token={page.token}"}
    assert page.ask("GET", "/api/tasks", token=None, headers=cookie).status_code == 401


def test_two_tokens_are_none(page: Page) -> None:
    lines = [f"Authorization: Bearer {token}\r\n" for token in ("wrong", page.token)]
    head = f"GET /api/me HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nConnection: close\r\n"
    assert b" 401 " in raw(page, (head + "".join(lines) + "\r\n").encode()).split(b"\r\n")[0]


def test_health_says_ok_and_nothing_else(page: Page) -> None:
    assert page.ask("GET", "/healthz", token=None).text == "ok\n"


def test_no_answer_sets_a_cookie_or_lets_other_origins_read_it(page: Page) -> None:
    for path in ("/", "/healthz", "/api/me", "/api/nothing"):
        for token in (page.token, None):
            headers = page.ask("GET", path, token=token).headers
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Referrer-Policy"] == "no-referrer"
            assert headers["X-Frame-Options"] == "DENY"
            policy = headers["Content-Security-Policy"].split("; ")
            assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} <= {
                *policy
            }
            assert "unsafe" not in headers["Content-Security-Policy"]
            found = {name.lower() for name in headers}
            assert "set-cookie" not in found
            assert not any(name.startswith("access-control-") for name in found)


def test_tokens_are_kept_for_the_user_alone_and_can_be_replaced(cli: Cli) -> None:
    cli.add("one")
    with served(cli) as page:
        first, (file,) = page.token, list((cli.home / "page").iterdir())
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    with served(cli) as page:
        assert page.token == first
    file.chmod(0o644)
    code, error = cli.refused("serve", "--port", "0")
    assert (code, error["code"]) == (2, "untrusted")
    with served(cli, "--new-tokens") as page:
        assert page.token != first
        assert page.ask("GET", "/api/me", token=first).status_code == 401
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_browser_is_not_told_the_token_where_others_see_it(cli: Cli, tmp_path: Path) -> None:
    cli.add("one")
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f'#!/bin/sh\nprintf %s "$*" > {seen}.new; mv {seen}.new {seen}\n')
    browser.chmod(0o755)
    with served(cli, "--open", env={"BROWSER": f"{browser} %s"}) as page:
        eventually(seen.exists, "the browser")
        file = Path(unquote(seen.read_text().removeprefix("file://")))
        assert page.token not in seen.read_text()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert f'content="0; url={page.base}/#token={page.token}"' in file.read_text()


# Lured browsers


def test_only_our_own_name_is_answered(page: Page) -> None:
    port = page.port
    for host in (
        *("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost"),
        *("127.0.0.1:evil.example", f"127.0.0.1:{port}.evil.example", f"127.0.0.1:{port}0"),
        *(f"localhost:{port}@evil.example", f"x.localhost:{port}", f"127.0.0.2:{port}"),
        *(f"0.0.0.0:{port}", f"[::]:{port}", f"2130706433:{port}", f"127.1:{port}"),
    ):
        for path in ("/api/me", "/", "/healthz"):
            assert page.ask("GET", path, headers={"Host": host}).status_code == 421, host
    for host in (f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
        assert page.ask("GET", "/api/me", headers={"Host": host}).status_code == 200


def test_pages_of_other_origins_are_refused(page: Page) -> None:
    port = page.port
    for origin in (
        *("null", "http://evil.example", f"http://evil.example:{port}", "http://127.0.0.1"),
        *("http://127.0.0.1:3000", f"https://127.0.0.1:{port}", f"http://localhost:{port}0"),
        *(f"http://localhost:{port}.evil.example", f"http://x@localhost:{port}", "file://"),
    ):
        for method, path in (("POST", "/api/tasks"), ("GET", "/api/tasks"), ("GET", "/")):
            answer = page.ask(method, path, {"goal": "x"}, headers={"Origin": origin})
            assert answer.status_code == 403, (origin, path)
    own = {"Origin": page.base}
    assert page.ask("GET", "/api/me", headers=own).status_code == 200


def test_a_form_of_another_page_cannot_post(page: Page) -> None:
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ):
        sent = page.http.post(
            "/api/tasks",
            content=b'{"goal": "x"}',
            headers={"Authorization": f"Bearer {page.token}", "Content-Type": kind},
        )
        assert sent.status_code == 422
    preflight = page.http.options("/api/tasks", headers={"Origin": page.base})
    assert preflight.status_code == 401


# What is sent


@pytest.mark.parametrize(
    "path",
    [
        *("/../../../../etc/passwd", "/static/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd"),
        *("/..%2f..%2f..%2fetc%2fpasswd", "/....//....//etc/passwd", "//etc/passwd", "/..\\..\\x"),
        *("/%252e%252e/etc/passwd", "/index.html/../../server.py", "/server.py", "/\x00", "/.git"),
        *("/api/../server.py", "/api/calls/1/..%2f..%2f..%2fetc%2fpasswd", "/index.html%00.js"),
    ],
)
def test_no_path_leads_out_of_the_page(page: Page, path: str) -> None:
    for token in (f"Authorization: Bearer {page.token}\r\n", ""):
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nConnection: close\r\n"
        answer = raw(page, f"{head}{token}\r\n".encode("latin-1"))
        status = answer.split(b"\r\n")[0].split(b" ")[1]
        assert status in (b"400", b"401", b"404", b"422"), answer[:300]
        assert b"root:" not in answer
        assert b"import " not in answer


def test_what_is_too_large_or_odd_is_refused(page: Page, shared: Cli) -> None:
    large = "x" * (5 << 20)
    assert page.refused("POST", "/api/tasks", {"goal": large})[:2] == (413, "too-large")
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]
    bodies: tuple[Any, ...] = ({}, {"goal": 1}, {"goal": "x", "more": 1}, [], None, {"goal": deep})
    task = shared.add("counted")
    many = {"changes": {"turnsUsed": 2**63}}
    assert page.refused("POST", f"/api/tasks/{task}", many)[0] == 422
    for body in bodies:
        assert page.refused("POST", "/api/tasks", body)[0] == 422, str(body)[:80]
    nested = b'{"goal":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    headers = {"Authorization": f"Bearer {page.token}", "Content-Type": "application/json"}
    assert page.http.post("/api/tasks", content=nested, headers=headers).status_code == 422
    for query in ("limit=0", "limit=999999", "limit=x", "nothing=1"):
        assert page.refused("GET", f"/api/sessions?{query}")[0] == 422, query
    for path in ("/api/events/0", "/api/events/99999999999999999999", "/api/events/-1"):
        assert page.refused("GET", path)[0] == 404
    assert page.refused("GET", "/api/sessions?before=x")[0] == 404
    assert page.get("/api/search?q=" + "x" * 3000)["hits"] == []


def test_a_client_that_reads_nothing_keeps_no_one_waiting(page: Page, shared: Cli) -> None:
    head = f"GET /api/stream?after=0 HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n"
    with socket.create_connection(("127.0.0.1", page.port)) as silent:
        silent.sendall(f"{head}Authorization: Bearer {page.token}\r\n\r\n".encode())
        stream = page.stream(0)
        shared.add("while one does not read")
        stream.until("task_created")
        assert page.get("/api/me")["seq"] > 0


# Who decides


def test_viewers_see_and_decide_nothing(page: Page, shared: Cli) -> None:
    before = len(shared.events())
    me = page.ask("GET", "/api/me", token=page.viewer).json()
    assert (me["role"], me["decides"]) == ("viewer", False)
    assert "a person's token decides" in me["refused"]
    assert page.ask("GET", "/api/tasks", token=page.viewer).status_code == 200
    for route in ROUTES:
        if route.method == POST and route.decided:
            path = route.path.format(**PARTS)
            status, code, _ = page.refused("POST", path, token=page.viewer)
            assert (status, code) == (403, "people-only"), path
    tried = {"when": "true", "seq": 1}
    assert page.ask("POST", "/api/playground", tried, token=page.viewer).status_code == 200
    assert len(shared.events()) == before


def marks(cli: Cli) -> dict[str, str]:
    """What the environment of an agent's turn has in it."""
    return {
        "HOOKLINE_DIR": str(cli.root / ".hookline"),
        "HOOKLINE_SESSION": "one",
        "HOOKLINE_EFFECT_ID": "turn",
        "HOOKLINE_AGENT": "bot",
    }


def outside(page: Page, env: Mapping[str, str], *before: str, more: str = "X: y") -> str:
    """What a program is told that adds a task with the person's token."""
    given = (f"{page.base}/api/tasks", page.token, more)
    program = (sys.executable, "-c", FROM_THE_OUTSIDE, *given)
    done = subprocess.run((*before, *program), env=dict(env), capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_agents_cannot_decide_even_with_a_persons_token(page: Page, shared: Cli) -> None:
    agent = {**shared.env, **marks(shared)}
    said = outside(page, agent)
    assert said.startswith("403")
    assert "comes from an agent or a hook" in said
    # Whatever it says about where it comes from.
    assert outside(page, agent, more="X-Forwarded-For: 192.0.2.1").startswith("403")
    # Nor one that drops its variables, while the process above it has them.
    shell = ("sh", "-c", 'env -i PATH="$PATH" "$@"; true', "sh")
    assert outside(page, agent, *shell).startswith("403")
    elsewhere = {**agent, "HOOKLINE_DIR": str(shared.home / ".hookline")}
    assert outside(page, elsewhere).startswith("200")
    assert outside(page, shared.env).startswith("200")
    by = [each["metadata"]["triggeredBy"] for each in shared.events("task_created")]
    assert set(by) == {"ada"}


def test_an_agent_that_does_not_wait_for_the_answer_decides_nothing(
    page: Page, shared: Cli
) -> None:
    body = b'{"goal": "unheard"}'
    head = (
        f"POST /api/tasks HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n"
        f"Authorization: Bearer {page.token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    for _ in range(5):
        connection = socket.create_connection(("127.0.0.1", page.port))
        connection.sendall(head.encode() + body)
        connection.close()
    page.get("/api/me")
    goals = [each["data"]["goal"] for each in shared.events("task_created")]
    assert "unheard" not in goals


def test_an_agent_cannot_serve_the_page(cli: Cli) -> None:
    code, error = cli.refused("serve", "--port", "0", env=marks(cli))
    assert (code, error["code"]) == (4, "people-only")


def test_what_is_not_trusted_does_not_run(cli: Cli) -> None:
    ran = cli.root.parent / "ran"
    cli.configure(
        f"hooks: {{task_created: [{{name: own, command: 'touch {ran}'}}]}}\n"
        f"agents: {{bot: {{driver: command, command: 'touch {ran}'}}}}\n",
        trust=False,
    )
    with served(cli) as page:
        page.do("/api/tasks", {"goal": "one"})
        assert waiting_kinds(page) == {"hooks"}
        status, code, _ = page.refused("POST", "/api/sessions", {"goal": "work"})
        assert (status, code) == (409, "untrusted")
    assert not ran.exists()


def waiting_kinds(page: Page) -> set[str]:
    """The kinds of what waits for a person."""
    return {item["kind"] for item in page.get("/api/attention")["items"]}


# Other machines


def test_every_address_of_a_machine_has_no_name(cli: Cli, tmp_path: Path) -> None:
    _, certificate = certified(tmp_path)
    options = ("--tls-cert", str(certificate), "--tls-key", str(tmp_path / "key.pem"))
    code, error = cli.refused("serve", "--port", "0", "--host", "0.0.0.0", *options)
    assert (code, error["code"]) == (2, "usage")
    assert "--host" in error["help"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "hookline.example"])
def test_it_listens_for_other_machines_only_if_encrypted(cli: Cli, host: str) -> None:
    code, error = cli.refused("serve", "--port", "0", "--host", host)
    assert (code, error["code"]) == (2, "usage")
    assert "ssh -L 8787:127.0.0.1:8787" in error["help"]


@pytest.mark.parametrize(
    "options",
    [
        ("--behind-proxy", "https://hookline.example/path"),
        ("--behind-proxy", "hookline.example"),
        ("--behind-proxy", "javascript:alert(1)"),
        ("--tls-cert", "x"),
        ("--tls-cert", "no-such", "--tls-key", "no-such"),
        ("--port", "99999"),
    ],
)
def test_options_that_mean_nothing_are_refused(cli: Cli, options: tuple[str, ...]) -> None:
    assert cli.refused("serve", *options)[0] == 2


def test_behind_a_proxy_its_name_counts(cli: Cli) -> None:
    cli.add("one")
    words = ("serve", "--port", "0", "--json", "--behind-proxy", "https://hookline.example")
    process = cli.start(*words)
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    base, token = told["url"].split("/#token=")
    assert base == "https://hookline.example"
    proxy = httpx2.Client(base_url=f"http://127.0.0.1:{told['port']}", timeout=PATIENCE)
    with proxy:
        bearer = {"Authorization": f"Bearer {token}"}
        for host, status in (("hookline.example", 200), (f"127.0.0.1:{told['port']}", 421)):
            assert proxy.get("/api/me", headers={**bearer, "Host": host}).status_code == status
        for origin, status in ((base, 422), ("http://hookline.example", 403)):
            headers = {**bearer, "Host": "hookline.example", "Origin": origin}
            assert proxy.post("/api/tasks", json={}, headers=headers).status_code == status


def test_with_a_certificate_it_speaks_tls(cli: Cli, tmp_path: Path) -> None:
    cli.add("one")
    _, certificate = certified(tmp_path)
    options = ("--tls-cert", str(certificate), "--tls-key", str(tmp_path / "key.pem"))
    with served(cli, *options) as page:
        assert page.base == f"https://127.0.0.1:{page.port}"
        trusted = ssl.create_default_context(cafile=str(certificate))
        address = f"https://localhost:{page.port}/api/me"
        answer = httpx2.get(
            address, headers={"Authorization": f"Bearer {page.token}"}, verify=trusted
        )
        assert answer.json()["role"] == "person"


# What is shown


@pytest.mark.torture
def test_nothing_that_is_shown_becomes_code(page: Page, shared: Cli) -> None:
    assert len(set(PAYLOADS)) >= 60
    named = {page.do("/api/tasks", {"goal": text})["taskId"]: text for text in PAYLOADS}
    listed = {e["task"]["id"]: e["task"]["goal"] for e in page.get("/api/tasks")["tasks"]}
    assert {name: listed[name] for name in named} == named
    for path in (
        "/api/tasks",
        "/api/graph",
        "/api/events",
        "/api/search?q=alert",
        "/api/attention",
    ):
        answer = page.ask("GET", path)
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
    for task in named:
        page.get(f"/api/tasks/{task}")
    refused = page.ask("GET", "/api/tasks/<script>alert(1)</script>")
    assert (refused.status_code, refused.headers["content-type"]) == (404, "application/json")


def test_a_diff_is_data_whatever_its_files_are_called(cli: Cli) -> None:
    repo = Repo(cli)
    repo.begin("hooks: {before_submit: [human: Well?]}\n")
    task = cli.add("Add files")
    repo.git("switch", "--quiet", "--create", "work")
    texts = [text.replace("/", "-")[:60] for text in PAYLOADS if "\x00" not in text]
    for number, name in enumerate(texts):
        cli.put(f"{number} {name}", f"{PAYLOADS[number]}\n")
    repo.commit("<script>alert(1)</script>")
    assert cli("submit", task).code == 4
    with served(cli) as page:
        found = {each["path"]: each for each in page.get(f"/api/tasks/{task}/diff")["files"]}
        assert len(found) == len(texts)
        for number, name in enumerate(texts):
            (hunk,) = found[f"{number} {name}"]["hunks"]
            assert "\n".join(line["text"] for line in hunk["lines"]) == PAYLOADS[number]


def test_what_a_hook_prints_is_plain_text(cli: Cli) -> None:
    cli.configure("hooks: {task_created: [{name: loud, command: 'cat page.html'}]}\n")
    cli.put("page.html", "\n".join(PAYLOADS))
    cli.add("one")
    with served(cli) as page:
        (call,) = page.get("/api/hooks/loud")["calls"]
        answer = page.ask("GET", f"/api/calls/{call['id']}/stdout")
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "<script>alert(1)</script>" in answer.text
