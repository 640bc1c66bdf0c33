"""What the author of the work is told when CI fails: all that is needed to fix it offline."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from hookline.adapters.forges.github import github_forge
from tests.integration.gates_rig import Desk
from tests.integration.github_acts import NAME, OWNER
from tests.integration.github_description import Description
from tests.integration.github_stand_in import TOKEN, Fault, GitHub
from tests.integration.repository_rig import Place
from tests.prompts.snapshots import check_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookline.domain.hooks.answers import GateAnswer

OUTPUT = {"title": "1 of 40 tests failed", "summary": "`test_login` fails.", "text": None}
LINES = [
    {"path": "app.py", "start_line": 3, "annotation_level": "warning", "message": "unused import"},
    {"path": "test_login.py", "start_line": 7, "annotation_level": "failure", "message": "1 != 2"},
]
LOG = b"".join(
    b"2026-11-16T10:00:00.1234567Z " + line + b"\n"
    for line in (b"x" * 20_000, b"E   assert 1 == 2", b"Error: Process completed with exit code 1.")
)
DENIED = b'{"message": "Resource not accessible by personal access token"}'


@contextmanager
def served(server: ThreadingHTTPServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def description() -> Description:
    return Description()


@pytest.fixture
def hub(description: Description) -> Iterator[GitHub]:
    running = GitHub(description)
    running.runs = [("unit", "completed", "failure"), ("docs", "completed", "success")]
    running.statuses = [("old-ci", "failure")]
    running.output = OUTPUT
    running.annotations = LINES
    running.app = "github-actions"
    with served(running):
        yield running
    assert running.problems == []
    assert running.faults == []


@pytest.fixture
def store() -> Iterator[Any]:
    """Where logs are kept: another host than GitHub's, which remembers what it was told."""

    class Store(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(dict(self.headers.items()))
            self.send_response(200)
            self.send_header("content-length", str(len(LOG)))
            self.end_headers()
            self.wfile.write(LOG)

        def log_message(self, format: str, *args: Any) -> None:
            """Tests need no access log."""

    seen: list[dict[str, str]] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Store)
    with served(server):
        yield f"http://127.0.0.1:{server.server_port}/log", seen


def ask(folder: Path, hub: GitHub) -> GateAnswer:
    place = Place(folder)
    place.begin()
    environ = {"GITHUB_TOKEN": TOKEN}
    remote = f"git@github.com:{OWNER}/{NAME}.git"
    desk = Desk(place, github_forge(remote, environ, api=hub.url, push_remote=None))  # type: ignore[arg-type]  # nothing is pushed here
    desk.work()
    return desk.ask("ci_status")


def test_a_failed_check_brings_its_annotations_and_the_end_of_its_log(
    tmp_path: Path, hub: GitHub, store: tuple[str, list[dict[str, str]]]
) -> None:
    address, seen = store
    hub.faults = [Fault("GET", "/logs", "answer", 302, b"", {"location": address})]
    answer = ask(tmp_path, hub)
    assert answer.status == "failure"
    prompt = answer.remediation_prompt or ""
    assert "- test_login.py:7: failure: 1 != 2\n- app.py:3: warning: unused import\n" in prompt
    assert prompt.count("x") < 10_000
    check_prompt("ci-failed", prompt, {"x" * 100: ""})
    # Whoever keeps the logs never sees the token.
    assert [TOKEN in str(headers) for headers in seen] == [False]


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (Fault("GET", "/logs", "answer", 403, DENIED), "(the log cannot be read: GitHub does not"),
        (
            Fault("GET", "/logs", "answer", 302, b"", {"location": "http://elsewhere.test/log"}),
            "(the log cannot be read: GitHub gave an address for",
        ),
        (Fault("GET", "/logs", "drop"), "(the log cannot be read: "),
    ],
    ids=["denied", "not https", "dropped"],
)
def test_a_log_that_cannot_be_read_is_told_and_hides_nothing_else(
    tmp_path: Path, hub: GitHub, fault: Fault, told: str
) -> None:
    hub.faults = [fault, Fault("GET", "/annotations", "answer", 403, DENIED)]
    answer = ask(tmp_path, hub)
    assert answer.status == "failure"
    prompt = answer.remediation_prompt or ""
    assert told in prompt
    assert (
        "- (the annotations cannot be read: GitHub does not allow this token to do that" in prompt
    )
    assert "1 of 40 tests failed" in prompt
