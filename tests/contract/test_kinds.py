"""The kinds of hook that Hookline brings keep to the contract: real processes, a real server."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from hookline.config.types import Agent
from hookline.testing.contracts import KindContract

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

LINE = "cat > seen.json; cat answer.json"
MODULE = """
import json, pathlib, time
import msgspec

def answer(payload, context):
    is_event = not isinstance(payload, dict)
    seen = {"event": msgspec.to_builtins(payload), "task": None} if is_event else payload
    pathlib.Path("seen.json").write_text(json.dumps(seen))
    return json.loads(pathlib.Path("answer.json").read_text())

async def fail(payload, context):
    raise RuntimeError("no luck")

def hang(payload, context):
    time.sleep(300)
"""


class TestCommand(KindContract):
    name = "command"
    failure = "exit code 127, a program was not found"

    def answering(self, folder: Path) -> str:
        return LINE

    def failing(self, folder: Path) -> str:
        return "exit 127"

    def hanging(self, folder: Path) -> str:
        return "sleep 300"


class TestCommandWithScript(TestCommand):
    def answering(self, folder: Path) -> str:
        return f"sh ./{script(folder, 'answer', LINE)}"

    def named(self, folder: Path) -> Sequence[Path]:
        return [folder / "answer"]


class TestScript(KindContract):
    name = "script"
    failure = "killed by SIGKILL"

    def answering(self, folder: Path) -> str:
        return script(folder, "answer", LINE)

    def failing(self, folder: Path) -> str:
        return script(folder, "fail", "kill -9 $$")

    def hanging(self, folder: Path) -> str:
        return script(folder, "hang", "sleep 300")

    def named(self, folder: Path) -> Sequence[Path]:
        return [folder / "answer"]


def script(folder: Path, name: str, lines: str) -> str:
    (folder / name).write_text(f"#!/bin/sh\n{lines}\n")
    (folder / name).chmod(0o755)
    return name


class TestPython(KindContract):
    name = "python"
    failure = "RuntimeError: no luck"

    @pytest.fixture(autouse=True)
    def module(self, tmp_path: Path) -> None:
        (tmp_path / "myhooks.py").write_text(MODULE)

    def answering(self, folder: Path) -> str:
        return "myhooks:answer"

    def failing(self, folder: Path) -> str:
        return "myhooks:fail"

    def hanging(self, folder: Path) -> str:
        return "myhooks:hang"

    def named(self, folder: Path) -> Sequence[Path]:
        return [folder / "myhooks.py"]


# The payload stands in the prompt between two lines of its own.
TELL = r"sed -n '/^<data /,/^<\/data /p' | sed '1d;$d' > seen.json; cat answer.json"


class TestAgent(KindContract):
    name = "agent"
    failure = "agent failing: the agent exited 3: no luck"
    agents = {  # noqa: RUF012  # nobody changes it
        "teller": Agent(driver="command", command=TELL),
        "failing": Agent(driver="command", command="echo no luck >&2; exit 3"),
        "hanging": Agent(driver="command", command="sleep 300"),
    }

    def answering(self, folder: Path) -> str:
        return "teller"

    def failing(self, folder: Path) -> str:
        return "failing"

    def hanging(self, folder: Path) -> str:
        return "hanging"


class Server(ThreadingHTTPServer):
    """Answers with the file that lies beside it, and keeps what it was sent."""

    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.root = root
        self.over = threading.Event()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        root = self.server.root
        (root / "seen.json").write_bytes(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/hang":
            self.server.over.wait()
        failing = self.path == "/fail"
        body = b"no luck" if failing else (root / "answer.json").read_bytes()
        self.send_response(503 if failing else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """The tests read what was sent, not what was logged."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.over.set()
        running.shutdown()
        thread.join()


class TestHttp(KindContract):
    name = "http"
    failure = "the server answered 503: no luck"

    @pytest.fixture(autouse=True)
    def address(self, server: Server) -> None:
        self.url = f"http://127.0.0.1:{server.server_port}"

    def answering(self, folder: Path) -> str:
        return f"{self.url}/answer"

    def failing(self, folder: Path) -> str:
        return f"{self.url}/fail"

    def hanging(self, folder: Path) -> str:
        return f"{self.url}/hang"
